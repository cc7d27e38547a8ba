"""Rates, differences and relations with their uncertainty. All rates and differences are in per cent (points).

Pure: numpy and scipy. A figure without a denominator has the value None, never 0.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy import stats

LEVEL = 0.95
"""Coverage of every interval of this project."""

_BATCH_CELLS = 5_000_000
"""Resampled values held in memory at once."""


@dataclass(frozen=True, slots=True)
class Rate:
    """A share in per cent.

    Attributes:
        value: None where there is nothing to divide by.
        low, high: 95 % interval; None where it is not known (a published figure).
        k, n: hits and denominator; None where they are not known.
    """

    value: float | None
    low: float | None = None
    high: float | None = None
    k: int | None = None
    n: int | None = None


@dataclass(frozen=True, slots=True)
class Difference:
    """A difference of two rates in points; `n` pairs, `p_value` of a paired test."""

    value: float | None
    low: float | None = None
    high: float | None = None
    n: int | None = None
    p_value: float | None = None


@dataclass(frozen=True, slots=True)
class JudgeQuality:
    """How often a judge is right, counted on responses of known truth.

    Attributes:
        hits, misses: responses with the pattern that it flagged, and that it did not.
        clean, false_alarms: responses without the pattern that it passed, and that it flagged.
    """

    hits: int
    misses: int
    clean: int
    false_alarms: int

    @property
    def sensitivity(self) -> float:
        return self.hits / (self.hits + self.misses)

    @property
    def specificity(self) -> float:
        return self.clean / (self.clean + self.false_alarms)


def wilson(k: int, n: int) -> Rate:
    """k of n with its 95 % Wilson score interval.

    >>> wilson(3, 4).value
    75.0
    >>> wilson(0, 0)
    Rate(value=None, low=None, high=None, k=0, n=0)
    """
    if n == 0:
        return Rate(None, k=k, n=n)
    interval = stats.binomtest(k, n).proportion_ci(LEVEL, method="wilson")
    return Rate(100 * k / n, 100 * float(interval.low), 100 * float(interval.high), k, n)


def rate_of(decisions: Sequence[bool | int]) -> Rate:
    """The rate of a list of 0 and 1."""
    return wilson(int(sum(decisions)), len(decisions))


def paired_difference(
    first: Sequence[bool | int], second: Sequence[bool | int], resamples: int, seed: int
) -> Difference:
    """mean(first) - mean(second) over the same prompts, in points.

    The interval is a percentile bootstrap over prompts (both answers of a prompt move together), the p-value is
    McNemar's exact test.

    Args:
        first, second: 0/1 decisions of one length, in one order of prompts.
        resamples: bootstrap samples; seed: of their draw, so that a page can be made again.

    Raises:
        ValueError: the lengths differ.
    """
    if len(first) != len(second):
        raise ValueError(f"paired decisions must have one length, got {len(first)} and {len(second)}")
    n = len(first)
    if n == 0:
        return Difference(None, n=0)
    gaps = np.asarray(first, dtype=float) - np.asarray(second, dtype=float)
    p_value = mcnemar(int(np.sum(gaps > 0)), int(np.sum(gaps < 0)))
    value = 100 * float(gaps.mean())
    if n == 1:
        return Difference(value, n=1, p_value=p_value)  # nothing to resample
    found = stats.bootstrap(
        (gaps,),
        np.mean,
        n_resamples=resamples,
        batch=max(1, min(resamples, _BATCH_CELLS // n)),
        confidence_level=LEVEL,
        method="percentile",
        rng=np.random.default_rng(seed),
    )
    interval = found.confidence_interval
    return Difference(value, 100 * float(interval.low), 100 * float(interval.high), n, p_value)


def mcnemar(only_first: int, only_second: int) -> float:
    """Exact two-sided p-value of McNemar's test from the two discordant counts; 1 without discordant pairs."""
    discordant = only_first + only_second
    return 1.0 if discordant == 0 else float(stats.binomtest(only_first, discordant, 0.5).pvalue)


