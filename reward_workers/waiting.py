"""Asking a judge for one rollout: once, and again while nobody answers at all, until the rollout's time is over."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from typing import TypeVar

from foundation.runs.judge_call import is_unreachable
from reward_workers.judges.outage import Outages

RETRY_PAUSE_S = 5.0

Answer = TypeVar("Answer")


@dataclass(frozen=True, slots=True)
class JudgeWait:
    """The patience of one rollout with its judges.

    Attributes:
        deadline: when it ends, in time.monotonic seconds; shared by all judges of the rollout.
        outages: what is seen of silent judges.
    """

    deadline: float
    outages: Outages

    async def ask(
        self, judge: str, ask: Callable[[], Awaitable[Answer]], failure: Callable[[Answer], str | None]
    ) -> Answer:
        """The judge's answer, or its last failure.

        Args:
            judge: its key in the configuration.
            failure: why an answer is none; None for an answer. A failure that waiting cannot cure is returned at once.
        """
        with self.outages.call(judge) as call:
            answer = await ask()
            while (reason := failure(answer)) is not None and is_unreachable(reason):
                call.failed(reason)
                if time.monotonic() + RETRY_PAUSE_S > self.deadline:
                    return answer
                await asyncio.sleep(RETRY_PAUSE_S)
                with contextlib.suppress(TimeoutError):  # the last answer then counts
                    async with asyncio.timeout(self.deadline - time.monotonic()):
                        answer = await ask()
            call.answered()
            return answer
