"""Identical calls are made once: while one is in flight the others wait for it, and its result is kept for a while."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Hashable
from typing import Generic, TypeVar

Result = TypeVar("Result")


class SharedCalls(Generic[Result]):
    """Runs a call per key at most once at a time, and remembers results worth keeping.

    Args:
        capacity: results kept, least recently used ones go first; 0 keeps none.
        keep: whether a result is worth keeping; a failure is not, the next call may succeed.
    """

    def __init__(self, capacity: int, keep: Callable[[Result], bool]) -> None:
        self._capacity = capacity
        self._keep = keep
        self._kept: OrderedDict[Hashable, Result] = OrderedDict()
        self._in_flight: dict[Hashable, asyncio.Task[Result]] = {}
        self._waiting: dict[Hashable, int] = {}
        self.saved = 0
        """Calls answered without a request of their own."""

    async def get(self, key: Hashable, call: Callable[[], Awaitable[Result]]) -> tuple[Result, bool]:
        """The result for this key and whether it was saved; the request is cancelled when nobody waits any more."""
        if key in self._kept:
            self._kept.move_to_end(key)
            self.saved += 1
            return self._kept[key], True
        saved = key in self._in_flight
        if not saved:
            self._in_flight[key] = asyncio.ensure_future(self._run(key, call))
        self.saved += saved
        task = self._in_flight[key]
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            return await asyncio.shield(task), saved
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                if not task.done():
                    task.cancel()
                    # A caller that comes now must start anew, not join a task that is being cancelled.
                    if self._in_flight.get(key) is task:
                        del self._in_flight[key]

    async def _run(self, key: Hashable, call: Callable[[], Awaitable[Result]]) -> Result:
        mine = asyncio.current_task()
        try:
            result = await call()
        finally:
            if self._in_flight.get(key) is mine:
                del self._in_flight[key]
        if self._capacity and self._keep(result):
            self._kept[key] = result
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return result
