"""The rules on the public cases and on hand-made cases of every policy rule; the symbolic stage is tested apart."""

import json
from pathlib import Path
from typing import Any

import pytest

from reward_workers.verifier import verify_rules

DATA = Path(__file__).parents[1] / "data" / "verifier"


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def response_of(case: dict[str, Any]) -> str:
    """A policy case has a whole response, or an answer that is put in a box."""
    return case["response"] if "response" in case else rf"So \boxed{{{case['answer']}}}"


PUBLIC = rows("cases_public.jsonl")
POLICY = rows("policy_cases.jsonl")
NEEDS_SYMBOLIC = "needs_symbolic"


@pytest.mark.parametrize("case", PUBLIC, ids=lambda case: f"{case['id']}-{case['kind']}")
def test_public_case(case: dict[str, Any]) -> None:
    verdict = verify_rules(case["response"], case["reference"], case["answer_type"])
    if verdict.reason == NEEDS_SYMBOLIC:
        return
    allowed = {None, case["truth"]} if case["expected"] == "unresolved" else {case["expected"]}
    assert verdict.value in allowed, verdict


def test_few_public_cases_need_symbolic() -> None:
    verdicts = [verify_rules(case["response"], case["reference"], case["answer_type"]) for case in PUBLIC]
    assert sum(verdict.reason == NEEDS_SYMBOLIC for verdict in verdicts) <= 15


RULES = sorted({case["rule"] for case in POLICY})


@pytest.mark.parametrize("rule", RULES)
def test_policy_cases(rule: str) -> None:
    wrong = []
    for case in POLICY:
        if case["rule"] == rule:
            verdict = verify_rules(response_of(case), case["reference"], case["answer_type"])
            found = "unresolved" if verdict.value is None else verdict.value
            if found not in case["allowed"] and verdict.reason != NEEDS_SYMBOLIC:
                wrong.append((case, verdict))
    assert wrong == []


@pytest.mark.parametrize("rule", RULES)
def test_policy_cases_without_type_are_never_wrongly_right(rule: str) -> None:
    """But for the types that say what the form of a reference does not."""
    wrong = []
    for case in POLICY:
        if case["rule"] == rule and case["answer_type"] not in ("ordered_list", "tuple", "text", "doc_text"):
            verdict = verify_rules(response_of(case), case["reference"])
            if verdict.value == 1 and 1 not in case["allowed"]:
                wrong.append((case, verdict))
    assert wrong == []


def test_stage_and_extracted_are_reported() -> None:
    verdict = verify_rules(r"so \boxed{\frac{6}{8}}", r"\frac{3}{4}", "fraction")
    assert (verdict.value, verdict.stage, verdict.reason) == (1, "typed", "equal_number")
    assert verdict.extracted == r"\frac{6}{8}"
    assert 0 < verdict.latency_s < 1


def test_unknown_answer_type_names_the_known_ones() -> None:
    with pytest.raises(ValueError, match="answer_type='colour' is not known; use one of: integer"):
        verify_rules(r"\boxed{red}", "red", "colour")


def test_options_decide_content_without_a_letter() -> None:
    options = ["10 cm", "12 cm", "14 cm"]
    assert verify_rules(r"\boxed{12 cm}", "B", "choice", options).value == 1
    assert verify_rules(r"\boxed{14\text{ cm}}", "B", "choice", options).value == 0
    assert verify_rules(r"\boxed{(B) 14 cm}", "B", "choice", options).reason == "letter_and_text_disagree"
    assert verify_rules(r"\boxed{(B) 12 cm}", "B", "choice", options).value == 1


def test_long_box_is_compared_raw_only() -> None:
    long = "1" + "0" * 3000
    assert verify_rules(rf"\boxed{{{long}}}", long, "integer").value == 1
    assert verify_rules(rf"\boxed{{{long}}}", "7", "integer").reason == "answer_too_long"


@pytest.mark.parametrize("reference", ["", "  ", "$$"])
def test_empty_reference_is_a_data_error(reference: str) -> None:
    assert verify_rules(r"\boxed{5}", reference, "text").reason == "empty_reference"
