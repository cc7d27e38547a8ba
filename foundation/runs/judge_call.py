"""One question to a judge as it stands in a record: who answered it, what it cost, and why it failed."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

AnsweredBy = Literal["server", "shared", "memory", "disk"]
"""Who answered: the judge; the call of another caller for the same question; results kept in memory or on disk."""

UNREACHABLE = frozenset({"timeout", "deadline", "connection", "breaker_open", "http_408", "http_429"})
"""Reasons of failed calls that waiting can cure, beside every `http_5xx`."""


@dataclass(frozen=True, slots=True)
class JudgeCall:
    """One question to a judge.

    Attributes:
        judge: name of the judge in the configuration.
        answered_by: who gave the result, or failed to.
        failure: why there is no result; None when there is one.
        attempts: HTTP requests sent because of this question.
        retries: those of them that repeated one which had failed.
        openings: circuit breakers that opened because of them.
        cache_off: the cache on disk is configured and out of use, because it failed.
        latency_s: what the caller waited, in seconds.
    """

    judge: str
    answered_by: AnsweredBy
    failure: str | None
    attempts: int = 0
    retries: int = 0
    openings: int = 0
    cache_off: bool = False
    latency_s: float = 0.0


def is_unreachable(reason: str) -> bool:
    """Whether a failed call is one that waiting can cure; a nonsensical answer is not asked for again here.

    >>> is_unreachable("judge_connection"), is_unreachable("http_503"), is_unreachable("judge_truncated")
    (True, True, False)
    >>> is_unreachable("judge_breaker_open")
    True
    """
    cause = reason.removeprefix("judge_")
    return cause in UNREACHABLE or cause.startswith("http_5")
