"""Majority, agreement, quality against truth, and attribution of evidence."""

from __future__ import annotations

import pytest

from evaluation.pattern_eval.judging.agreement import agreement_of, macro, majority, qualities, quality_of
from evaluation.pattern_eval.judging.attribution import Evidence, attribute
from foundation.runs.evaluation_records import Response


def vector(*labels: str) -> dict[str, bool]:
    return {label: label in labels for label in ("cot", "rep", "con", "pr")}


def voted(**votes: dict[str, bool]) -> Response:
    return Response("m", "nt", "p", "VG", "OOD", votes=votes)


def test_majority():
    assert majority({"a": vector("cot"), "b": vector("cot", "pr"), "c": vector()}) == vector("cot")
    assert majority({"a": vector("pr")}) == vector("pr")
    assert majority({"a": vector("pr"), "b": vector()}) == "judges_tied_pr"
    assert majority({}) == "no_judge"


def test_agreement_by_hand():
    responses = [
        voted(a=vector("cot"), b=vector("cot"), c=vector("cot")),
        voted(a=vector("cot"), b=vector(), c=vector("cot")),
        voted(a=vector(), b=vector(), c=vector()),
        voted(a=vector(), b=vector()),  # c failed: counts for a and b only
    ]
    found = agreement_of(responses, ("a", "b", "c"))
    assert found is not None
    cot = {(p.first, p.second): p for p in found.pairs if p.label == "cot"}
    assert (cot["a", "b"].equal.k, cot["a", "b"].equal.n) == (3, 4)
    assert (cot["a", "c"].equal.k, cot["a", "c"].equal.n) == (3, 3)
    assert cot["a", "b"].kappa == pytest.approx((0.75 - 0.5) / 0.5)
    assert (found.unanimous["vector"].k, found.unanimous["vector"].n) == (2, 3)
    # rows 3:0, 2:1, 0:3 of three votes: P_bar = (1 + 1/3 + 1) / 3, share 5/9
    observed, chance = 7 / 9, (5 / 9) ** 2 + (4 / 9) ** 2
    assert found.kappa["cot"] == pytest.approx((observed - chance) / (1 - chance))
    assert found.kappa["rep"] is None


def test_one_judge_agrees_with_nobody():
    assert agreement_of([voted(a=vector())], ("a",)) is None


def test_f1_is_that_of_the_published_rows():
    """Paper, Table 4: precision 60.0 and recall 51.0 give 55.1 (PatternRM, direct, Con)."""
    predicted = [True] * 850 + [False] * 490  # 510 hits, 340 false alarms, 490 misses
    truth = [True] * 510 + [False] * 340 + [True] * 490
    found = quality_of(predicted, truth)
    assert (found.precision, found.recall) == (60.0, 51.0)
    assert found.f1 == pytest.approx(55.1, abs=0.05)


def test_macro_needs_all_four_labels():
    pairs = [(vector("cot", "rep", "con", "pr"), vector("cot", "rep", "con", "pr")), (vector("cot"), vector())]
    precision, recall, f1 = macro(qualities(pairs))
    assert (precision, recall) == (pytest.approx((50 + 300) / 4), 100.0)
    assert f1 == pytest.approx((200 / 3 + 300) / 4)
    assert macro(qualities([(vector("cot"), vector("cot"))])) == (None, None, None)


LEAKED = Evidence("cot", 100, 200)


@pytest.mark.parametrize(
    ("evidence", "expected"),
    [
        ([], vector()),
        ([LEAKED], vector("cot")),
        ([LEAKED, Evidence("pr", 110, 150)], vector("cot")),
        ([LEAKED, Evidence("pr", 210, 250)], vector("cot", "pr")),
        ([LEAKED, Evidence("con", 110, 120, other=(300, 320))], vector("cot")),
        ([LEAKED, Evidence("con", 250, 260, other=(300, 320))], vector("cot", "con")),
        ([LEAKED, Evidence("rep", 110, 190)], vector("cot", "rep")),
        ([Evidence("pr", 0, 10), Evidence("con", 0, 5, other=(6, 9))], vector("con", "pr")),
        # more than half inside counts as leaked, half does not
        ([LEAKED, Evidence("pr", 180, 210)], vector("cot")),
        ([LEAKED, Evidence("pr", 190, 210)], vector("cot", "pr")),
        # two leaked passages that touch are one
        ([Evidence("cot", 0, 10), Evidence("cot", 10, 20), Evidence("pr", 6, 16)], vector("cot")),
        # one leaked claim does not excuse an independent one
        ([LEAKED, Evidence("pr", 110, 150), Evidence("pr", 400, 420)], vector("cot", "pr")),
    ],
)
def test_attribution(evidence: list[Evidence], expected: dict[str, bool]):
    assert attribute(evidence) == expected


def test_evidence_that_points_nowhere_is_refused():
    with pytest.raises(ValueError, match=r"\(5, 5\)"):
        Evidence("cot", 5, 5)
    with pytest.raises(ValueError, match="unknown"):
        Evidence("style", 0, 1)  # type: ignore[arg-type]
