"""The paper's tables recompute from their cells, and what does not recompute is named."""

from __future__ import annotations

from statistics import fmean

import pytest

from evaluation.pattern_eval.published import (
    benchmark_rows,
    composition,
    policy_rows,
    printed_differences,
    published_pairs,
    published_rows,
)
from foundation.runs.mode_rates import aggregate, bounds_hold

BELOW_20 = {
    "Qwen3.5-0.8B": 6.95,
    "Seed-2.0-Pro": 3.81,
    "Seed-2.1-Pro": 9.06,
    "Claude-Opus-4.8": 18.51,
    "Mimo-v2-Omni": 12.83,
    "Mimo-v2.5": 13.88,
    "GPT-5.4": 2.86,
    "GPT-5.5": 4.26,
}


def test_composition_sums_and_shares():
    """Paper, Table 1."""
    sums = {family: sum(categories.values()) for family, categories in composition().items()}
    assert sums == {"VG": 1181, "OS": 579, "KR": 655}
    total = sum(sums.values())
    assert total == 2415
    assert {family: round(100 * n / total, 1) for family, n in sums.items()} == {"VG": 48.9, "OS": 24.0, "KR": 27.1}


def test_25_models_in_two_modes():
    rows = published_rows()
    assert len(rows) == 50
    assert len({row.model for row in rows}) == 25
    assert [row.mode for row in rows[:4]] == ["nt", "t", "nt", "t"]


def test_every_difference_is_the_printed_one():
    printed = printed_differences()
    assert {pair.model: (pair.d_acc.value, pair.d_pat.value) for pair in published_pairs()} == printed


def test_17_of_25_gaps_are_above_20_points():
    found = aggregate(published_rows(), published_pairs())
    assert (found.large, found.pairs, found.positive) == (17, 25, 25)
    small = {pair.model: pair.d_pat.value for pair in published_pairs() if pair.d_pat.value <= 20}
    assert small == BELOW_20


def test_means_over_the_50_rows():
    mean = aggregate(published_rows(), published_pairs()).mean
    text = {"cot": 12.75, "rep": 8.49, "con": 2.74, "pr": 4.72}
    for label, value in text.items():
        assert mean["all"][label] == pytest.approx(value, abs=0.03)
    assert {label: round(value, 2) for label, value in mean["all"].items()} == {
        "cot": 12.73,
        "rep": 8.48,
        "con": 2.72,
        "pr": 4.70,
    }
    by_mode = {"cot": (22.07, 3.39), "rep": (13.72, 3.25), "con": (3.26, 2.17), "pr": (5.02, 4.38)}
    for label, (nt, t) in by_mode.items():
        assert (mean["nt"][label], mean["t"][label]) == (pytest.approx(nt, abs=0.01), pytest.approx(t, abs=0.01))


def test_trigger_lies_between_the_largest_label_rate_and_their_sum():
    assert all(bounds_hold(row) for row in published_rows())


def test_unreadable_cells_are_missing_and_no_zeros():
    missing = {
        (row.model, row.mode): [name for name, rate in row.categories.items() if rate.value is None]
        for row in published_rows()
    }
    assert {key: len(names) for key, names in missing.items() if names} == {
        ("Qwen3.6-27B", "nt"): 1,
        ("Mimo-v2.5", "nt"): 6,
        ("GPT-5.5", "nt"): 9,
    }


def test_gaps_of_table_5():
    reference = {row.size: row.rates["trigger"] for row in policy_rows() if row.policy == "thinking"}
    others = [row for row in policy_rows() if row.policy != "thinking"]
    assert len(others) == 6
    for row in others:
        assert round(row.rates["trigger"] - reference[row.size], 2) == row.gap


def test_averages_of_table_6():
    groups = {
        "math": ("MathVista", "MathVerse", "DynaMath", "WeMath"),
        "logic": ("LogicVista", "VisuLogic"),
        "document": ("AI2D", "ChartQA", "DocVQA", "InfoVQA"),
    }
    assert len(benchmark_rows()) == 6
    for row in benchmark_rows():
        for name, members in groups.items():
            # printed to two decimals; a mean that ends in 5 may be rounded either way
            assert fmean(row.benchmarks[b] for b in members) == pytest.approx(row.averages[name], abs=0.00501)
        assert fmean(row.benchmarks.values()) == pytest.approx(row.overall, abs=0.00501)


def test_the_capability_statement_about_qwen3_5():
    """Figure 3: from 4B to 397B accuracy rises in both modes; the gap of Trigger stays between 21.36 and 26.63."""
    models = [f"Qwen3.5-{size}" for size in ("4B", "9B", "27B", "35B-A3B", "122B-A10B", "397B-A17B")]
    rows = {(row.model, row.mode): row.rates for row in published_rows()}
    ends = [(rows[m, mode]["acc"].value) for mode in ("nt", "t") for m in (models[0], models[-1])]
    assert ends == [45.96, 61.96, 52.33, 68.93]
    assert (rows[models[0], "t"]["trigger"].value, rows[models[-1], "t"]["trigger"].value) == (22.19, 4.23)
    nt = [rows[model, "nt"]["trigger"].value for model in models]
    assert (nt[0], nt[2], min(nt[3:]), max(nt[3:])) == (46.42, 29.32, 28.45, 33.0)
    gaps = [pair.d_pat.value for pair in published_pairs() if pair.model in models]
    assert (min(gaps), max(gaps)) == (21.36, 26.63)


def test_family_triggers_weighted_by_prompts_give_the_trigger():
    """Inconsistency I4: within .05 for 45 of 50 rows."""
    sizes = {family: sum(categories.values()) for family, categories in composition().items()}
    close = 0
    for row in published_rows():
        weighted = sum(n * row.families[family].value for family, n in sizes.items()) / sum(sizes.values())
        close += abs(weighted - row.rates["trigger"].value) <= 0.05
    assert close == 45
