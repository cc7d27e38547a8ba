"""The client under load and lasting faults: storms, resets, servers that hang, die and come back, a thousand calls."""

from __future__ import annotations

import asyncio
import itertools
import socket
import struct
import time
import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from foundation.settings.judges import JudgeSettings
from reward_workers.judges.answer_judge import AnswerJudge
from reward_workers.judges.endpoint.client import JudgeClient, JudgeFailure, JudgeReply

MESSAGES = [{"role": "user", "content": "?"}]
MakeSettings = Callable[..., JudgeSettings]
Handler = Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any]


async def raw_server(handle: Handler) -> tuple[asyncio.Server, str]:
    """A server that speaks no HTTP of its own accord, and its root address."""
    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    return server, f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"


async def reset(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    """Ends a connection with RST, as a killed process or a firewall does."""
    linger = struct.pack("ii", 1, 0)
    writer.get_extra_info("socket").setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
    writer.close()


def busy(seconds: str) -> Callable[[dict[str, Any]], web.Response]:
    return lambda _: web.json_response({"error": {"message": "busy"}}, status=429, headers={"Retry-After": seconds})


def test_a_storm_of_429_is_waited_out_and_opens_no_breaker(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(*[busy("1")] * 20, "ok") as server:
            limits = {"concurrency": 20, "max_attempts": 3, "breaker": {"failures": 2, "cooldown_s": 60}}
            client = JudgeClient(settings(base_urls=[server.base_url], **limits))
            start = time.monotonic()
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(20)))
            assert all(isinstance(outcome, JudgeReply) and outcome.attempts == 2 for outcome in outcomes)
            assert time.monotonic() - start >= 1.0 and sum(outcome.openings for outcome in outcomes) == 0
            await client.aclose()

    asyncio.run(scenario())


def test_the_callers_of_a_storm_do_not_return_at_once(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        times: list[float] = []

        def answer(_: dict[str, Any]) -> Any:
            times.append(time.monotonic())
            return busy("0.5")({}) if len(times) <= 20 else "ok"

        async with fake_server(answer) as server:
            client = JudgeClient(settings(base_urls=[server.base_url], concurrency=20))
            await asyncio.gather(*(client.complete(MESSAGES) for _ in range(20)))
            again = sorted(times[20:])
            assert len(again) == 20 and again[-1] - again[0] > 0.05  # a random pause comes on top
            await client.aclose()

    asyncio.run(scenario())


def test_a_pause_beyond_the_deadline_is_not_begun(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(busy("60")) as server:
            client = JudgeClient(settings(base_urls=[server.base_url], total_timeout_s=5.0))
            outcome = await client.complete(MESSAGES)
            assert isinstance(outcome, JudgeFailure) and (outcome.reason, outcome.attempts) == ("http_429", 1)
            assert outcome.latency_s < 2.0
            await client.aclose()

    asyncio.run(scenario())


def test_a_server_that_asks_for_a_pause_is_avoided_meanwhile(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(busy("30")) as one, fake_server("ok") as two:
            client = JudgeClient(settings(base_urls=[one.base_url, two.base_url], total_timeout_s=60))
            call = asyncio.create_task(client.complete(MESSAGES))
            while not one.requests:
                await asyncio.sleep(0.01)
            others = [await client.complete(MESSAGES) for _ in range(5)]
            assert all(isinstance(outcome, JudgeReply) for outcome in others) and len(one.requests) == 1
            call.cancel()
            await client.aclose()

    asyncio.run(scenario())


def test_resets_are_retried_elsewhere(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        broken, url = await raw_server(reset)
        async with fake_server("ok") as server:
            client = JudgeClient(settings(base_urls=[url, server.base_url]))
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(40)))
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            assert len(server.requests) == 40
            await client.aclose()
        broken.close()

    asyncio.run(scenario())


def test_nothing_but_resets_is_a_connection_failure(settings: MakeSettings) -> None:
    async def scenario() -> None:
        broken, url = await raw_server(reset)
        client = JudgeClient(settings(base_urls=[url]))
        outcome = await client.complete(MESSAGES)
        assert isinstance(outcome, JudgeFailure) and (outcome.reason, outcome.attempts) == ("connection", 3)
        await client.aclose()
        broken.close()

    asyncio.run(scenario())


def test_traffic_leaves_a_server_that_hangs(fake_server: Any, settings: MakeSettings) -> None:
    """A stopped process accepts connections and answers nothing: its calls cost one timeout each, once."""

    async def scenario() -> None:
        async with fake_server(60.0) as frozen, fake_server("ok") as server:
            limits = {"timeout_s": 1.0, "breaker": {"failures": 3, "cooldown_s": 60}, "concurrency": 8}
            client = JudgeClient(settings(base_urls=[frozen.base_url, server.base_url], **limits))
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(100)))
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            assert sum(outcome.openings for outcome in outcomes) == 1
            assert len(frozen.requests) <= 8 + 3
            before = len(frozen.requests)
            later = [await client.complete(MESSAGES) for _ in range(10)]
            assert all(isinstance(outcome, JudgeReply) and outcome.attempts == 1 for outcome in later)
            assert len(frozen.requests) == before
            await client.aclose()

    asyncio.run(scenario())


