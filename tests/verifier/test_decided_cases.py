"""254 answers of the kinds that the rules decide since they read scale words, Chinese fractions and formulas.

Verdicts and truths are written by hand: the rules must give each verdict that is there, and nothing else than
'unresolved' where it says so.
"""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from reward_workers.verifier import verify_rules

PATH = Path(__file__).parents[1] / "data" / "verifier" / "decided_cases.jsonl"
CASES = [json.loads(line) for line in PATH.read_text().splitlines()]
KINDS = sorted({case["kind"] for case in CASES})


def verdict_of(case: dict[str, Any]) -> int | str:
    value = verify_rules(case["response"], case["reference"], case["answer_type"]).value
    return "unresolved" if value is None else value


@pytest.mark.parametrize("kind", KINDS)
def test_each_case_gets_its_verdict(kind: str) -> None:
    wrong = [(case, verdict_of(case)) for case in CASES if case["kind"] == kind]
    assert [(case, found) for case, found in wrong if found != case["expected"]] == []


def test_at_least_half_of_the_decided_answers_are_wrong_ones() -> None:
    counts = Counter(case["expected"] for case in CASES)
    assert len(CASES) == 254 and counts[0] >= counts[1]
    assert all(case["truth"] == case["expected"] for case in CASES if case["expected"] != "unresolved")
