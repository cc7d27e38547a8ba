"""A proxy between a job and a real judge server that spoils answers on request. It runs in a thread of the tests."""

from __future__ import annotations

import asyncio
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from typing import Any

import aiohttp
from aiohttp import web

GARBAGE: tuple[Any, ...] = (
    {"choices": []},
    {"choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": None}}]},
    {
        "choices": [
            {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "bananas, 0 or 1"}}
        ]
    },
    {"choices": [{"index": 0, "finish_reason": "length", "message": {"role": "assistant", "content": "CoT: 1\nCoT"}}]},
    "<html>proxy error</html>",
)
DRIP_S = 0.5


class FaultProxy:
    """Forwards to one server; `mode` says what happens to the answers from now on, `injected` counts what did.

    clean: nothing. garbage: 3 of 10 answers are nonsense (status 200). busy: 4 of 5 requests get 429 and Retry-After.
    reset: every second connection is cut. drip: every third body comes a byte at a time, slower than any timeout.
    """

    def __init__(self, upstream: str) -> None:
        self.mode = "clean"
        self.injected: Counter[str] = Counter()
        self.requests = 0
        self._upstream = upstream
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._run, name="fault proxy", daemon=True)
        self._thread.start()
        self.base_url: str = asyncio.run_coroutine_threadsafe(self._start(), self._loop).result(30)

    def stop(self) -> None:
        asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(30)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join()

    def _run(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    async def _start(self) -> str:
        self._session = aiohttp.ClientSession()
        app = web.Application(client_max_size=2**24)
        app.router.add_route("*", "/{path:.*}", self._answer)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1, handler_cancellation=True)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        return f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"

    async def _end(self) -> None:
        await self._runner.cleanup()
        await self._session.close()

    async def _answer(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        if request.method == "POST":
            self.requests += 1
            spoil = self._spoiler()
            if spoil is not None:
                self.injected[self.mode] += 1
                return await spoil(request)
        headers = {"Content-Type": request.headers.get("Content-Type", "application/json")}
        async with self._session.request(
            request.method, f"{self._upstream}{request.path}", data=body, headers=headers
        ) as r:
            return web.Response(body=await r.read(), status=r.status, content_type=r.content_type)

    def _spoiler(self) -> Callable[[web.Request], Awaitable[web.StreamResponse]] | None:
        n = self.requests
        hit = {"garbage": n % 10 in (1, 4, 7), "busy": n % 5 != 0, "reset": n % 2 == 0, "drip": n % 3 == 0}
        return getattr(self, f"_{self.mode}") if hit.get(self.mode) else None

    async def _garbage(self, request: web.Request) -> web.StreamResponse:
        body = GARBAGE[self.injected["garbage"] % len(GARBAGE)]
        return web.Response(text=body) if isinstance(body, str) else web.json_response(body)

    async def _busy(self, request: web.Request) -> web.StreamResponse:
        return web.json_response({"error": {"message": "busy"}}, status=429, headers={"Retry-After": "1"})

    async def _reset(self, request: web.Request) -> web.StreamResponse:
        assert request.transport is not None
        request.transport.abort()
        return web.Response()

    async def _drip(self, request: web.Request) -> web.StreamResponse:
        response = web.StreamResponse(headers={"Content-Type": "application/json"})
        await response.prepare(request)
        for byte in b'{"choices": [{"index": 0, "message": {"role": "assistant", "content": "0"}}]}':
            await response.write(bytes([byte]))
            await asyncio.sleep(DRIP_S)
        return response
