"""A local OpenAI-compatible server that misbehaves on request, and settings that point at it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from types import TracebackType
from typing import Any

import pytest
from aiohttp import web

from foundation.settings.judges import JudgeSettings

Answer = Callable[[dict[str, Any]], Any]


def completion(text: str | None, *, finish_reason: str = "stop", logprobs: Any = None) -> dict[str, Any]:
    """The body of a chat completion with one choice."""
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "message": message, "finish_reason": finish_reason, "logprobs": logprobs}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "judge", "choices": [choice]}


class FakeServer:
    """Answers the n-th request with the n-th step of its script, the last step again and again.

    A step is a string (the text of a completion), None (null content), a dict (the whole body), an int (a status), a
    float (seconds of silence), ``web.Response``, or a function from the request body to one of these.
    """

    def __init__(self, *script: Any) -> None:
        self.script = list(script)
        self.requests: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.cancelled = 0
        self.in_flight = 0
        self.most_in_flight = 0

    async def __aenter__(self) -> FakeServer:
        app = web.Application(client_max_size=2**24)
        app.router.add_post("/v1/chat/completions", self._answer)
        self._runner = web.AppRunner(app, handler_cancellation=True, shutdown_timeout=0.1)
        await self._runner.setup()
        site = web.TCPSite(self._runner, "127.0.0.1", 0)
        await site.start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._runner.cleanup()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.json()
        step = self.script[min(len(self.requests), len(self.script) - 1)]
        self.requests.append(body)
        self.headers.append(dict(request.headers))
        self.in_flight += 1
        self.most_in_flight = max(self.most_in_flight, self.in_flight)
        try:
            if callable(step):
                step = step(body)
            if isinstance(step, float):
                await asyncio.sleep(step)
                step = "late"
            if isinstance(step, web.StreamResponse):
                return step
            if isinstance(step, int):
                return web.json_response({"error": {"message": f"status {step}"}}, status=step)
            return web.json_response(step if isinstance(step, dict) else completion(step))
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.in_flight -= 1


@pytest.fixture
def fake_server() -> type[FakeServer]:
    return FakeServer


@pytest.fixture
def make_completion() -> Callable[..., dict[str, Any]]:
    return completion


@pytest.fixture
def section() -> Callable[..., dict[str, Any]]:
    """A complete ``judges.<name>`` section; keyword arguments replace keys."""

    def build(**changes: Any) -> dict[str, Any]:
        return {
            "model": "judge",
            "base_urls": ["http://127.0.0.1:1/v1"],
            "serve": None,
            "prompt": "answer_equivalence",
            "language": "en",
            "api_key_env": None,
            "temperature": 0.0,
            "max_tokens": 64,
            "timeout_s": 1.0,
            "total_timeout_s": 8.0,
            "max_attempts": 3,
            "breaker": {"failures": 10, "cooldown_s": 30.0},
            "concurrency": 8,
        } | changes

    return build


@pytest.fixture
def settings(section: Callable[..., dict[str, Any]]) -> Callable[..., JudgeSettings]:
    """Settings with keys replaced."""
    return lambda **changes: JudgeSettings.from_config(section(**changes), "fallback")
