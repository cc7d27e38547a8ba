"""Identical questions are asked once: one in flight is waited for, and its result is kept in memory and on disk."""

from __future__ import annotations

import asyncio
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Generic, Protocol, TypeVar

from foundation.runs.judge_call import AnsweredBy

Result = TypeVar("Result")


class Shelf(Protocol[Result]):
    """Results that outlive the process; neither method raises for what the disk does."""

    @property
    def is_off(self) -> bool: ...

    async def read(self, key: str) -> Result | None: ...

    async def write(self, key: str, result: Result) -> None: ...


class SharedCalls(Generic[Result]):
    """Runs a call per key at most once at a time, and remembers results worth keeping.

    Args:
        capacity: results kept in memory, least recently used ones go first; 0 keeps none.
        keep: whether a result is worth keeping; a failure is not, the next call may succeed.
        shelf: where they are kept beyond this process; None keeps them in memory only.
    """

    def __init__(self, capacity: int, keep: Callable[[Result], bool], shelf: Shelf[Result] | None = None) -> None:
        self._capacity = capacity
        self._keep = keep
        self._shelf = shelf
        self._kept: OrderedDict[str, Result] = OrderedDict()
        self._in_flight: dict[str, asyncio.Task[tuple[Result, AnsweredBy]]] = {}
        self._waiting: dict[str, int] = {}

    @property
    def in_memory(self) -> int:
        """Results kept in memory now."""
        return len(self._kept)

    @property
    def shelf_is_off(self) -> bool:
        """Whether there is a shelf and it failed."""
        return self._shelf is not None and self._shelf.is_off

    async def get(self, key: str, call: Callable[[], Awaitable[Result]]) -> tuple[Result, AnsweredBy]:
        """The result for this key and who gave it; the request is cancelled when nobody waits any more.

        Args:
            key: short and of fixed length, such as a hash: it is held as long as its result.
            call: asks; the call of another caller may run in its place.
        """
        if key in self._kept:
            self._kept.move_to_end(key)
            return self._kept[key], "memory"
        joined = key in self._in_flight
        if not joined:
            self._in_flight[key] = asyncio.ensure_future(self._run(key, call))
        task = self._in_flight[key]
        self._waiting[key] = self._waiting.get(key, 0) + 1
        try:
            result, answered_by = await asyncio.shield(task)
            return result, "shared" if joined else answered_by
        finally:
            self._waiting[key] -= 1
            if not self._waiting[key]:
                del self._waiting[key]
                if not task.done():
                    task.cancel()
                    # A caller that comes now must start anew, not join a task that is being cancelled.
                    if self._in_flight.get(key) is task:
                        del self._in_flight[key]

    async def _run(self, key: str, call: Callable[[], Awaitable[Result]]) -> tuple[Result, AnsweredBy]:
        mine = asyncio.current_task()
        answered_by: AnsweredBy = "disk"
        try:
            result = await self._shelf.read(key) if self._shelf is not None else None
            if result is None:
                answered_by, result = "server", await call()
                if self._shelf is not None and self._keep(result):
                    await self._shelf.write(key, result)
        finally:
            if self._in_flight.get(key) is mine:
                del self._in_flight[key]
        if self._capacity and self._keep(result):
            self._kept[key] = result
            if len(self._kept) > self._capacity:
                self._kept.popitem(last=False)
        return result, answered_by
