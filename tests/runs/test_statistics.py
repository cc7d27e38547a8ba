"""Statistics against scipy, hand values and their own definition."""

from __future__ import annotations

import math

import numpy as np
import pytest

from foundation.runs.statistics import (
    JudgeQuality,
    cohen_kappa,
    fleiss_kappa,
    judge_quality,
    mcnemar,
    paired_difference,
    pearson,
    quantile_bins,
    rogan_gladen,
    wilson,
)


def test_wilson_is_the_closed_form():
    k, n, z = 7, 40, 1.959963984540054
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    rate = wilson(k, n)
    assert (rate.value, rate.k, rate.n) == (17.5, 7, 40)
    assert rate.low == pytest.approx(100 * (centre - half))
    assert rate.high == pytest.approx(100 * (centre + half))


def test_a_rate_without_a_denominator_is_no_zero():
    rate = wilson(0, 0)
    assert rate.value is None and rate.low is None and rate.n == 0


def test_mcnemar_by_hand():
    # 1 against 5 discordant pairs: 2 * (C(6,0) + C(6,1)) / 2**6
    assert mcnemar(1, 5) == pytest.approx(14 / 64)
    assert mcnemar(0, 0) == 1.0


def test_a_paired_difference_and_its_interval():
    rng = np.random.default_rng(1)
    first, second = rng.random(400) < 0.5, rng.random(400) < 0.3
    found = paired_difference(list(first), list(second), resamples=4000, seed=0)
    gaps = first.astype(float) - second.astype(float)
    assert found.value == pytest.approx(100 * gaps.mean())
    half = 100 * 1.96 * gaps.std(ddof=1) / math.sqrt(400)  # normal approximation
    assert found.low == pytest.approx(found.value - half, abs=0.6)
    assert found.high == pytest.approx(found.value + half, abs=0.6)
    assert found.p_value == mcnemar(int((gaps > 0).sum()), int((gaps < 0).sum()))
    assert found == paired_difference(list(first), list(second), resamples=4000, seed=0)


def test_paired_differences_at_the_edges():
    assert paired_difference([], [], 10, 0).value is None
    assert paired_difference([1], [0], 10, 0).low is None
    same = paired_difference([1, 0, 1], [1, 0, 1], 10, 0)
    assert (same.value, same.low, same.high, same.p_value) == (0.0, 0.0, 0.0, 1.0)
    with pytest.raises(ValueError, match="one length, got 1 and 2"):
        paired_difference([1], [1, 0], 10, 0)


def test_rogan_gladen_by_hand():
    # apparent .30, sensitivity .90, specificity .95: (.30 + .95 - 1) / (.90 + .95 - 1) = .25 / .85
    rate = rogan_gladen(300, 1000, JudgeQuality(hits=90, misses=10, clean=95, false_alarms=5))
    assert rate.value == pytest.approx(100 * 0.25 / 0.85)
    assert rate.low < rate.value < rate.high


def test_rogan_gladen_with_a_perfect_judge_keeps_the_rate():
    rate = rogan_gladen(300, 1000, JudgeQuality(hits=10**6, misses=0, clean=10**6, false_alarms=0))
    plain = wilson(300, 1000)
    assert rate.value == pytest.approx(30.0)
    assert (rate.low, rate.high) == (pytest.approx(plain.low, abs=0.15), pytest.approx(plain.high, abs=0.15))


def test_rogan_gladen_intervals_cover_the_truth():
    rng = np.random.default_rng(3)
    true, sensitivity, specificity, covered = 0.3, 0.85, 0.9, 0
    for trial in range(200):
        apparent = rng.binomial(500, true * sensitivity + (1 - true) * (1 - specificity))
        hits, clean = rng.binomial(150, sensitivity), rng.binomial(150, specificity)
        quality = JudgeQuality(hits, 150 - hits, clean, 150 - clean)
        rate = rogan_gladen(int(apparent), 500, quality, draws=2000, seed=trial)
        covered += rate.low <= 100 * true <= rate.high
    assert 180 <= covered <= 199  # 95 % of 200, three standard errors around it


@pytest.mark.parametrize(
    "quality",
    [JudgeQuality(1, 1, 1, 1), JudgeQuality(0, 0, 5, 5), JudgeQuality(hits=5, misses=5, clean=0, false_alarms=0)],
)
def test_a_judge_that_says_nothing_corrects_nothing(quality: JudgeQuality):
    with pytest.raises(ValueError, match=r"chance|only responses of one kind"):
        rogan_gladen(3, 10, quality)


def test_quality_counts():
    found = judge_quality([True, True, False, False, True], [True, False, False, True, True])
    assert found == JudgeQuality(hits=2, misses=1, clean=1, false_alarms=1)
    assert found.sensitivity == pytest.approx(2 / 3) and found.specificity == 0.5


def test_fleiss_kappa_of_the_textbook():
    """By hand: three judges, strict agreement .89, prevalence .74 give P_bar .9267 and kappa about .81."""
    # 100 responses: a unanimous 1, b unanimous 0, the rest split two to one.
    votes = [[1, 1, 1]] * 69 + [[0, 0, 0]] * 20 + [[1, 1, 0]] * 5 + [[1, 0, 0]] * 6
    share = (3 * 69 + 2 * 5 + 6) / 300
    chance = share**2 + (1 - share) ** 2
    observed = 0.89 + 0.11 / 3
    assert observed == pytest.approx(0.9267, abs=1e-4)
    assert fleiss_kappa(votes) == pytest.approx((observed - chance) / (1 - chance))
    assert fleiss_kappa(votes) == pytest.approx(0.81, abs=0.01)


def test_kappa_without_variation_is_unknown():
    assert fleiss_kappa([[1, 1], [1, 1]]) is None
    assert fleiss_kappa([]) is None
    with pytest.raises(ValueError, match="two or more judges"):
        fleiss_kappa([[1]])
    assert cohen_kappa([True, True], [True, True]) is None


def test_cohen_kappa_by_hand():
    # both 1: 20, first only: 5, second only: 10, both 0: 15 (Cohen's example): (.7 - .5) / (1 - .5)
    first = [True] * 25 + [False] * 25
    second = [True] * 20 + [False] * 5 + [True] * 10 + [False] * 15
    assert cohen_kappa(first, second) == pytest.approx(0.4)


def test_pearson():
    assert pearson([1, 2, 3], [2, 4, 6]) == pytest.approx(1.0)
    assert pearson([1, 2, 3], [5, 5, 5]) is None
    assert pearson([1, 2], [2, 1]) is None


def test_sextiles_are_equal_in_size_and_ties_stay_together():
    assert quantile_bins(range(12), 6).tolist() == [0, 0, 1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    assert len(set(quantile_bins([7, 7, 7, 7], 6).tolist())) == 1
    assert quantile_bins([], 6).tolist() == []
