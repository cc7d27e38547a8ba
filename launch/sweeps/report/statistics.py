"""Arms of a sweep (everything equal but the seed): means with their spread, differences, Pareto front, effects.

A difference between two arms is called one only where the 95 % interval of Welch's t test over seeds (scipy) leaves
zero out; with one seed an arm has no spread, and nothing is said.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from launch.sweeps.report.load import DEFAULT, Run

LEVEL = 0.95


@dataclass(frozen=True, slots=True)
class Mean:
    """Mean over seeds; `spread` is the standard deviation (n - 1), nan with one seed."""

    value: float
    spread: float
    low: float
    high: float
    n: int


@dataclass(frozen=True, slots=True)
class Arm:
    """The runs that differ in nothing but the seed. `factors` are those that vary in the sweep."""

    factors: dict[str, str]
    runs: tuple[Run, ...]

    @property
    def name(self) -> str:
        """Short keys with values, such as `cot=0.1 scope=group`; what a run leaves at its default is not named."""
        named = [f"{key.rpartition('.')[2]}={value}" for key, value in self.factors.items() if value != DEFAULT]
        return " ".join(named) or "all runs"

    def mean(self, figure: str) -> Mean | None:
        """Mean of a figure over the seeds; None where no run has it."""
        values = [run.figures[figure] for run in self.runs if figure in run.figures]
        return mean_of(values)

    def mean_calls(self, judge: str) -> Mean | None:
        return mean_of([float(run.calls[judge]) for run in self.runs if judge in run.calls])

    def mean_seconds(self) -> Mean | None:
        return mean_of([run.seconds for run in self.runs if run.seconds is not None])


def mean_of(values: Sequence[float]) -> Mean | None:
    if not values:
        return None
    spread = float(np.std(values, ddof=1)) if len(values) > 1 else math.nan
    return Mean(float(np.mean(values)), spread, min(values), max(values), len(values))


def arms_of(runs: Sequence[Run], factors: dict[str, list[str]]) -> list[Arm]:
    """Group runs by what varies, in the order of the factors' values."""
    groups: dict[tuple[str, ...], list[Run]] = {}
    for run in runs:
        groups.setdefault(tuple(run.factors.get(key, DEFAULT) for key in factors), []).append(run)

    def place(key: tuple[str, ...]) -> list[int]:
        return [values.index(value) for value, values in zip(key, factors.values(), strict=True)]

    return [Arm(dict(zip(factors, key, strict=True)), tuple(groups[key])) for key in sorted(groups, key=place)]


@dataclass(frozen=True, slots=True)
class Difference:
    """`arm` minus `base` in one figure. `clear`: None with a single seed, else whether the interval leaves zero out."""

    arm: str
    base: str
    figure: str
    value: float
    low: float
    high: float
    clear: bool | None

    @property
    def verdict(self) -> str:
        if self.clear is None:
            return "one seed: spread unknown"
        return "beyond the seed spread" if self.clear else "inside the seed spread"


def difference(arm: Arm, base: Arm, figure: str) -> Difference | None:
    """The difference of two arms with its 95 % interval over seeds; None where one of them lacks the figure."""
    from scipy.stats import ttest_ind

    first, second = ([r.figures[figure] for r in each.runs if figure in r.figures] for each in (arm, base))
    if not first or not second:
        return None
    value = float(np.mean(first) - np.mean(second))
    if min(len(first), len(second)) < 2:
        return Difference(arm.name, base.name, figure, value, math.nan, math.nan, None)
    if np.ptp(first) == 0 and np.ptp(second) == 0:  # equal in every seed: no spread to compare with
        return Difference(arm.name, base.name, figure, value, value, value, value != 0)
    with warnings.catch_warnings():
        # An arm that is equal in every seed has no spread; that of the other one is the interval's then.
        warnings.filterwarnings("ignore", "Precision loss", RuntimeWarning)
        interval = ttest_ind(first, second, equal_var=False).confidence_interval(LEVEL)
    low, high = float(interval.low), float(interval.high)
    return Difference(arm.name, base.name, figure, value, low, high, low > 0 or high < 0)


def pareto_front(points: Sequence[tuple[float, float]]) -> list[int]:
    """Indices of the points that no other beats: accuracy up, Trigger down.

    Args:
        points: (accuracy, trigger) of each arm.
    """
    return [
        i
        for i, (accuracy, trigger) in enumerate(points)
        if not any(
            a >= accuracy and t <= trigger and (a > accuracy or t < trigger)
            for j, (a, t) in enumerate(points)
            if j != i
        )
    ]


@dataclass(frozen=True, slots=True)
class Effect:
    """Mean of a figure at one value of a factor, over everything else that varies."""

    factor: str
    value: str
    figure: str
    mean: Mean


def effects(runs: Sequence[Run], factors: dict[str, list[str]], figures: Sequence[str]) -> list[Effect]:
    """Main effects: every factor against every figure."""
    found = []
    for factor, values in factors.items():
        for value in values:
            chosen = [run for run in runs if run.factors.get(factor, DEFAULT) == value]
            for figure in figures:
                mean = mean_of([run.figures[figure] for run in chosen if figure in run.figures])
                if mean is not None:
                    found.append(Effect(factor, value, figure, mean))
    return found
