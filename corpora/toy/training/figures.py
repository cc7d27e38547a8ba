"""Figures of the three models against the oracle, each with the number of cases behind it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from corpora.toy.answer_pairs import AnswerPair, draw_pair
from corpora.toy.names import NUMBER_WORDS, OTHER_NAMES
from corpora.toy.oracle import boxed, is_correct, label_response, style_of
from corpora.toy.protocol import equivalence_prompt, judge_turn, pattern_prompt, policy_turn
from corpora.toy.questions import KINDS, Question, draw_question
from corpora.toy.responses import STYLES
from corpora.toy.streams import stream
from corpora.toy.tokenizer import token_ids
from corpora.toy.training.fast import FastModel
from corpora.toy.training.sampling import sample
from foundation.labels import LABELS, all_vectors, as_lines, trigger

BATCH = 256
MAX_NEW_TOKENS = 100
MAX_NEW_TOKENS_THINKING = 200
LABEL_TOKENS = 24
VERDICT_TOKENS = 8


@dataclass(frozen=True, slots=True)
class Rollout:
    """One sampled response: the question, what came after the prompt, the visible part of it, generated tokens."""

    question: Question
    raw: str
    visible: str
    n_tokens: int


@torch.no_grad()
def roll_out(
    fast: FastModel,
    tokenizer: Any,
    questions: list[Question],
    seed: int,
    thinking: bool = False,
    shuffled: bool = False,
    n: int = 1,
    temperature: float = 1.0,
) -> list[Rollout]:
    """n rollouts a question. ``shuffled`` shows each question the image of another one."""
    rollouts = []
    for first in range(0, len(questions), BATCH):
        part = questions[first : first + BATCH]
        scenes = [question.scene for question in part]
        if shuffled:
            scenes = scenes[1:] + scenes[:1]
        sampled = sample(
            fast,
            [token_ids(tokenizer, policy_turn(question.text, thinking)) for question in part],
            tokenizer.eos_token_id,
            fast.see(scenes),
            n=n,
            max_new=MAX_NEW_TOKENS_THINKING if thinking else MAX_NEW_TOKENS,
            temperature=temperature,
            seed=seed + first,
        )
        for i, one in enumerate(sampled):
            raw = tokenizer.decode(one.ids, skip_special_tokens=True)
            visible = raw.rsplit("</think>", 1)[-1].strip() if thinking else raw.strip()
            rollouts.append(Rollout(part[i // n], raw, visible, len(one.ids)))
    return rollouts


def fresh_questions(n: int, seed: int) -> list[Question]:
    """n questions of a random stream that no stage of the warm start draws from."""
    rng = stream(seed, "figures")
    return [draw_question(rng) for _ in range(n)]


def policy_figures(rollouts: list[Rollout]) -> dict[str, float]:
    """Accuracy, Trigger, label rates, mean tokens, shares and accuracies of styles and kinds; n is the count."""
    right = [is_correct(r.question.answer, r.visible) for r in rollouts]
    labels = [label_response(r.question.text, r.visible) for r in rollouts]
    styles = [style_of(r.visible) for r in rollouts]
    boxes = [boxed(r.visible) for r in rollouts]
    figures = {
        "n": float(len(rollouts)),
        "accuracy": _mean(right),
        "trigger": _mean([trigger(found) for found in labels]),
        **{label: _mean([found[label] for found in labels]) for label in LABELS},
        "tokens": _mean([r.n_tokens for r in rollouts]),
        "number_words": _mean([box in NUMBER_WORDS for box in boxes]),
        "other_names": _mean([box in OTHER_NAMES.values() for box in boxes]),
    }
    for style in STYLES:
        of_style = [ok for ok, found in zip(right, styles, strict=True) if found == style]
        figures[f"share_{style}"] = len(of_style) / len(rollouts)
        if of_style:
            figures[f"accuracy_{style}"] = _mean(of_style)
    for kind in KINDS:
        of_kind = [ok for ok, r in zip(right, rollouts, strict=True) if r.question.kind == kind]
        if of_kind:
            figures[f"accuracy_{kind}"] = _mean(of_kind)
    return {name: round(value, 4) for name, value in figures.items()}


def _mean(values: list[Any]) -> float:
    return sum(values) / len(values)


def ask(fast: FastModel, tokenizer: Any, messages: list[str], max_new: int) -> list[str]:
    """Greedy replies of a judge."""
    replies = []
    for first in range(0, len(messages), BATCH):
        prompts = [token_ids(tokenizer, judge_turn(message)) for message in messages[first : first + BATCH]]
        for one in sample(fast, prompts, tokenizer.eos_token_id, max_new=max_new, temperature=0.0):
            replies.append(tokenizer.decode(one.ids, skip_special_tokens=True))
    return replies


def read_labels(reply: str) -> dict[str, bool] | None:
    """The labels of a PatternRM reply; None when it is not exactly a line a label."""
    return {as_lines(vector): vector for vector in all_vectors()}.get(reply)


def pattern_rm_figures(fast: FastModel, tokenizer: Any, texts: list[tuple[str, str]]) -> dict[str, float]:
    """F1 of each label, agreement on Trigger, share of unreadable replies, over (question, visible response) pairs."""
    replies = ask(fast, tokenizer, [pattern_prompt(question, text) for question, text in texts], LABEL_TOKENS)
    predicted = [read_labels(reply) for reply in replies]
    true = [label_response(question, text) for question, text in texts]
    read = [(p, t) for p, t in zip(predicted, true, strict=True) if p is not None]
    figures = {"n": float(len(texts)), "unreadable": 1 - len(read) / len(texts)}
    for label in LABELS:
        hits = sum(p[label] and t[label] for p, t in read)
        asserted, present = sum(p[label] for p, _ in read), sum(t[label] for _, t in read)
        figures[f"present_{label}"] = float(present)
        figures[f"f1_{label}"] = 2 * hits / (asserted + present) if asserted + present else 1.0
    figures["trigger_agreement"] = _mean([trigger(p) == trigger(t) for p, t in read]) if read else 0.0
    return {name: round(value, 4) for name, value in figures.items()}


def fresh_pairs(n: int, seed: int) -> list[AnswerPair]:
    """n answer pairs of a random stream that training does not draw from."""
    rng = stream(seed, "figures:pairs")
    return [draw_pair(rng) for _ in range(n)]


def answer_judge_figures(fast: FastModel, tokenizer: Any, pairs: list[AnswerPair]) -> dict[str, float]:
    """Accuracy, share of wrong answers accepted and right answers refused, share of replies that are no verdict."""
    messages = [equivalence_prompt(pair.question, pair.reference, pair.answer) for pair in pairs]
    replies = ask(fast, tokenizer, messages, VERDICT_TOKENS)
    said = [{"CORRECT": True, "INCORRECT": False}.get(reply) for reply in replies]
    wrong = [verdict for verdict, pair in zip(said, pairs, strict=True) if not pair.correct]
    right = [verdict for verdict, pair in zip(said, pairs, strict=True) if pair.correct]
    figures = {
        "n": float(len(pairs)),
        "accuracy": _mean([verdict == pair.correct for verdict, pair in zip(said, pairs, strict=True)]),
        "unreadable": _mean([verdict is None for verdict in said]),
        "wrong_accepted": _mean([verdict is True for verdict in wrong]) if wrong else 0.0,
        "right_refused": _mean([verdict is not True for verdict in right]) if right else 0.0,
    }
    return {name: round(value, 4) for name, value in figures.items()}
