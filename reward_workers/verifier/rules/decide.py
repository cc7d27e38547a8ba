"""All rules, without the symbolic stage: extract, exact, typed. Synchronous, pure, tens of thousands a second."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache

from foundation.runs.records import Verdict
from reward_workers.verifier.rules.answer_types import check_answer_type
from reward_workers.verifier.rules.exact import compare_exact
from reward_workers.verifier.rules.extract import Extraction, extract_boxed
from reward_workers.verifier.rules.normalize import canonical, says_nothing
from reward_workers.verifier.rules.outcome import Leaf, Outcome, Question
from reward_workers.verifier.rules.typed import compare_typed

MAX_ANSWER_CHARS = 2000
"""A longer box is compared as a raw string only."""

_canonical_reference = lru_cache(maxsize=8192)(canonical)


def leave_to_symbolic(question: Question) -> Outcome:
    """What the rules do alone with a question for the symbolic stage: leave it open."""
    return Outcome(None, "needs_symbolic")


def verify_rules(
    visible: str,
    reference: str,
    answer_type: str | None = None,
    options: Sequence[str] | None = None,
    max_answer_chars: int = MAX_ANSWER_CHARS,
) -> Verdict:
    r"""Verdict of the rules on the visible text of a response; value None when they do not decide.

    Args:
        visible: visible response, at any length.
        reference: reference answer of the data row.
        answer_type: one of `answer_types.ANSWER_TYPES`; None to infer it from the reference.
        options: texts of the options A, B, ... of a choice question.

    Raises:
        ValueError: unknown answer type.

    >>> verify_rules(r"so \boxed{0.750}", "3/4").value
    1
    >>> verify_rules(r"so \boxed{\text{seven}}", "7").reason
    'number_word'
    """
    started = time.perf_counter()
    return decide(prepare(visible, reference, answer_type, options, max_answer_chars), leave_to_symbolic, started)


@dataclass(frozen=True, slots=True)
class Prepared:
    """A response and its reference, read once; `decide` may run on it twice, with two leaves."""

    extraction: Extraction
    raw_reference: str
    answer: str
    reference: str
    kind: str
    options: Sequence[str] | None
    too_long: bool


def prepare(
    visible: str, reference: str, answer_type: str | None, options: Sequence[str] | None, max_answer_chars: int
) -> Prepared:
    """Extract and normalise."""
    kind = check_answer_type(answer_type)
    extraction = extract_boxed(visible)
    content = extraction.content or ""
    too_long = max(len(content), len(reference)) > max_answer_chars
    answer = "" if too_long else canonical(content)
    expected = "" if too_long else _canonical_reference(reference)
    return Prepared(extraction, reference.strip(), answer, expected, kind, options, too_long)


def decide(prepared: Prepared, leaf: Leaf, started: float) -> Verdict:
    """Run the stages on a prepared response; `started` is a reading of time.perf_counter."""
    extraction = prepared.extraction
    content = extraction.content

    def verdict(outcome: Outcome, stage: str) -> Verdict:
        latency = time.perf_counter() - started
        return Verdict(outcome.value, stage, outcome.reason, content, latency)  # type: ignore[arg-type]

    if not prepared.raw_reference or not (prepared.reference or prepared.too_long):
        return verdict(Outcome(None, "empty_reference"), "extract")
    if content is None:
        return verdict(Outcome(0, extraction.reason), "extract")
    same = compare_exact(prepared.answer, prepared.reference, content, prepared.raw_reference)
    if same.value is not None:
        return verdict(same, "exact")
    if prepared.too_long:
        return verdict(Outcome(None, "answer_too_long"), "exact")
    if says_nothing(prepared.answer) and not says_nothing(prepared.reference):
        return verdict(Outcome(0, "empty_answer"), "exact")
    outcome = compare_typed(
        prepared.answer, prepared.reference, prepared.kind, prepared.options, leaf, extraction.n_boxes
    )
    return verdict(outcome, "typed")
