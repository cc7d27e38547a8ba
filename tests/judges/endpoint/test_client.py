"""The judge client against servers that fail: every fault ends in a failure with a reason, none in an exception."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable
from typing import Any

import pytest
from aiohttp import web

from foundation.settings.judges import JudgeSettings
from reward_workers.judges.endpoint.client import JudgeClient, JudgeFailure, JudgeReply

MESSAGES = [{"role": "user", "content": "?"}]
MakeSettings = Callable[..., JudgeSettings]


async def ask(settings: JudgeSettings, **kwargs: Any) -> JudgeReply | JudgeFailure:
    client = JudgeClient(settings)
    try:
        return await client.complete(MESSAGES, **kwargs)
    finally:
        await client.aclose()


def test_a_reply_and_the_request_that_asked_for_it(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server("CORRECT") as server:
            outcome = await ask(settings(base_urls=[server.base_url]), logprobs=True, extra_body={"x": 1})
            assert isinstance(outcome, JudgeReply)
            assert (outcome.text, outcome.finish_reason, outcome.attempts) == ("CORRECT", "stop", 1)
            request = server.requests[0]
            assert request["model"] == "judge" and request["messages"] == MESSAGES
            assert request["temperature"] == 0.0 and request["max_tokens"] == 64
            assert request["logprobs"] is True and request["x"] == 1
            assert server.headers[0]["Authorization"] == "Bearer EMPTY"

    asyncio.run(scenario())


@pytest.mark.parametrize("first", [500, 503, 429, 408, 3.0], ids=str)
def test_passing_faults_are_retried(fake_server: Any, settings: MakeSettings, first: int | float) -> None:
    async def scenario() -> None:
        async with fake_server(first, "ok") as server:
            outcome = await ask(settings(base_urls=[server.base_url]))
            assert isinstance(outcome, JudgeReply) and outcome.text == "ok" and outcome.attempts == 2

    asyncio.run(scenario())


@pytest.mark.parametrize("status", [400, 401, 403, 404, 422])
def test_other_client_errors_are_not_retried(fake_server: Any, settings: MakeSettings, status: int) -> None:
    async def scenario() -> None:
        async with fake_server(status) as server:
            outcome = await ask(settings(base_urls=[server.base_url]))
            assert isinstance(outcome, JudgeFailure) and outcome.reason == f"http_{status}"
            assert len(server.requests) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("step", "reason", "requests"),
    [
        (500, "http_500", 3),
        (3.0, "timeout", 3),
        (None, "null", 1),
        ({"choices": []}, "empty_choices", 1),
        ({"choices": None}, "bad_body", 1),
        ({"nothing": 1}, "bad_body", 1),
        ({"choices": [{"index": 0}]}, "null", 1),
        ({"choices": ["text"]}, "null", 1),
        ({"choices": [{"index": 0, "message": {"content": None, "refusal": "no"}}]}, "refusal", 1),
        ({"choices": [{"index": 0, "message": {"content": ["CORRECT"]}}]}, "null", 1),
    ],
    ids=str,
)
def test_lasting_faults_end_in_a_failure(
    fake_server: Any, settings: MakeSettings, step: Any, reason: str, requests: int
) -> None:
    async def scenario() -> None:
        async with fake_server(step) as server:
            outcome = await ask(settings(base_urls=[server.base_url]))
            assert isinstance(outcome, JudgeFailure) and outcome.reason == reason, outcome
            assert len(server.requests) == requests == outcome.attempts

    asyncio.run(scenario())


@pytest.mark.parametrize(
    ("body", "headers"),
    [
        (b"<html>{", {"Content-Type": "application/json"}),
        (b"<html>{", {"Content-Type": "text/html"}),
        (b"", {"Content-Type": "application/json"}),
        (b"[]", {"Content-Type": "application/json"}),
        (b'"CORRECT"', {"Content-Type": "application/json"}),
        (b"1", {"Content-Type": "application/json"}),
        (b"null", {"Content-Type": "application/json"}),
        (b"[" * 100_000, {"Content-Type": "application/json"}),
        (b"\xff\xfe\x00", {"Content-Type": "application/json"}),
        (b'{"choices": {"0": 1}}', {"Content-Type": "application/json"}),
    ],
    ids=lambda value: repr(value)[:24],
)
def test_a_body_that_is_no_completion_is_a_failure(
    fake_server: Any, settings: MakeSettings, body: bytes, headers: dict[str, str]
) -> None:
    async def scenario() -> None:
        def broken(_: dict[str, Any]) -> web.Response:
            return web.Response(body=body, headers=headers)

        async with fake_server(broken) as server:
            outcome = await ask(settings(base_urls=[server.base_url]))
            assert isinstance(outcome, JudgeFailure) and outcome.reason == "bad_body", outcome

    asyncio.run(scenario())


def test_retry_after_is_waited_for(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        def busy(_: dict[str, Any]) -> web.Response:
            return web.json_response({"error": {"message": "busy"}}, status=429, headers={"Retry-After": "1"})

        async with fake_server(busy, "ok") as server:
            start = time.monotonic()
            outcome = await ask(settings(base_urls=[server.base_url]))
            assert isinstance(outcome, JudgeReply)
            assert time.monotonic() - start >= 1.0

    asyncio.run(scenario())


def test_the_total_deadline_ends_the_attempts(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(5.0) as server:
            start = time.monotonic()
            limits = {"timeout_s": 0.4, "total_timeout_s": 0.6, "max_attempts": 100}
            outcome = await ask(settings(base_urls=[server.base_url], **limits))
            assert isinstance(outcome, JudgeFailure) and outcome.reason == "deadline"
            assert time.monotonic() - start < 2.0

    asyncio.run(scenario())


def test_a_body_that_drips_does_not_outlast_the_attempt(settings: MakeSettings) -> None:
    async def scenario() -> None:
        hung_up = asyncio.Event()

        async def drip(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            writer.write(b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 1000\r\n\r\n")
            try:
                while True:
                    writer.write(b" ")
                    await writer.drain()
                    await asyncio.sleep(0.1)
            except ConnectionError:
                writer.close()
                hung_up.set()

        server = await asyncio.start_server(drip, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        outcome = await ask(settings(base_urls=[url], max_attempts=1))
        assert isinstance(outcome, JudgeFailure) and outcome.reason == "timeout"
        assert outcome.latency_s < 3.0
        await asyncio.wait_for(hung_up.wait(), 5.0)  # the server learns that nobody reads any more
        server.close()

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "said",
    [
        b"",
        b"no HTTP at all\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 50\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nX: " + b"x" * 100_000 + b"\r\n\r\n",
    ],
    ids=lambda said: repr(said)[:60],
)
def test_an_answer_that_breaks_off_or_is_no_http_is_a_failure(settings: MakeSettings, said: bytes) -> None:
    async def scenario() -> None:
        async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            await reader.readuntil(b"\r\n\r\n")
            writer.write(said)
            await writer.drain()
            writer.close()

        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        outcome = await ask(settings(base_urls=[url], max_attempts=2, timeout_s=5.0))
        assert isinstance(outcome, JudgeFailure), outcome
        assert (outcome.reason, outcome.attempts) in (("connection", 2), ("bad_body", 2)), outcome
        server.close()

    asyncio.run(scenario())


def test_a_dead_replica_costs_one_attempt_and_is_then_avoided(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server("ok") as server:
            client = JudgeClient(settings(base_urls=["http://127.0.0.1:1/v1", server.base_url]))
            outcomes = [await client.complete(MESSAGES) for _ in range(6)]
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            assert len(server.requests) == 6
            assert sum(outcome.attempts for outcome in outcomes) <= 8
            await client.aclose()

    asyncio.run(scenario())


def test_nobody_answers(settings: MakeSettings) -> None:
    outcome = asyncio.run(ask(settings()))
    assert isinstance(outcome, JudgeFailure) and outcome.reason == "connection" and outcome.attempts == 3


def test_calls_go_to_the_least_busy_replica(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(0.2) as one, fake_server(0.2) as two:
            client = JudgeClient(settings(base_urls=[one.base_url, two.base_url]))
            await asyncio.gather(*(client.complete(MESSAGES) for _ in range(8)))
            assert len(one.requests) == len(two.requests) == 4
            await client.aclose()

    asyncio.run(scenario())


def test_concurrency_is_bounded(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(0.05) as server:
            client = JudgeClient(settings(base_urls=[server.base_url], concurrency=3))
            outcomes = await asyncio.gather(*(client.complete(MESSAGES) for _ in range(12)))
            assert server.most_in_flight == 3
            assert all(isinstance(outcome, JudgeReply) for outcome in outcomes)
            await client.aclose()

    asyncio.run(scenario())


def test_cancellation_propagates_and_frees_the_server(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(30.0) as server:
            client = JudgeClient(settings(base_urls=[server.base_url], timeout_s=60, total_timeout_s=60, concurrency=1))
            call = asyncio.create_task(client.complete(MESSAGES))
            while not server.requests:
                await asyncio.sleep(0.01)
            call.cancel()
            with pytest.raises(asyncio.CancelledError):
                await call
            for _ in range(200):
                if server.cancelled:
                    break
                await asyncio.sleep(0.01)
            assert server.cancelled == 1
            server.script = ["ok"]
            assert isinstance(await client.complete(MESSAGES), JudgeReply)  # the slot is free again
            await client.aclose()

    asyncio.run(scenario())


def test_other_addresses_at_run_time(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server("old") as old, fake_server("new") as new:
            client = JudgeClient(settings(base_urls=[old.base_url]))
            client.set_base_urls([new.base_url + "/"])
            outcome = await client.complete(MESSAGES)
            assert isinstance(outcome, JudgeReply) and outcome.text == "new" and not old.requests
            await client.aclose()

    asyncio.run(scenario())


def test_the_key_comes_from_the_environment_and_stays_out_of_failures(
    fake_server: Any, settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("JUDGE_KEY", "s3cret")

    async def scenario() -> None:
        async with fake_server(401) as server:
            outcome = await ask(settings(base_urls=[server.base_url], api_key_env="JUDGE_KEY"))
            assert server.headers[0]["Authorization"] == "Bearer s3cret"
            assert "s3cret" not in repr(outcome)

    asyncio.run(scenario())
    monkeypatch.delenv("JUDGE_KEY")
    with pytest.raises(ValueError, match="JUDGE_KEY"):
        JudgeClient(settings(api_key_env="JUDGE_KEY"))


def test_the_proxy_of_the_environment_is_used(
    fake_server: Any, settings: MakeSettings, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def scenario() -> None:
        async with fake_server("ok") as proxy:
            monkeypatch.setenv("http_proxy", proxy.base_url.removesuffix("/v1"))
            monkeypatch.setenv("no_proxy", "inside.invalid")
            outside = await ask(settings(base_urls=["http://outside.invalid/v1"]))
            assert isinstance(outside, JudgeReply) and proxy.headers[0]["Host"] == "outside.invalid"
            inside = await ask(settings(base_urls=["http://inside.invalid/v1"], max_attempts=1))
            assert isinstance(inside, JudgeFailure) and inside.reason == "connection" and len(proxy.requests) == 1

    asyncio.run(scenario())