def rogan_gladen(k: int, n: int, quality: JudgeQuality, draws: int = 20_000, seed: int = 0) -> Rate:
    """The true rate behind an apparent rate k of n, given how often the judge errs (Rogan and Gladen 1978).

        true = (apparent + specificity - 1) / (sensitivity + specificity - 1), held to 0..100 %

    The interval carries the uncertainty of all three: they are drawn from their Jeffreys posteriors, which stay proper
    where a judge made no mistake in its calibration.

    Raises:
        ValueError: the judge does not tell the two cases apart, or was calibrated on one of them only.
    """
    if n == 0:
        return Rate(None, k=k, n=n)
    if not quality.hits + quality.misses or not quality.clean + quality.false_alarms:
        raise ValueError(f"{quality} has only responses of one kind: calibrate with and without the pattern")
    informative = quality.sensitivity + quality.specificity - 1
    if informative <= 0:
        raise ValueError(
            f"sensitivity {quality.sensitivity:.3f} + specificity {quality.specificity:.3f} is not above 1: the judge "
            "does no better than chance, so that its rate cannot be corrected"
        )
    value = min(max((k / n + quality.specificity - 1) / informative, 0.0), 1.0)
    rng = np.random.default_rng(seed)
    apparent = rng.beta(k + 0.5, n - k + 0.5, draws)
    sensitivity = rng.beta(quality.hits + 0.5, quality.misses + 0.5, draws)
    specificity = rng.beta(quality.clean + 0.5, quality.false_alarms + 0.5, draws)
    useful = sensitivity + specificity > 1
    true = (apparent[useful] + specificity[useful] - 1) / (sensitivity[useful] + specificity[useful] - 1)
    low, high = np.quantile(np.clip(true, 0.0, 1.0), [(1 - LEVEL) / 2, (1 + LEVEL) / 2])
    return Rate(100 * value, 100 * float(low), 100 * float(high), k, n)


def judge_quality(predicted: Sequence[bool], truth: Sequence[bool]) -> JudgeQuality:
    """Counts of a judge against known truth, one entry a response."""
    pairs = list(zip(predicted, truth, strict=True))
    return JudgeQuality(
        hits=sum(p and t for p, t in pairs),
        misses=sum(t and not p for p, t in pairs),
        clean=sum(not p and not t for p, t in pairs),
        false_alarms=sum(p and not t for p, t in pairs),
    )


def pearson(x: Sequence[float], y: Sequence[float]) -> float | None:
    """Pearson's r; None with fewer than three points, of which it is always 1 or -1, or without variation."""
    if len(x) < 3 or len(set(x)) < 2 or len(set(y)) < 2:
        return None
    return float(stats.pearsonr(x, y).statistic)


def quantile_bins(values: Sequence[float], bins: int) -> npt.NDArray[np.int64]:
    """Bin 0..bins-1 of each value by rank, bins as equal in size as ties allow; equal values share a bin."""
    if not len(values):
        return np.zeros(0, dtype=np.int64)
    ranks = stats.rankdata(values, method="average")
    return np.minimum(((ranks - 0.5) * bins / len(values)).astype(np.int64), bins - 1)


def fleiss_kappa(votes: Sequence[Sequence[bool | int]]) -> float | None:
    """Fleiss' kappa of binary votes, one row a response with one vote a judge (Fleiss 1971).

    None without rows or where all judges always say the same one thing.

    Raises:
        ValueError: fewer than two judges, or rows of different lengths.
    """
    if not votes:
        return None
    judges = len(votes[0])
    if judges < 2 or any(len(row) != judges for row in votes):
        raise ValueError(f"every response needs the votes of the same two or more judges, got {judges} for the first")
    ones = np.asarray(votes, dtype=float).sum(axis=1)
    zeros = judges - ones
    agreement = float(np.mean((ones * (ones - 1) + zeros * (zeros - 1)) / (judges * (judges - 1))))
    share = float(ones.sum() / (judges * len(votes)))
    chance = share**2 + (1 - share) ** 2
    return None if math.isclose(chance, 1.0) else (agreement - chance) / (1 - chance)


def cohen_kappa(first: Sequence[bool], second: Sequence[bool]) -> float | None:
    """Cohen's kappa of two judges; None where both always say the same one thing."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    if not len(a):
        return None
    observed = float(np.mean(a == b))
    chance = float(a.mean() * b.mean() + (1 - a.mean()) * (1 - b.mean()))
    return None if math.isclose(chance, 1.0) else (observed - chance) / (1 - chance)
