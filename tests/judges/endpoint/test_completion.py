"""What servers send beside text: pauses that they ask for, log-probabilities that are none."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from typing import Any

import pytest

from reward_workers.judges.endpoint.completion import Completion, TokenLogprob, Unusable, read_completion, retry_after_s


@pytest.mark.parametrize(
    ("header", "seconds"),
    [(None, 0), ("", 0), ("3", 3), (" 2.5 ", 2.5), ("-1", 0), ("nan", 0), ("inf", 0), ("soon", 0), ("1e400", 0)],
)
def test_retry_after_in_seconds(header: str | None, seconds: float) -> None:
    assert retry_after_s(header) == seconds


def test_retry_after_as_a_date() -> None:
    later = format_datetime(datetime.now(UTC) + timedelta(seconds=60), usegmt=True)
    assert 57 < retry_after_s(later) <= 60
    assert retry_after_s("Wed, 21 Oct 2015 07:28:00 GMT") == 0


def body(logprobs: Any) -> dict[str, Any]:
    choice = {"message": {"content": "1"}, "finish_reason": "stop", "logprobs": {"content": logprobs}}
    return {"choices": [choice]}


def token(token: Any = "1", logprob: Any = -0.1, top: Any = None) -> dict[str, Any]:
    return {"token": token, "logprob": logprob, "top_logprobs": top}


def test_well_formed_log_probabilities() -> None:
    given = [token(top=[token(), token("0", -2)])]
    expected = (TokenLogprob("1", -0.1, (("1", -0.1), ("0", -2.0))),)
    assert read_completion(body(given)) == Completion("1", "stop", expected)


@pytest.mark.parametrize(
    "given",
    [
        [],
        None,
        "1",
        [None],
        [token(logprob=None)],
        [token(logprob="x")],
        [token(token=None)],
        [token(logprob=float("nan"))],
        [token(logprob=3.0)],
        [token(top=[None])],
        [token(top=5)],
        {"token": "1", "logprob": -0.1},
        [token(top=[token(logprob=True)])],
    ],
    ids=repr,
)
def test_others_count_as_absent(given: Any) -> None:
    assert read_completion(body(given)) == Completion("1", "stop", None)


@pytest.mark.parametrize(
    ("given", "reason"),
    [
        ("<html>", "bad_body"),
        (None, "bad_body"),
        ([{"choices": []}], "bad_body"),
        ({"choices": {"0": 1}}, "bad_body"),
        ({"choices": []}, "empty_choices"),
        ({"choices": ["CORRECT"]}, "null"),
        ({"choices": [{"message": "CORRECT"}]}, "null"),
        ({"choices": [{"message": {"content": ["CORRECT"]}}]}, "null"),
        ({"choices": [{"message": {"content": None, "refusal": "no"}}]}, "refusal"),
    ],
    ids=str,
)
def test_bodies_without_a_text(given: Any, reason: str) -> None:
    found = read_completion(given)
    assert isinstance(found, Unusable) and found.reason == reason
