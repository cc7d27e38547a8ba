"""The three-valued answer of one rule, and the question a rule may leave to the symbolic stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

Relation = Literal["expression", "equation"]


@dataclass(frozen=True, slots=True)
class Outcome:
    """What one rule says.

    Attributes:
        value: 1 equal, 0 different, None not decided.
        reason: short code such as ``equal_number``.
    """

    value: int | None
    reason: str


@dataclass(frozen=True, slots=True)
class Question:
    """Are these two single expressions (or equations) equal? Both sides are in canonical form."""

    answer: str
    reference: str
    relation: Relation = "expression"


Leaf = Callable[[Question], Outcome]
"""Decides a question: by a look-up of symbolic answers, or by 'not yet' while questions are being collected."""


def all_of(outcomes: list[Outcome], equal: str, different: str) -> Outcome:
    """Every part equal -> 1; one part different -> 0; otherwise the first undecided part's reason."""
    for outcome in outcomes:
        if outcome.value == 0:
            return Outcome(0, different)
    for outcome in outcomes:
        if outcome.value is None:
            return outcome
    return Outcome(1, equal)
