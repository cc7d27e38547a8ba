"""The Bernoulli gate of the pattern penalty, as a hash instead of a random stream.

The same rollout gets the same z whichever worker scores it, in whatever order, and after a resume.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

Scope = Literal["rollout", "group"]
_RANGE = 2**64


@dataclass(frozen=True, slots=True)
class Gate:
    """z ~ Bernoulli(probability), decided by H(seed, step, group[, rollout]).

    Attributes:
        probability: share of open gates (z = 1), 0..1; the paper uses 0.6.
        scope: ``rollout`` draws z for each rollout (the paper); ``group`` shares one z among the rollouts of a
            prompt, which keeps the expected penalty and removes gating noise inside the GRPO group.
        seed: seed of the hash.

    >>> Gate(probability=1.0).is_open(step=1, group=0, rollout=0)
    True
    >>> Gate(probability=0.0).is_open(step=1, group=0, rollout=0)
    False
    """

    probability: float = 0.6
    scope: Scope = "rollout"
    seed: int = 42

    def is_open(self, *, step: int, group: int, rollout: int) -> bool:
        """Whether the penalty of this rollout counts."""
        key = f"{self.seed}:{step}:{group}"
        if self.scope == "rollout":
            key += f":{rollout}"
        draw = int.from_bytes(blake2b(key.encode(), digest_size=8).digest(), "big")
        return draw < self.probability * _RANGE
