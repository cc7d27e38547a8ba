"""A circuit breaker: a server that keeps failing gets no calls for a while, then one to see whether it is back.

Pure: no I/O, no tasks, and the clock is an argument. Why not a library: docs/decisions.md.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Literal

from foundation.settings.judges import BreakerSettings

State = Literal["closed", "open", "half_open"]


class Breaker:
    """closed -> open after `failures` in a row -> half_open after `cooldown_s`: one probe -> closed or open again.

    Every :meth:`begin` is followed by exactly one of :meth:`succeeded`, :meth:`failed` and :meth:`abandoned`; the last
    two take the ticket that it gave. Calls that began before the breaker opened and fail afterwards say nothing new:
    they neither prolong the pause nor count as the probe. One that succeeds then does: the server has just answered.

    >>> breaker = Breaker(BreakerSettings(failures=1, cooldown_s=5.0), clock=lambda: 0.0)
    >>> breaker.failed(breaker.begin()), breaker.state, breaker.admits()
    (True, 'open', False)
    """

    def __init__(self, settings: BreakerSettings, clock: Callable[[], float] = time.monotonic) -> None:
        self._settings = settings
        self._clock = clock
        self._in_a_row = 0
        self._ends: float | None = None  # when the pause ends; None while closed
        self._probing = False
        self._openings = 0  # also the ticket: a call belongs to the time between two openings

    @property
    def state(self) -> State:
        if self._ends is None:
            return "closed"
        return "open" if self._clock() < self._ends else "half_open"

    @property
    def failures_in_a_row(self) -> int:
        return self._in_a_row

    def admits(self) -> bool:
        """Whether a call may begin now."""
        return self._ends is None or (self._clock() >= self._ends and not self._probing)

    def begin(self) -> int:
        """Take part: the ticket to hand back with the outcome. Only after :meth:`admits` said yes."""
        assert self.admits(), "a call began at a breaker that admits none"
        self._probing = self._ends is not None
        return self._openings

    def succeeded(self) -> None:
        """The server answered, whenever the call began."""
        self._in_a_row = 0
        self._ends = None
        self._probing = False

    def failed(self, ticket: int) -> bool:
        """The server did not answer as it should; returns whether the breaker opened because of it."""
        if ticket != self._openings:
            return False
        self._in_a_row += 1
        if self._ends is None and self._in_a_row < self._settings.failures:
            return False
        self._openings += 1
        self._probing = False
        self._ends = self._clock() + self._settings.cooldown_s
        return True

    def abandoned(self, ticket: int) -> None:
        """The call was given up without an outcome; if it was the probe, another may be."""
        if ticket == self._openings:
            self._probing = False
