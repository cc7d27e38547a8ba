"""The formulas of the reward: what labels cost, and how terms make one reward.

s_pat = -z * min(cap, sum_p w_p * b_p)          a summand
r     = clip(sum of the summands, 0, 1) * product of the factors
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from foundation.labels import LABELS
from foundation.runs.records import TermValue

PATTERN_MIX = "pattern_mix"
"""Column of a batch of prompts with the `Mix` in force for its rollouts; the agent loop manager adds it."""


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights and cap of the pattern penalty; those of a step travel with its rollouts.

    Attributes:
        weights: penalty of each label, at least 0; the paper uses cot = rep = 0.05, con = pr = 0.02.
        cap: largest penalty, 0..1; the paper uses 0.1.

    >>> mix = Mix(weights={"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)
    >>> mix.penalty({"cot": True, "rep": False, "con": True, "pr": False})
    0.07
    """

    weights: Mapping[str, float]
    cap: float

    def penalty(self, labels: Mapping[str, float] | None) -> float:
        """What the labels cost before gate and clip: min(cap, sum_p w_p * b_p), in 0..cap; 0 without labels.

        b_p is 0 or 1 with hard labels (the paper). With probabilities the same formula holds, min(cap, sum_p w_p *
        p_p): the cap of the expected sum, not the expectation of the capped sum.

        Rounded to 12 digits, so that 0.05 + 0.02 + 0.02 is 0.09 and not 0.09000000000000001: equal label vectors of
        different order must not differ inside a GRPO group.
        """
        if labels is None:
            return 0.0
        return min(self.cap, round(sum(self.weights[label] * labels[label] for label in LABELS), 12))

    def reward(self, *, correct: bool, gate_open: bool, labels: Mapping[str, float] | None) -> float:
        """clip(s_ver + s_pat, 0, 1) of a rollout with a verdict. A wrong answer is 0; a right one is at least 1 - cap.

        >>> Mix(weights=dict.fromkeys(LABELS, 0.05), cap=0.1).reward(correct=True, gate_open=False, labels=None)
        1.0
        """
        return clipped([float(correct), -self.penalty(labels) if gate_open else 0.0])


def clipped(summands: Iterable[float], factors: Iterable[float] = ()) -> float:
    """clip(sum of the summands, 0, 1) * product of the factors, rounded to 12 digits."""
    return round(min(1.0, max(0.0, sum(summands))) * math.prod(factors), 12)


def combine(terms: Collection[TermValue]) -> float | None:
    """The reward of one rollout, 0..1; None when a term has no value: that rollout could not be scored.

    >>> combine([TermValue("summand", 1.0), TermValue("summand", -0.07)])
    0.93
    >>> combine([TermValue("summand", 1.0), TermValue("factor", 0.0)])
    0.0
    >>> combine([TermValue("summand", None, "judge_timeout")]) is None
    True
    """
    known = [(term.role, term.value) for term in terms if term.value is not None]
    if len(known) < len(terms):
        return None
    return clipped(
        [value for role, value in known if role == "summand"], [value for role, value in known if role == "factor"]
    )


PAPER = Mix(weights={**dict.fromkeys(LABELS, 0.0), "cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)
"""The paper's, for measurements and the toy models; a label that the paper has not costs nothing."""
