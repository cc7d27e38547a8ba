"""Rollouts for measurements of the reward service: right or wrong, boxed as digits or words, some of them twice.

The shares of words (they need the fallback judge) and of duplicates (the same text twice in a group) are those of
recorded quickstart runs; every number here is an argument.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

from reward_workers.mix import PAPER
from reward_workers.terms.term import Rollout

RIGHT_WORD, WRONG_WORD = "seven", "eleven"
GROUP_SIZE = 8


def one_step(
    n: int, *, accuracy: float, words: float, duplicates: float, seed: int, step: int = 1, distinct: bool = False
) -> list[Rollout]:
    """The rollouts of one step, group after group.

    Args:
        n: rollouts.
        accuracy: share of right ones, 0..1.
        words: share whose answer is written as a word, which the verifier's rules leave to the fallback judge.
        duplicates: share that repeats the text of an earlier rollout of its group.
        distinct: give every rollout a question of its own, so that no call can be shared.
    """
    draw = random.Random(f"{seed}:{step}")
    rollouts: list[Rollout] = []
    texts: list[str] = []
    for number in range(n):
        group, index = divmod(number, GROUP_SIZE)
        if index == 0:
            texts = []
        if texts and draw.random() < duplicates:
            texts.append(draw.choice(texts))
        else:
            texts.append(_text(number, right=draw.random() < accuracy, word=draw.random() < words, seed=seed))
        question = f"How many red shapes are there in image {seed}.{step}.{group}{f'.{index}' if distinct else ''}?"
        rollouts.append(_rollout(step, group, index, question, texts[-1]))
    return rollouts


def endless(seed: int, *, words: float = 0.25, symbolic: float = 0.1) -> Iterator[Rollout]:
    """Different rollouts without end; a share of answers needs the symbolic stage in its child process."""
    draw = random.Random(seed)
    number = 0
    while True:
        number += 1
        right = draw.random() < 0.5
        if draw.random() < symbolic:
            power = draw.randrange(2, 9)
            answer = f"x^{{{power}}}+{number}x" if right else f"x^{{{power}}}+{number + 1}x"
            reference = f"{number}x+x^{{{power}}}"
            text = f"Expanding gives \\boxed{{{answer}}}"
        else:
            reference, text = "7", _text(number, right=right, word=draw.random() < words, seed=seed)
        question = f"How many red shapes are there in image {seed}.{number}?"
        yield _rollout(number, number, 0, question, text, reference)


def _rollout(step: int, group: int, index: int, question: str, text: str, reference: str = "7") -> Rollout:
    fields: dict[str, Any] = {"mix": PAPER, "n_tokens": len(text) // 4}
    return Rollout(
        prompt_id=f"simulated-{group}",
        group=group,
        step=step,
        rollout=index,
        question=question,
        reference=reference,
        visible=text,
        **fields,
    )


def _text(number: int, *, right: bool, word: bool, seed: int) -> str:
    answer = (RIGHT_WORD if right else WRONG_WORD) if word else ("7" if right else "11")
    return (
        f"Row 1 holds {number % 97} shapes and row 2 holds {number % 89}; after {seed}.{number} comparisons the count "
        f"of red ones is settled. \\boxed{{{answer}}}"
    )
