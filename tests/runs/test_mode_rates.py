"""Metrics on responses that can be counted by hand."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.pattern_eval.lengths import length_relation
from foundation.runs.evaluation_records import Response
from foundation.runs.mode_rates import bounds_hold, extremes, pairs_of, rows_of

CLEAN = {"cot": False, "rep": False, "con": False, "pr": False}


def response(prompt: int, mode: str, correct: int | None, *labels: str, **changes: Any) -> Response:
    fields: dict[str, Any] = {
        "model": "m",
        "mode": mode,
        "prompt_id": f"p{prompt}",
        "family": "VG" if prompt < 2 else "OS",
        "category": "OCR",
        "correct": correct,
        "labels": CLEAN | dict.fromkeys(labels, True),
        "n_chars": 10 * prompt,
    }
    return Response(**(fields | changes))


RESPONSES = [
    response(0, "nt", 1, "cot", "rep"),
    response(1, "nt", 0, "cot"),
    response(2, "nt", 0),
    response(3, "nt", None, labels=None),
    response(0, "t", 1),
    response(1, "t", 1),
    response(2, "t", 0, "pr"),
    response(3, "t", None, labels=None, outcome="empty", finish_reason="length", flags=("unclosed_think",)),
]


def test_a_row_counts_what_is_known_and_says_what_is_missing():
    nt, t = rows_of(RESPONSES)
    assert (nt.mode, t.mode) == ("nt", "t")
    assert (nt.rates["acc"].k, nt.rates["acc"].n) == (1, 3)
    assert (nt.rates["trigger"].k, nt.rates["trigger"].n) == (2, 3)
    assert nt.rates["cot"].value == pytest.approx(200 / 3)
    assert nt.rates["con"].value == 0.0
    assert (nt.families["VG"].value, nt.families["OS"].value) == (100.0, 0.0)
    assert (nt.families["OS"].n, nt.categories["OCR"].n) == (1, 3)
    assert nt.counts == {
        "asked": 4,
        "answered": 4,
        "empty": 0,
        "failed": 0,
        "truncated": 0,
        "without_verdict": 1,
        "without_labels": 1,
    }
    assert (t.counts["empty"], t.counts["truncated"], t.counts["without_labels"]) == (1, 1, 0)
    assert t.flags == {"unclosed_think": 1}
    assert bounds_hold(nt) and bounds_hold(t)


def test_differences_are_over_prompts_that_both_modes_decided():
    (pair,) = pairs_of(RESPONSES, resamples=200, seed=0)
    assert (pair.d_acc.n, pair.d_pat.n) == (3, 3)
    assert pair.d_acc.value == pytest.approx(100 / 3)  # T 2 of 3, NT 1 of 3
    assert pair.d_pat.value == pytest.approx(100 / 3)  # NT 2 of 3, T 1 of 3
    assert pair.d_acc.p_value == 1.0


def test_a_model_in_one_mode_has_no_pair():
    assert pairs_of(RESPONSES[:4], resamples=10, seed=0) == []


def test_a_family_without_labels_keeps_an_empty_cell():
    (row,) = rows_of([response(0, "nt", 1), response(2, "nt", 1, labels=None)])
    assert row.families["OS"].value is None and row.families["OS"].n == 0


def test_best_and_worst_of_a_column():
    rows = [*rows_of(RESPONSES), *rows_of([response(0, "nt", 1, model="other")])]
    assert extremes(rows, lambda row: row.rates["trigger"].value, higher_is_better=False) == {
        "nt": (0.0, pytest.approx(200 / 3))
    }


def test_length_goes_with_trigger():
    many = [response(i, "nt", i % 2, *(["cot"] if i >= 6 else []), model=f"m{i // 4}") for i in range(12)]
    found = length_relation(many, unit="chars", pooling="all", bins=6)
    assert [b.trigger.value for b in found.bins if b.correct] == [0.0, 0.0, 0.0, 100.0, 100.0, 100.0]
    assert {point.model for point in found.points} == {"m0", "m1", "m2"}
    right = [point for point in found.points if point.model == "m0" and point.correct]
    assert right[0].mean_length == pytest.approx(20.0) and right[0].trigger.value == 0.0
    assert found.r["t"] is None
    # lengths 20 10 60 50 100 90 against Trigger 0 0 50 50 100 100: S_xy 8000, S_xx 6550, S_yy 10000
    assert found.r["nt"] == pytest.approx(8000 / (6550 * 10000) ** 0.5)


def test_bins_of_each_group_by_itself():
    many = [response(i, "nt", 1) for i in range(6)] + [response(100 + i, "nt", 0, "cot") for i in range(6)]
    everywhere = length_relation(many, unit="chars", pooling="all", bins=6)
    alone = length_relation(many, unit="chars", pooling="group", bins=6)
    assert {b.index for b in everywhere.bins if b.correct} == {0, 1, 2}
    assert {b.index for b in alone.bins if b.correct} == set(range(6))


def test_responses_without_a_length_are_left_out():
    found = length_relation([response(1, "nt", 1, n_tokens=None)], unit="tokens", pooling="all", bins=6)
    assert found.points == () and found.bins == ()
