"""What a question to a judge cost, kept beside its result for the metrics of a step.

A judge notes each question; who wants to know collects the notes of the work that it starts:

>>> with collect_calls() as calls:
...     note(JudgeCall("fallback", "memory", failure=None))
>>> [(call.judge, call.answered_by) for call in calls]
[('fallback', 'memory')]
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Protocol, TypeVar

from foundation.runs.judge_call import AnsweredBy, JudgeCall


class Asked(Protocol):
    """The outcome of one request: :class:`reward_workers.judges.endpoint.client.JudgeReply` or ``JudgeFailure``."""

    @property
    def attempts(self) -> int: ...

    @property
    def openings(self) -> int: ...


Outcome = TypeVar("Outcome", bound=Asked)


@dataclass(slots=True)
class Cost:
    """The requests of one question, while it is asked; what another caller's call did is not counted again.

    Attributes:
        requests: chat completions that were sent, reworded ones included.
        attempts: HTTP requests sent for them.
        openings: circuit breakers that opened because of them.
    """

    requests: int = 0
    attempts: int = 0
    openings: int = 0

    def add(self, outcome: Outcome) -> Outcome:
        """Count a request by its outcome, and hand that on."""
        self.requests += outcome.attempts > 0
        self.attempts += outcome.attempts
        self.openings += outcome.openings
        return outcome


def judge_call(
    judge: str, answered_by: AnsweredBy, failure: str | None, cost: Cost, cache_off: bool, latency_s: float
) -> JudgeCall:
    """The record of a question that cost this much."""
    retries = cost.attempts - cost.requests
    return JudgeCall(judge, answered_by, failure, cost.attempts, retries, cost.openings, cache_off, latency_s)


_collected: ContextVar[list[JudgeCall] | None] = ContextVar("judge_calls", default=None)


@contextmanager
def collect_calls() -> Iterator[list[JudgeCall]]:
    """The questions asked inside the block, by this task and by those that it starts there."""
    calls: list[JudgeCall] = []
    token = _collected.set(calls)
    try:
        yield calls
    finally:
        _collected.reset(token)


def note(call: JudgeCall) -> None:
    """Called by the judges, once a question; without a collector nothing is kept."""
    calls = _collected.get()
    if calls is not None:
        calls.append(call)
