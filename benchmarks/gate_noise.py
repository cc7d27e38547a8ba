"""What the gate z of the pattern penalty does to GRPO's advantages, in closed form.

Verdicts and labels of a group are given; only z is drawn. Rollouts with the same penalty are exchangeable, so the
rewards depend on how many gates of each penalty are open. These counts are binomial: sums over them are exact.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import product
from math import prod

import numpy as np
from scipy.stats import binom

from reward_workers.gate import Scope

EPSILON = 1e-6
"""Added to the standard deviation (verl 0.9.1, trainer/ppo/core_algos.py:272)."""

Group = tuple[float | None, ...]
"""One entry a rollout: None for a wrong answer, else what the labels of a right one cost, 0 or more."""

KINDS = ("all wrong", "all right, clean", "all right, same penalty", "all right, penalties differ", "verdicts differ")


@dataclass(frozen=True, slots=True)
class GateEffect:
    """One group under one gate. The i-th entry of a tuple belongs to the i-th rollout.

    Attributes:
        mean: E[A_i] over draws of z.
        variance: Var[A_i] over draws of z: the noise that the gate adds.
        ungated: A_i with the certain penalty probability * penalty in place of z * penalty.
        zero_variance: probability that all rewards are equal, so that the group teaches nothing.
    """

    mean: tuple[float, ...]
    variance: tuple[float, ...]
    ungated: tuple[float, ...]
    zero_variance: float


def advantages(rewards: Sequence[float]) -> np.ndarray:
    """GRPO's advantages: (r - mean) / (standard deviation with n - 1 + epsilon)."""
    values = np.asarray(rewards, dtype=float)
    if np.ptp(values) == 0:
        return np.zeros(len(values))
    return np.asarray((values - values.mean()) / (values.std(ddof=1) + EPSILON))


def gate_effect(group: Group, probability: float, scope: Scope) -> GateEffect:
    """Moments of the advantages of one group of two rollouts or more over all draws of z.

    A group of size n with m_q rollouts of penalty q costs prod_q (m_q + 1) sets of counts; in scope `group` two.
    """
    classes = Counter(penalty for penalty in group if penalty)  # penalised right rollouts
    first = {None: 0.0, 0.0: 1.0}  # reward of a rollout whose gate does not matter
    mean = dict.fromkeys([*first, *classes], 0.0)
    square = dict.fromkeys([*first, *classes], 0.0)
    zero = 0.0
    for weight, opened in _outcomes(classes, probability, scope):
        rewards = [reward for key, reward in first.items() for _ in range(group.count(key))]
        for penalty, size in classes.items():
            rewards += [1.0 - penalty] * opened[penalty] + [1.0] * (size - opened[penalty])
        by_reward = dict(zip(rewards, advantages(rewards), strict=True))
        zero += weight * (len(by_reward) == 1)
        for key, reward in first.items():
            if reward in by_reward and key in group:
                mean[key] += weight * by_reward[reward]
                square[key] += weight * by_reward[reward] ** 2
        for penalty, size in classes.items():
            share = opened[penalty] / size
            for part, reward in ((share, 1.0 - penalty), (1.0 - share, 1.0)):
                if part:
                    mean[penalty] += weight * part * by_reward[reward]
                    square[penalty] += weight * part * by_reward[reward] ** 2
    certain = advantages([0.0 if penalty is None else 1.0 - probability * penalty for penalty in group])
    return GateEffect(
        mean=tuple(mean[penalty] for penalty in group),
        variance=tuple(max(0.0, square[penalty] - mean[penalty] ** 2) for penalty in group),
        ungated=tuple(float(value) for value in certain),
        zero_variance=zero,
    )


def _outcomes(classes: Counter[float], probability: float, scope: Scope) -> list[tuple[float, dict[float, int]]]:
    """Probability of each set of counts of open gates, by penalty."""
    if scope == "group":
        closed = dict.fromkeys(classes, 0)
        return [(probability, dict(classes)), (1.0 - probability, closed)]
    counts = [
        [(float(binom.pmf(opened, size, probability)), opened) for opened in range(size + 1)]
        for size in classes.values()
    ]
    return [
        (prod(weight for weight, _ in choice), dict(zip(classes, (opened for _, opened in choice), strict=True)))
        for choice in product(*counts)
    ]


def kind_of(group: Group) -> str:
    """One of `KINDS`."""
    right = [penalty for penalty in group if penalty is not None]
    if not right:
        return KINDS[0]
    if len(right) < len(group):
        return KINDS[4]
    if len(set(right)) > 1:
        return KINDS[3]
    return KINDS[2] if right[0] else KINDS[1]


def gate_only_variance(group: Group, probability: float, scope: Scope) -> float:
    """Probability that the rewards differ by z alone: all right, one penalty, and some gates open but not all.

    1 - p^n - (1 - p)^n in scope `rollout`, 0 in scope `group`.
    """
    if kind_of(group) != KINDS[2] or scope == "group":
        return 0.0
    return float(1.0 - probability ** len(group) - (1.0 - probability) ** len(group))
