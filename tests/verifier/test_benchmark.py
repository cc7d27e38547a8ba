"""The benchmark's rows, counting and child processes; figures worked out by hand."""

import json
import subprocess
import sys
from collections import Counter
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

import pytest

from benchmarks.verifier import Scored, count, split_by_type
from benchmarks.verifier_cases import Case, Family, generate, load
from benchmarks.verifier_chart_like import CHART_LIKE
from benchmarks.verifier_math_like import MATH_LIKE, decimal

ROOT = Path(__file__).parents[2]
ROW = Case("a", "num", r"So \boxed{4}.", "4", "integer", None, 1, 1)


def test_counts_follow_the_policy() -> None:
    """A right row, a false positive, a false negative, a deferral, an allowed deferral, and one over the cap."""
    cases = [
        ROW,
        replace(ROW, expected=0, truth=0),
        ROW,
        ROW,
        replace(ROW, expected="unresolved", truth=None),
        replace(ROW, answer_type="text"),
    ]
    scored = [
        Scored(1, 0.001),
        Scored(1, 0.003),
        Scored(0, 0.004),
        Scored(None, 0.002),
        Scored(None, 0.010),
        Scored(None, 9.0, timed_out=True),
    ]
    counts = count(cases, scored)
    assert (counts.rows, counts.decidable, counts.right) == (6, 5, 1)
    assert (counts.false_positives, counts.false_negatives, counts.deferred, counts.timeouts) == (1, 1, 1, 1)
    assert counts.rows_per_s == pytest.approx(5 / 0.020)
    assert (counts.p50_ms, counts.p99_ms, counts.slowest_s) == (pytest.approx(3.0), pytest.approx(10.0), 9.0)
    by_type = split_by_type(cases, scored, batched=True)
    assert {kind: c.rows for kind, c in by_type.items()} == {"integer": 5, "text": 1}
    assert by_type["integer"].p50_ms is None


def test_a_verdict_on_a_row_without_a_truth_is_an_error_either_way() -> None:
    open_row = replace(ROW, expected="unresolved", truth=None)
    assert count([open_row], [Scored(1, 0.001)]).false_positives == 1
    assert count([open_row], [Scored(0, 0.001)]).false_negatives == 1
    assert count([replace(open_row, truth=0)], [Scored(0, 0.001)]).false_negatives == 0


def test_rows_that_are_not_timed_count_in_no_speed() -> None:
    counts = count([ROW, replace(ROW, timed=False)], [Scored(1, 0.5), Scored(1, 7.0)])
    assert (counts.right, counts.rows_per_s) == (2, pytest.approx(2.0))


@pytest.mark.parametrize("family", [MATH_LIKE, CHART_LIKE], ids=lambda family: family.name)
def test_generated_rows_are_the_same_again_and_of_both_kinds(family: Family) -> None:
    rows = list(generate(family, 600, seed=3))
    assert rows == list(generate(family, 600, seed=3))
    assert rows[:50] != list(generate(family, 50, seed=4))
    shares = Counter(row.truth for row in rows)
    assert 0.5 < shares[1] / 600 < 0.8 and shares[None] == 0
    assert all(row.expected in (row.truth, "unresolved") for row in rows)
    assert sum(row.expected == "unresolved" for row in rows) < 60
    assert len({row.answer_type for row in rows}) >= 10
    assert sum(len(row.response) for row in rows) / 600 > 300


def test_truth_of_plain_integers_is_python_equality() -> None:
    checked = 0
    for row in generate(MATH_LIKE, 2000, seed=5):
        box = row.response.rpartition("\\boxed{")[2].partition("}")[0]
        if row.answer_type == "integer" and "\\boxed" in row.response and box.lstrip("-").isdigit():
            assert row.truth == int(int(box) == int(row.reference)), row
            checked += 1
    assert checked > 300