def test_all_servers_die_and_come_back(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(503) as one, fake_server(503) as two:
            limits = {"breaker": {"failures": 3, "cooldown_s": 0.5}, "max_attempts": 3}
            client = JudgeClient(settings(base_urls=[one.base_url, two.base_url], **limits))
            first = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(30)))
            reasons = {outcome.reason for outcome in first if isinstance(outcome, JudgeFailure)}
            assert reasons == {"http_503", "breaker_open"} and not any(isinstance(o, JudgeReply) for o in first)
            requests = len(one.requests) + len(two.requests)
            assert requests <= 2 * 3 + 8  # those already in flight when the breakers opened
            outcome = await client.complete(MESSAGES)
            assert isinstance(outcome, JudgeFailure) and (outcome.reason, outcome.attempts) == ("breaker_open", 0)
            assert "503" in outcome.detail
            assert len(one.requests) + len(two.requests) == requests

            one.script = two.script = ["ok"]
            await asyncio.sleep(0.5)
            probes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(20)))
            assert sum(isinstance(outcome, JudgeReply) for outcome in probes) >= 2
            after = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(20)))
            assert all(isinstance(outcome, JudgeReply) for outcome in after)
            await client.aclose()

    asyncio.run(scenario())


def test_a_server_that_stays_dead_gets_one_probe_a_pause(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(503) as server:
            limits = {"breaker": {"failures": 1, "cooldown_s": 0.4}, "max_attempts": 1}
            client = JudgeClient(settings(base_urls=[server.base_url], **limits))
            await client.complete(MESSAGES)
            await asyncio.sleep(0.45)
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(50)))
            assert [outcome.reason for outcome in outcomes].count("http_503") == 1
            assert len(server.requests) == 2
            await client.aclose()

    asyncio.run(scenario())


