"""Notices a judge that answers nobody: how long, why, and how many rollouts wait for it.

A slow judge is no outage: what counts is the time without any answer while somebody waits. Pure, for one event loop.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import count

NOTICED_AFTER_S = 10.0
"""Shorter silences are what retries are for."""


@dataclass(frozen=True, slots=True)
class Outage:
    """A judge that has not answered for a while.

    Attributes:
        judge: key of the judge in the configuration.
        reason: of the last failed call since the last answer, such as ``judge_connection``; ``no answer`` before one.
        silent_s: seconds without an answer while a rollout waited.
        waiting: rollouts of this worker that wait now.
    """

    judge: str
    reason: str
    silent_s: float
    waiting: int


@dataclass(slots=True)
class _Line:
    """What is known of one judge."""

    pending: dict[int, float] = field(default_factory=dict)
    answered_at: float = float("-inf")
    reason: str = "no answer"


class PendingCall:
    """One rollout that waits for a judge; told how each of its attempts went."""

    def __init__(self, line: _Line, clock: Callable[[], float]) -> None:
        self._line = line
        self._clock = clock

    def answered(self) -> None:
        self._line.answered_at = self._clock()
        self._line.reason = "no answer"

    def failed(self, reason: str) -> None:
        self._line.reason = reason


class Outages:
    """Every call to a judge passes through :meth:`call`; :meth:`current` says which judges are silent.

    >>> outages = Outages(clock=iter([0.0, 12.0]).__next__)
    >>> with outages.call("fallback") as call:
    ...     call.failed("judge_connection")
    ...     outages.current()
    (Outage(judge='fallback', reason='judge_connection', silent_s=12.0, waiting=1),)
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._lines: dict[str, _Line] = {}
        self._numbers = count()

    @contextmanager
    def call(self, judge: str) -> Iterator[PendingCall]:
        line = self._lines.setdefault(judge, _Line())
        number = next(self._numbers)
        line.pending[number] = self._clock()
        try:
            yield PendingCall(line, self._clock)
        finally:
            del line.pending[number]

    def current(self) -> tuple[Outage, ...]:
        now = self._clock()
        silent = [(judge, line, _silent_s(line, now)) for judge, line in self._lines.items()]
        return tuple(
            Outage(judge, line.reason, seconds, len(line.pending))
            for judge, line, seconds in silent
            if seconds >= NOTICED_AFTER_S
        )


def _silent_s(line: _Line, now: float) -> float:
    return now - max(min(line.pending.values()), line.answered_at) if line.pending else 0.0
