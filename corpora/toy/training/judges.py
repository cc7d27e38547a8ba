"""How both judges are trained: greedy replies to prompts whose right reply is known."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import torch
import torch.nn.functional as F

from corpora.toy.answer_pairs import draw_pair
from corpora.toy.oracle import label_response
from corpora.toy.protocol import (
    equivalence_prompt,
    judge_turn,
    label_tokens,
    pattern_answer,
    pattern_prompt,
    verdict_answer,
)
from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, write_response
from corpora.toy.tokenizer import token_ids
from corpora.toy.training.fast import MAX_TOKENS, FastModel, pad
from corpora.toy.training.optimize import Budget, optimize

EXAMPLES_PER_PASS = 12
WRITTEN_SHARE = 1 / 3
COMPARED_SHARE = 0.5
GARBLED_SHARE = 0.08
READING_WEIGHT = 0.2
"""Weight of predicting the prompt itself. To see that two claims differ a judge must look up the first one while it
reads the second, which is what predicting a repeated text teaches; the labels alone teach it very slowly."""

PATTERN_MIX = ResponseMix(
    direct=0.42,
    evidence=0.16,
    cot=0.28,
    performative=0.14,
    repetition=0.3,
    contradiction=0.3,
    box_mismatch=0.25,
    label_noise=0.3,
    number_word=0.25,
    other_name=0.3,
    think_marker=0.03,
    lead_in_swap=0.5,
)
"""Texts for PatternRM: every label, alone and with others, far more often than in the policy's mix. Without swaps a
judge learns that "Indeed," means repetition and never compares the two claims."""

CLAIMS_MIX = replace(
    PATTERN_MIX, direct=1.0, evidence=0.0, cot=0.0, performative=0.0, repetition=0.5, contradiction=0.45
)
"""Claims and box alone: comparing them is the hard part, and it is learnt sooner where nothing else stands around."""


@dataclass(frozen=True, slots=True)
class Lesson:
    """A user message and the right reply of the judge."""

    message: str
    reply: str


def pattern_lesson(question: str, response: str) -> Lesson:
    """A PatternRM lesson; the labels are the oracle's."""
    return Lesson(pattern_prompt(question, response), pattern_answer(label_response(question, response)))


def written_lesson(mix: ResponseMix, rng: random.Random) -> Lesson:
    """A PatternRM lesson on a freshly written response."""
    question = draw_question(rng)
    return pattern_lesson(question.text, write_response(question, rng, mix).text)


def mixed_lessons(rollouts: list[tuple[str, str]]) -> Callable[[random.Random], Lesson]:
    """Lessons on (question, visible response) pairs that were sampled, a third of them on written responses instead.

    Half of the sampled ones repeat or contradict something: such rollouts are rare, and the hardest to tell apart. Some
    are garbled, since a policy at temperature 1 writes nonsense at times and the reply must keep its form then too.
    """
    compared = [pair for pair in rollouts if any(label_response(*pair)[label] for label in ("rep", "con"))]

    def draw(rng: random.Random) -> Lesson:
        if rng.random() < WRITTEN_SHARE:
            return written_lesson(PATTERN_MIX, rng)
        question, response = rng.choice(compared if compared and rng.random() < COMPARED_SHARE else rollouts)
        return pattern_lesson(question, garbled(response, rng) if rng.random() < GARBLED_SHARE else response)

    return draw


def garbled(response: str, rng: random.Random) -> str:
    """The response with a random stretch of its words shuffled."""
    words = response.split(" ")
    first, last = sorted(rng.randrange(len(words) + 1) for _ in range(2))
    stretch = words[first:last]
    rng.shuffle(stretch)
    return " ".join(words[:first] + stretch + words[last:])


def equivalence_lesson(rng: random.Random) -> Lesson:
    """An answer judge lesson."""
    pair = draw_pair(rng)
    return Lesson(equivalence_prompt(pair.question, pair.reference, pair.answer), verdict_answer(pair.correct))


def train_judge(
    name: str,
    fast: FastModel,
    tokenizer: Any,
    budget: Budget,
    rng: random.Random,
    draw: Callable[[random.Random], Lesson],
) -> float:
    """Train a judge in place on lessons from ``draw``; a batch is ``budget.batch`` lessons. Returns the final loss."""
    varies = _varying_tokens(tokenizer)

    def accumulate() -> float:
        examples = []
        for _ in range(budget.batch):
            lesson = draw(rng)
            prompt = token_ids(tokenizer, judge_turn(lesson.message))
            reply = [*token_ids(tokenizer, lesson.reply), tokenizer.eos_token_id]
            examples.append((prompt[-(MAX_TOKENS - len(reply)) :], reply))
        examples.sort(key=lambda example: len(example[0]))
        total = 0.0
        for first in range(0, budget.batch, EXAMPLES_PER_PASS):
            part = examples[first : first + EXAMPLES_PER_PASS]
            loss = _loss(fast, part, varies) * len(part) / budget.batch
            loss.backward()
            total += float(loss.detach())
        return total

    return optimize(name, fast, budget, accumulate)


def _varying_tokens(tokenizer: Any) -> torch.Tensor:
    """Which tokens carry a decision (labels, verdict words), bool (V,); the rest of a reply is fixed form."""
    varies = torch.zeros(len(tokenizer), dtype=torch.bool)
    for text in (*label_tokens(), verdict_answer(True), verdict_answer(False)):
        varies[token_ids(tokenizer, text)[0]] = True
    return varies


def _loss(fast: FastModel, part: list[tuple[list[int], list[int]]], varies: torch.Tensor) -> torch.Tensor:
    """Mean loss of the decisions, plus a tenth of the fixed form's and READING_WEIGHT of the prompt's."""
    ids = pad([prompt + reply for prompt, reply in part])
    position = torch.arange(1, ids.shape[1])
    starts = torch.tensor([len(prompt) for prompt, _ in part])[:, None]
    ends = torch.tensor([len(prompt) + len(reply) for prompt, reply in part])[:, None]
    targets = ids[:, 1:]
    of_reply = (position >= starts) & (position < ends)
    decides = of_reply & varies[targets]
    logits = fast.logits(fast.hidden(ids[:, :-1]))
    losses = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), reduction="none").view_as(targets)
    form = losses[of_reply & ~decides].mean()
    reading = losses[position < starts].mean()
    return losses[decides].mean() + 0.1 * form + READING_WEIGHT * reading