def test_a_probe_that_is_cancelled_lets_another_through(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(503, 30.0, "ok") as server:
            limits = {"breaker": {"failures": 1, "cooldown_s": 0.2}, "max_attempts": 1, "timeout_s": 5.0}
            client = JudgeClient(settings(base_urls=[server.base_url], **limits))
            await client.complete(MESSAGES)
            await asyncio.sleep(0.25)
            probe = asyncio.create_task(client.complete(MESSAGES))
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
            probe.cancel()
            with pytest.raises(asyncio.CancelledError):
                await probe
            assert isinstance(await client.complete(MESSAGES), JudgeReply)
            await client.aclose()

    asyncio.run(scenario())


def test_nobody_waits_behind_a_probe_that_hangs(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(503, 30.0) as server:
            limits = {
                "breaker": {"failures": 1, "cooldown_s": 0.2},
                "max_attempts": 1,
                "timeout_s": 5.0,
                "concurrency": 1,
            }
            client = JudgeClient(settings(base_urls=[server.base_url], **limits))
            await client.complete(MESSAGES)
            await asyncio.sleep(0.25)
            probe = asyncio.create_task(client.complete(MESSAGES))
            while len(server.requests) < 2:
                await asyncio.sleep(0.01)
            outcome = await asyncio.wait_for(client.complete(MESSAGES), 1.0)
            assert isinstance(outcome, JudgeFailure) and outcome.reason == "breaker_open"
            probe.cancel()
            await client.aclose()

    asyncio.run(scenario())


def test_a_refused_request_says_that_the_server_lives(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(400) as server:
            client = JudgeClient(settings(base_urls=[server.base_url], breaker={"failures": 1, "cooldown_s": 60}))
            outcomes = [await client.complete(MESSAGES) for _ in range(3)]
            assert [outcome.reason for outcome in outcomes] == ["http_400"] * 3
            await client.aclose()

    asyncio.run(scenario())


def test_thirty_percent_garbage_is_asked_again_or_unscored_and_never_a_verdict(
    fake_server: Any, settings: MakeSettings
) -> None:
    garbage = ["", "¯\\_(ツ)_/¯", '{"a":' * 50, "CORRECT or INCORRECT", None, web.Response(text="<html>")]
    steps: list[Any] = []
    kinds = itertools.cycle(garbage)
    for index in range(400):
        steps.append(next(kinds) if index % 10 < 3 else "INCORRECT")

    async def scenario() -> None:
        # A response object can be sent once only, so that each request builds its own.
        def step(index: int) -> Any:
            value = steps[index]
            return (lambda _: web.Response(text="<html>")) if isinstance(value, web.Response) else value

        async with fake_server(*[step(index) for index in range(400)]) as server:
            judge = AnswerJudge(settings(base_urls=[server.base_url]))
            verdicts = await asyncio.gather(*(judge.judge("q", "2", f"answer {n}") for n in range(200)))
            assert {verdict.value for verdict in verdicts} <= {0, None}
            unscored = [verdict for verdict in verdicts if verdict.value is None]
            assert len(unscored) < 60  # fewer than the 30 % that the first answers were: one more question each
            assert all(verdict.reason.startswith("judge_") for verdict in unscored)
            await judge.aclose()

    asyncio.run(scenario())


def test_a_thousand_calls_keep_the_bound(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(lambda _: "ok") as server:
            client = JudgeClient(
                settings(base_urls=[server.base_url], concurrency=16, timeout_s=30, total_timeout_s=60)
            )
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(1000)))
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            assert len(server.requests) == 1000 and server.most_in_flight <= 16
            await client.aclose()

    asyncio.run(scenario())


def test_waiting_calls_hold_their_messages_and_little_else(settings: MakeSettings) -> None:
    async def scenario() -> None:
        async def silent(reader: asyncio.StreamReader, _: asyncio.StreamWriter) -> None:
            await reader.read(-1)

        server, url = await raw_server(silent)
        client = JudgeClient(settings(base_urls=[url], concurrency=4, timeout_s=60, total_timeout_s=60))
        tracemalloc.start()
        calls = [asyncio.create_task(client.complete(MESSAGES)) for _ in range(5000)]
        await asyncio.sleep(0.5)
        held, _ = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        assert held / 5000 < 8_000, held  # bytes a call
        for call in calls:
            call.cancel()
        await asyncio.gather(*calls, return_exceptions=True)
        await client.aclose()
        server.close()

    asyncio.run(scenario())


def test_cancelled_calls_give_their_connections_back(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(30.0) as server:
            limits = {"concurrency": 4, "timeout_s": 60, "total_timeout_s": 60}
            client = JudgeClient(settings(base_urls=[server.base_url], **limits))
            for _ in range(30):
                calls = [asyncio.create_task(client.complete(MESSAGES)) for _ in range(8)]
                await asyncio.sleep(0.02)
                for call in calls:
                    call.cancel()
                await asyncio.gather(*calls, return_exceptions=True)
            server.script = ["ok"]
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(40)))
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            await client.aclose()

    asyncio.run(scenario())


def test_a_judge_that_nobody_waits_for_is_told(fake_server: Any, settings: MakeSettings) -> None:
    """The server sees the disconnect, through the judge and its shared calls."""

    async def scenario() -> None:
        async with fake_server(30.0) as server:
            judge = AnswerJudge(settings(base_urls=[server.base_url], timeout_s=60, total_timeout_s=60))
            callers = [asyncio.create_task(judge.judge("q", "2", "two")) for _ in range(3)]
            while not server.requests:
                await asyncio.sleep(0.01)
            for caller in callers:
                caller.cancel()
            await asyncio.gather(*callers, return_exceptions=True)
            for _ in range(300):
                if server.cancelled:
                    break
                await asyncio.sleep(0.01)
            assert (len(server.requests), server.cancelled, server.in_flight) == (1, 1, 0)
            await judge.aclose()

    asyncio.run(scenario())
