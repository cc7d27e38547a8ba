"""Waiting for servers that keep failing: an evaluation has time, and an answer that is not asked for is lost."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import TypeVar

Answer = TypeVar("Answer")

NOBODY = "breaker_open"
"""Reason of a call for which no server could be asked: each of them keeps failing."""

_PAUSE_S = 2.0


async def patiently(ask: Callable[[], Awaitable[Answer]], reason: Callable[[Answer], str], wait_s: float) -> Answer:
    """The answer; asked for again while every server's circuit breaker is open, for `wait_s` seconds at most.

    Args:
        reason: why an answer is none, empty where it is one.
    """
    deadline = time.monotonic() + wait_s
    while True:
        answer = await ask()
        if not reason(answer).endswith(NOBODY) or time.monotonic() > deadline:
            return answer
        await asyncio.sleep(_PAUSE_S)
