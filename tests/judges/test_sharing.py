"""Identical calls: one request, one result, and nothing kept of a failure."""

from __future__ import annotations

import asyncio

import pytest

from reward_workers.judges.sharing import SharedCalls


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
        assert sorted(saved for _, saved in outcomes) == [False] + [True] * 5
        assert calls.made == 1 and shared.saved == 5
        await shared.get("b", calls)
        assert calls.made == 2

    asyncio.run(scenario())


def test_what_is_not_worth_keeping_is_asked_for_again() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda result: result > 0), Calls(result=0)
        assert await shared.get("a", calls) == (0, False)
        assert await shared.get("a", calls) == (0, False)
        assert calls.made == 2

    asyncio.run(scenario())


def test_the_memory_is_bounded() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](2, keep=lambda _: True), Calls()
        for key in "abc":
            await shared.get(key, calls)
        assert (await shared.get("c", calls))[1] and (await shared.get("b", calls))[1]
        assert not (await shared.get("a", calls))[1]

    asyncio.run(scenario())


def test_one_cancelled_caller_does_not_disturb_the_others() -> None:
    async def scenario() -> None:
        shared, calls = SharedCalls[int](8, keep=lambda _: True), Calls()
        first, second = (asyncio.create_task(shared.get("a", calls)) for _ in range(2))
        await asyncio.sleep(0.01)
        first.cancel()
        assert await second == (7, True)
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
        assert await shared.get("a", calls) == (7, False)
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