def test_decimal_writes_exactly_its_places() -> None:
    assert [decimal(-5, 2), decimal(1234, 1), decimal(7, 0), decimal(40, 1)] == ["-0.05", "123.4", "7", "4.0"]


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ({"response": 4, "reference": "4", "expected": 1, "truth": 1}, r"rows.jsonl:2: response=4 must be a string"),
        ({"response": "a", "reference": "4", "expected": 2, "truth": 1}, "expected=2 must be 0, 1 or"),
        ({"response": "a", "reference": "4", "expected": 1, "truth": "x"}, "truth='x' must be 0, 1 or null"),
        ({"response": "a", "reference": "4", "expected": 1, "truth": 1, "answer_type": "hue"}, "'hue' is not known"),
        (["a"], "rows.jsonl:2: "),
    ],
)
def test_a_wrong_row_is_named(tmp_path: Path, row: object, message: str) -> None:
    path = tmp_path / "rows.jsonl"
    path.write_text(json.dumps(asdict(ROW)) + "\n" + json.dumps(row) + "\n")
    with pytest.raises(ValueError, match=message):
        load(path)


def run(path: Path, out: Path, *options: str) -> dict[str, Any]:
    command = [sys.executable, "-m", "benchmarks.verifier", str(path), "--out", str(out), *options]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    results: dict[str, Any] = json.loads(out.read_text())[str(path)]
    return {**results, "printed": done.stdout}


def write(path: Path, rows: list[tuple[str, str, str, int]]) -> Path:
    lines = [
        json.dumps(
            {
                "response": f"So \\boxed{{{box}}}.",
                "reference": reference,
                "answer_type": kind,
                "expected": t,
                "truth": t,
            }
        )
        for box, reference, kind, t in rows
    ]
    path.write_text("\n".join(lines))
    return path


@pytest.mark.integration
def test_ours_and_math_verify_on_a_handful_of_rows(tmp_path: Path) -> None:
    """math-verify knows no tolerance of 5 %; the rules alone leave the product to the symbolic stage."""
    rows = [
        ("42", "42", "integer", 1),
        ("43", "42", "integer", 0),
        (r"\frac{6}{8}", r"\frac{3}{4}", "fraction", 1),
        ("104", "100", "chart_numeric", 1),
        ("(x-1)(x+4)n!", "(x^2+3x-4)n!", "expression", 1),
    ]
    results = run(
        write(tmp_path / "rows.jsonl", rows), tmp_path / "out.json", "--scorers", "rules", "ours", "math-verify"
    )
    rules, ours, theirs = (results[name]["all"] for name in ("rules", "ours", "math-verify"))
    assert (rules["right"], rules["deferred"], rules["false_positives"], rules["false_negatives"]) == (4, 1, 0, 0)
    assert (ours["right"], ours["decidable"], ours["deferred"]) == (5, 5, 0)
    assert (theirs["right"], theirs["false_negatives"], theirs["false_positives"]) == (4, 1, 0)
    assert results["math-verify"]["chart_numeric"]["false_negatives"] == 1
    assert all(counts["rows_per_s"] > 0 for counts in (rules, ours, theirs))
    assert "4/5" in results["printed"] and "5/5" in results["printed"]


@pytest.mark.integration
def test_a_row_over_the_cap_is_a_timeout_and_the_next_is_scored(tmp_path: Path) -> None:
    """math-verify's own limit is 5 s."""
    rows = [("4", "4", "integer", 1), ("9^{9^{9}}", "5", "integer", 0), ("4", "5", "integer", 0)]
    results = run(write(tmp_path / "rows.jsonl", rows), tmp_path / "out.json", "--scorers", "math-verify", "--cap", "2")
    found = results["math-verify"]["all"]
    assert (found["timeouts"], found["right"], found["slowest_s"]) == (1, 2, 2.0)


@pytest.mark.integration
def test_wrong_arguments_end_with_code_2(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "benchmarks.verifier", str(tmp_path / "none.jsonl")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT)
    assert done.returncode == 2 and "none.jsonl" in done.stderr
