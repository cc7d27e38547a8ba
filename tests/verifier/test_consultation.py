"""What stands between the rules and the symbolic stage: questions, their outcomes, and input of the wrong kind."""

import asyncio
import logging

import pytest

from foundation.runs.records import SymbolicLosses
from reward_workers.verifier import Verifier, cascade
from reward_workers.verifier.cascade import consult_rules
from reward_workers.verifier.rules.outcome import Outcome

SYMBOLIC_LIST = (r"\boxed{(x-1)(x+4)n!, (a+b)^2n!}", "(x^2+3x-4)n!, (a^2+2ab+b^2)n!", "ordered_list")
EQUAL, TIMEOUT = Outcome(1, "symbolic_equal"), Outcome(None, "symbolic_timeout")


def test_a_decided_response_asks_nothing() -> None:
    consultation = consult_rules(r"\boxed{7}", "7")
    assert consultation.questions == () and consultation.verdict.value == 1
    assert consultation.settle([]) == consultation.verdict


def test_each_part_that_the_rules_leave_is_a_question() -> None:
    consultation = consult_rules(*SYMBOLIC_LIST)
    assert [question.reference for question in consultation.questions] == ["(x^2+3x-4)n!", "(a^2+2ab+b^2)n!"]
    assert consultation.verdict.value is None
    assert consultation.settle([EQUAL, EQUAL]).value == 1
    settled = consultation.settle([EQUAL, Outcome(0, "symbolic_different")])
    assert (settled.value, settled.stage, settled.reason) == (0, "symbolic", "other_part")


def test_a_lost_child_is_named_also_behind_another_open_part() -> None:
    consultation = consult_rules(*SYMBOLIC_LIST)
    settled = consultation.settle([Outcome(None, "points_undecided"), TIMEOUT])
    assert (settled.value, settled.reason) == (None, "symbolic_timeout")
    assert consultation.settle([TIMEOUT, Outcome(0, "symbolic_different")]).value == 0


def test_too_many_questions_are_not_asked() -> None:
    answer = ", ".join(f"(x+{n})^2m!" for n in range(2, 8))
    reference = ", ".join(f"(x^2+{2 * n}x+{n * n})m!" for n in range(2, 8))
    consultation = consult_rules(rf"\boxed{{{answer}}}", reference, "set")
    assert consultation.questions == ()
    assert (consultation.verdict.value, consultation.verdict.reason) == (None, "too_many_questions")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((None, "7"), "response=None must be a string"),
        ((r"\boxed{7}", 7), "reference=7 must be a string"),
        ((r"\boxed{7}", "7", 3), "answer_type=3 must be a string"),
        ((r"\boxed{7}", "7", "colour"), "answer_type='colour' is not known; use one of: integer"),
        ((r"\boxed{B}", "B", "choice", "red"), "options='red' must be a list of strings"),
        ((r"\boxed{B}", "B", "choice", ["red", 2]), r"options=\['red', 2\] must be a list of strings"),
    ],
)
def test_arguments_of_another_type(arguments: tuple, message: str) -> None:  # type: ignore[type-arg]
    with pytest.raises(ValueError, match=message):
        consult_rules(*arguments)


def test_a_rule_that_fails_leaves_the_response_unresolved_and_is_logged(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(*_: object) -> None:
        raise ZeroDivisionError("a fault")

    monkeypatch.setattr(cascade, "decide", broken)
    with caplog.at_level(logging.ERROR):
        verdict = asyncio.run(Verifier(symbolic=False).verify(r"so \boxed{7}", "8"))
    assert (verdict.value, verdict.reason, verdict.extracted) == (None, "rules_error_ZeroDivisionError", "7")
    assert "a fault" in caplog.text


def test_without_the_symbolic_stage_its_questions_stay_open() -> None:
    verifier = Verifier(symbolic=False)
    assert verifier.verify_blocking(r"\boxed{(x-1)(x+4)n!}", "(x^2+3x-4)n!").reason == "needs_symbolic"
    assert verifier.take_losses() == SymbolicLosses()


def test_losses_are_told_once() -> None:
    verifier = Verifier()
    assert verifier.pool is not None
    verifier.pool.counts.timeouts, verifier.pool.counts.deaths = 3, 1
    assert verifier.take_losses() == SymbolicLosses(killed=3, died=1)
    verifier.pool.counts.timeouts = 4
    assert verifier.take_losses() == SymbolicLosses(killed=1, died=0)
    assert verifier.take_losses() == SymbolicLosses()
