"""Identical calls: one request, one result, and nothing kept of a failure."""

from __future__ import annotations

import asyncio

import pytest

from reward_workers.judges.endpoint.sharing import SharedCalls


class Calls:
    """Counts the calls that are really made."""

    def __init__(self, result: int = 7) -> None:
        self.made = 0
        self.cancelled = 0
        self.result = result

    async def __call__(self) -> int:
        self.made += 1
        try:
            await asyncio.sleep(0.05)
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        return self.result


def test_calls_in_flight_and_later_ones_share_a_result() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda _: True), Calls()
        outcomes = await asyncio.gather(*(shared.get("a", calls) for _ in range(5)))
        outcomes.append(await shared.get("a", calls))
        assert [result for result, _ in outcomes] == [7] * 6
        assert [source for _, source in outcomes] == ["server", "shared", "shared", "shared", "shared", "memory"]
        assert calls.made == 1
        await shared.get("b", calls)
        assert calls.made == 2

    asyncio.run(scenario())


def test_what_is_not_worth_keeping_is_asked_for_again() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda result: result > 0), Calls(result=0)
        assert await shared.get("a", calls) == (0, "server")
        assert await shared.get("a", calls) == (0, "server")
        assert calls.made == 2

    asyncio.run(scenario())


def test_the_memory_is_bounded() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](2, keep=lambda _: True), Calls()
        for key in "abc":
            await shared.get(key, calls)
        assert [(await shared.get(key, calls))[1] for key in "cba"] == ["memory", "memory", "server"]

    asyncio.run(scenario())


def test_one_cancelled_caller_does_not_disturb_the_others() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda _: True), Calls()
        first, second = (asyncio.create_task(shared.get("a", calls)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await second == (7, "shared")
        assert calls.made == 1 and calls.cancelled == 0

    asyncio.run(scenario())


def test_the_request_ends_when_nobody_waits_and_the_next_caller_starts_anew() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda _: True), Calls()
        only = asyncio.create_task(shared.get("a", calls))
        await asyncio.sleep(0.01)
        only.cancel()
        with pytest.raises(asyncio.CancelledError):
            await only
        assert await shared.get("a", calls) == (7, "server")
        assert calls.made == 2 and calls.cancelled == 1

    asyncio.run(scenario())


def test_an_exception_reaches_every_caller_and_is_not_kept() -> None:
    async def scenario() -> None:
        shared = SharedCalls[int](8, keep=lambda _: True)

        async def broken() -> int:
            await asyncio.sleep(0.01)
            raise KeyError("a bug")

        outcomes = await asyncio.gather(*(shared.get("a", broken) for _ in range(2)), return_exceptions=True)
        assert all(isinstance(outcome, KeyError) for outcome in outcomes)
        assert (await shared.get("a", Calls()))[0] == 7

    asyncio.run(scenario())


class ShelfOfDict:
    """A shelf in memory, with the same promises."""

    is_off = False

    def __init__(self) -> None:
        self.rows: dict[str, int] = {}

    async def read(self, key: str) -> int | None:
        return self.rows.get(key)

    async def write(self, key: str, result: int) -> None:
        self.rows[key] = result


def test_what_is_on_the_shelf_is_not_asked_for() -> None:
    async def scenario() -> None:
        shelf, calls = ShelfOfDict(), Calls()
        first = SharedCalls[int](8, keep=lambda _: True, shelf=shelf)
        assert await first.get("a", calls) == (7, "server")
        second = SharedCalls[int](8, keep=lambda _: True, shelf=shelf)  # after a restart
        both = await asyncio.gather(second.get("a", calls), second.get("a", calls))
        assert sorted(source for _, source in both) == ["disk", "shared"]
        assert await second.get("a", calls) == (7, "memory")
        assert calls.made == 1

    asyncio.run(scenario())


def test_what_is_not_worth_keeping_is_not_put_on_the_shelf() -> None:
    async def scenario() -> None:
        shelf = ShelfOfDict()
        shared = SharedCalls[int](8, keep=lambda result: result > 0, shelf=shelf)
        await shared.get("a", Calls(result=0))
        assert shelf.rows == {}
        await shared.get("a", Calls(result=3))
        assert shelf.rows == {"a": 3}

    asyncio.run(scenario())
