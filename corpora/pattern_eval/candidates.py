"""The pool: each candidate with what models did on it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from foundation.labels import LABELS
from foundation.runs.evaluation_records import Prompt, Response


@dataclass(frozen=True, slots=True)
class Candidate:
    """One prompt of the pool and the non-thinking responses to it.

    Attributes:
        responses: labelled responses, over all models.
        triggered: those with one pattern at least; by_label: those with each label.
        wrong, scored: wrong answers, and responses with a verdict.
        variation: entropy of the responses' outcomes (label vector and verdict) in bits; 0 when all are alike.
        evidence: what the judges quoted, at most one a label.
    """

    prompt: Prompt
    responses: int
    triggered: int
    by_label: Mapping[str, int]
    wrong: int
    scored: int
    variation: float
    evidence: Mapping[str, str]

    @property
    def trigger_share(self) -> float:
        return self.triggered / self.responses if self.responses else 0.0

    @property
    def wrong_share(self) -> float:
        return self.wrong / self.scored if self.scored else 0.0


def candidates_of(prompts: Sequence[Prompt], responses: Iterable[Response]) -> list[Candidate]:
    """Every prompt of the pool, in order; one without labelled responses stays with none."""
    by_prompt: dict[str, list[Response]] = {}
    for response in responses:
        if response.mode == "nt" and response.labels is not None:
            by_prompt.setdefault(response.prompt_id, []).append(response)
    return [_candidate(prompt, by_prompt.get(prompt.prompt_id, [])) for prompt in prompts]


def _candidate(prompt: Prompt, responses: Sequence[Response]) -> Candidate:
    scored = [r for r in responses if r.correct is not None]
    evidence: dict[str, str] = {}
    for response in responses:
        for label, text in response.evidence.items():
            evidence.setdefault(label, text)
    outcomes = Counter((tuple((r.labels or {}).get(label) for label in LABELS), r.correct) for r in responses)
    return Candidate(
        prompt,
        responses=len(responses),
        triggered=sum(bool(r.trigger) for r in responses),
        by_label={label: sum(bool((r.labels or {})[label]) for r in responses) for label in LABELS},
        wrong=sum(r.correct == 0 for r in scored),
        scored=len(scored),
        variation=_entropy(list(outcomes.values())),
        evidence=evidence,
    )


def _entropy(counts: Sequence[int]) -> float:
    total = sum(counts)
    return sum(-n / total * math.log2(n / total) for n in counts) if total else 0.0
