"""The combined reward r = clip(s_ver + s_pat, 0, 1) with s_pat = -z * min(cap, sum_p w_p * b_p) (the paper)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from foundation.labels import LABELS


@dataclass(frozen=True, slots=True)
class Mix:
    """Weights and cap of the pattern penalty.

    Attributes:
        weights: penalty of each label, at least 0; the paper uses cot = rep = 0.05, con = pr = 0.02.
        cap: largest penalty, 0..1; the paper uses 0.1.

    >>> mix = Mix(weights={"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)
    >>> mix.reward(correct=True, gate_open=True, labels={"cot": True, "rep": False, "con": True, "pr": False})
    0.93
    """

    weights: Mapping[str, float]
    cap: float

    def penalty(self, labels: Mapping[str, float] | None) -> float:
        """What the labels cost before gate and clip: min(cap, sum_p w_p * b_p), in 0..cap; 0 without labels.

        b_p is 0 or 1 with hard labels. With probabilities the same formula holds, min(cap, sum_p w_p * p_p): the
        cap of the expected sum, not the expectation of the capped sum.

        Rounded to 12 digits, so that 0.05 + 0.02 + 0.02 is 0.09 and not 0.09000000000000001: equal label vectors of
        different order must not differ inside a GRPO group.
        """
        if labels is None:
            return 0.0
        return min(self.cap, round(sum(self.weights[label] * labels[label] for label in LABELS), 12))

    def reward(self, *, correct: bool, gate_open: bool, labels: Mapping[str, float] | None) -> float:
        """Combined reward in 0..1. A wrong answer is 0 whatever the labels say; a right one is at least 1 - cap."""
        pattern_score = -self.penalty(labels) if gate_open else 0.0
        return round(min(1.0, max(0.0, float(correct) + pattern_score)), 12)
