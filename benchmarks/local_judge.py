"""A judge server for measurements: the right form, no model, a latency that is set. Not a judge, and no vLLM.

    python -m benchmarks.local_judge --latency-ms 50 [--slots 64]

Answers `/v1/chat/completions` after the latency: all labels 0 for `pattern-rm`, and for any other model CORRECT
where the prompt holds the word that `benchmarks.simulated_rollouts` uses for a right answer. With `--slots`
so many requests are answered at once and the others wait, as on a busy GPU. `/v1/models` and `/requests` (the count
since the last look) answer too. Prints its address and serves until it is ended; it ends with the process above it.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import ctypes
import json
import signal
import subprocess
import sys
import urllib.request
from collections.abc import Iterator
from typing import Any

from aiohttp import web

from benchmarks.simulated_rollouts import RIGHT_WORD
from foundation.labels import LABELS, as_lines

NO_LABEL = as_lines(dict.fromkeys(LABELS, False))
_PR_SET_PDEATHSIG = 1


class LocalJudge:
    """The server's side."""

    def __init__(self, latency_s: float, slots: int | None) -> None:
        self._latency_s = latency_s
        self._slots = asyncio.Semaphore(slots) if slots else None
        self._requests: dict[str, int] = {}

    async def complete(self, request: web.Request) -> web.Response:
        body: dict[str, Any] = json.loads(await request.read())
        model = body["model"]
        self._requests[model] = self._requests.get(model, 0) + 1
        async with self._slots or contextlib.nullcontext():
            await asyncio.sleep(self._latency_s)
        text = NO_LABEL
        if model != "pattern-rm":
            text = "CORRECT" if RIGHT_WORD in body["messages"][-1]["content"] else "INCORRECT"
        message = {"role": "assistant", "content": text}
        choice = {"index": 0, "message": message, "finish_reason": "stop", "logprobs": None}
        return web.json_response(
            {"id": "c", "object": "chat.completion", "created": 0, "model": model, "choices": [choice]}
        )

    async def models(self, request: web.Request) -> web.Response:
        return web.json_response({"data": [{"id": "pattern-rm"}, {"id": "answer-judge"}]})

    async def requests(self, request: web.Request) -> web.Response:
        counted, self._requests = self._requests, {}
        return web.json_response(counted)


async def serve(latency_s: float, slots: int | None) -> None:
    judge = LocalJudge(latency_s, slots)
    app = web.Application(client_max_size=2**24)
    app.router.add_post("/v1/chat/completions", judge.complete)
    app.router.add_get("/v1/models", judge.models)
    app.router.add_get("/requests", judge.requests)
    runner = web.AppRunner(app)
    await runner.setup()
    await web.TCPSite(runner, "127.0.0.1", 0, backlog=4096).start()
    print(f"http://127.0.0.1:{runner.addresses[0][1]}", flush=True)
    await asyncio.Event().wait()


@contextlib.contextmanager
def local_judge(latency_s: float, slots: int | None = None) -> Iterator[str]:
    """A server in a process of its own; gives its root address."""
    command = [sys.executable, "-m", "benchmarks.local_judge", "--latency-ms", str(latency_s * 1e3)]
    if slots:
        command += ["--slots", str(slots)]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    try:
        root = process.stdout.readline().strip()
        if not root:
            raise RuntimeError(f"{' '.join(command)} gave no address")
        yield root
    finally:
        process.terminate()
        process.wait()
        process.stdout.close()


def requests_since_last_look(root: str) -> dict[str, int]:
    """Requests that a local judge got, by model, since the last call of this function."""
    with urllib.request.urlopen(f"{root}/requests", timeout=10) as answer:
        counted: dict[str, int] = json.loads(answer.read())
    return counted


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--latency-ms", type=float, default=0.0)
    parser.add_argument("--slots", type=int, help="requests answered at once; all by default")
    options = parser.parse_args()
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
    asyncio.run(serve(options.latency_ms / 1e3, options.slots))


if __name__ == "__main__":
    main()
