"""Drawn responses, and small runs against local servers whose answers depend on the request alone."""

from __future__ import annotations

import asyncio
import json
import random
import re
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web
from PIL import Image
from rich.console import Console

from evaluation.pattern_eval.__main__ import evaluate
from evaluation.pattern_eval.settings import read_settings
from foundation.runs.evaluation_records import Response
from foundation.settings.compose import CONFIG_DIR, compose_config

TAXONOMY = {"VG": {"OOD": "OOD perception", "Rec": "content recognition"}, "OS": {"OCR": "OCR"}}


def draw_responses(prompts: int, models: tuple[str, ...] = ("small", "large"), words: int = 60) -> list[Response]:
    """Two modes of every model on every prompt; some failed, some empty, some not judged."""
    rng = random.Random(0)
    categories = [(family, category) for family, inside in TAXONOMY.items() for category in inside]
    found = []
    for model in models:
        for i in range(prompts):
            family, category = categories[i % len(categories)]
            for mode in ("nt", "t"):
                outcome = rng.choices(("answered", "empty", "failed"), (0.97, 0.02, 0.01))[0]
                answered = outcome == "answered"
                labels = {
                    label: rng.random() < p
                    for label, p in zip(("cot", "rep", "con", "pr"), (0.3, 0.2, 0.05, 0.05), strict=True)
                }
                text = " ".join(
                    rng.choices(("the", "red", "circle", "stands", "left", "of", "it"), k=words + rng.randrange(words))
                )
                found.append(
                    Response(
                        model,
                        mode,
                        f"p{i:05d}",
                        family,
                        category,
                        question=f"What is in picture {i}?",
                        reference="red",
                        visible=text if answered else "",
                        outcome=outcome,
                        finish_reason="stop" if answered else "length",
                        flags=() if answered else ("no_visible_response",),
                        n_tokens=len(text) // 4,
                        n_chars=len(text) if answered else 0,
                        correct=int(rng.random() < 0.5) if answered else None,
                        correct_by="typed same_option" if answered else "",
                        labels=labels if answered and rng.random() < 0.99 else None,
                        label_reason="truncated",
                        evidence={"cot": "“Wait, let me count again.”"} if labels["cot"] else {},
                    )
                )
    return found


@pytest.fixture
def responses() -> Callable[..., list[Response]]:
    return draw_responses


@pytest.fixture
def taxonomy() -> dict[str, dict[str, str]]:
    return TAXONOMY


class ModelServer:
    """An OpenAI-compatible server whose answers depend on the request alone.

    `answer` maps a request body to a message (dict), to an HTTP status (int), or to seconds of silence (float).
    `rendered`, where set, is what /tokenize and /detokenize say the prompt of a body is.
    """

    def __init__(
        self, answer: Callable[[dict[str, Any]], Any], rendered: Callable[[dict[str, Any]], str] | None = None
    ):
        self.answer = answer
        self.rendered = rendered
        self.requests: list[dict[str, Any]] = []

    async def __aenter__(self) -> ModelServer:
        app = web.Application(client_max_size=2**27)
        app.router.add_post("/v1/chat/completions", self._complete)
        if self.rendered is not None:
            app.router.add_post("/tokenize", self._tokenize)
            app.router.add_post("/detokenize", self._detokenize)
        self._runner = web.AppRunner(app, shutdown_timeout=0.1)
        await self._runner.setup()
        await web.TCPSite(self._runner, "127.0.0.1", 0).start()
        self.base_url = f"http://127.0.0.1:{self._runner.addresses[0][1]}/v1"
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._runner.cleanup()

    async def _complete(self, request: web.Request) -> web.Response:
        body = await request.json()
        self.requests.append(body)
        message = self.answer(body)
        if isinstance(message, int):
            return web.json_response({"error": {"message": f"status {message}"}}, status=message)
        finish = message.pop("finish_reason", "stop")
        choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": finish, "logprobs": None}
        usage = {"prompt_tokens": 10, "completion_tokens": len(str(message.get("content"))) // 4, "total_tokens": 0}
        return web.json_response(
            {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}
        )

    async def _tokenize(self, request: web.Request) -> web.Response:
        assert self.rendered is not None
        self._prompt = self.rendered(await request.json())
        return web.json_response({"tokens": [1, 2, 3], "count": 3})

    async def _detokenize(self, request: web.Request) -> web.Response:
        return web.json_response({"prompt": self._prompt})


class InThread:
    """Runs a server in a thread with an event loop of its own, for code that runs its own loop."""

    def __init__(self, server: ModelServer) -> None:
        self.server = server
        self._loop = asyncio.new_event_loop()
        self._thread = threading.Thread(target=self._loop.run_forever, daemon=True)

    def __enter__(self) -> ModelServer:
        self._thread.start()
        asyncio.run_coroutine_threadsafe(self.server.__aenter__(), self._loop).result(10)
        return self.server

    def __exit__(self, *_: object) -> None:
        asyncio.run_coroutine_threadsafe(self.server.__aexit__(), self._loop).result(10)
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._thread.join(10)
        self._loop.close()


def asked_for(body: dict[str, Any]) -> str:
    """The text of a request."""
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


def policy(body: dict[str, Any]) -> dict[str, Any]:
    """A model with raw think blocks: wrong and talkative without thinking, right with it."""
    number = int(re.search(r"number (\d+)", asked_for(body))[1])
    if body.get("chat_template_kwargs", {}).get("enable_thinking"):
        return {"content": f"so many</think>It is \\boxed{{{number}}}<|im_end|>"}
    text = f"Wait, let me see. \\boxed{{{number}}}" if number % 3 else f"It is \\boxed{{{number + 1}}}"
    return {"content": f"{text}<|im_end|>"}


def judges(body: dict[str, Any]) -> dict[str, Any]:
    """Both judges: labels by the words of the response, a verdict that is never needed."""
    text = asked_for(body)
    if "CoT: <digit>" not in text:
        return {"content": "They mean the same.\nCORRECT"}
    response = text.split("BEGIN RESPONSE-----")[1]
    cot = int("Wait" in response)
    reason = "it says “Wait, let me see”" if cot else "nothing of the kind"
    return {"content": f"1. CoT: {cot} - {reason}\n2. Rep: 0 - no\n3. Con: 0 - no\n4. PR: 0 - no"}


def rendered(body: dict[str, Any]) -> str:
    thinking = body.get("chat_template_kwargs", {}).get("enable_thinking")
    return "<|im_start|>assistant\n" + ("<think>\n" if thinking else "<think>\n\n</think>\n\n")


@pytest.fixture
def model_server() -> type[ModelServer]:
    return ModelServer


@dataclass
class Stand:
    """A small run against two local servers.

    Attributes:
        run: `run(*overrides)` composes and evaluates; returns the exit code.
        folder: the run folder.
    """

    policy: ModelServer
    judges: ModelServer
    folder: Path
    prompts: Path
    overrides: list[str]

    def config(self, *more: str) -> Any:
        return compose_config([*self.overrides, *more], CONFIG_DIR / "evaluation", "pattern_eval")

    def run(self, *more: str) -> int:
        return evaluate(self.config(*more), Console(file=StringIO(), width=140))

    def rows(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / f"{name}.jsonl").read_text().splitlines()]

    def results(self) -> dict[str, Any]:
        return json.loads((self.folder / "report" / "results.json").read_text())

    def page(self) -> str:
        return (self.folder / "report" / "page.html").read_text()


def write_prompts(path: Path, count: int) -> list[dict[str, Any]]:
    """Prompts with an image each, in both families of the taxonomy of a stand."""
    (path.parent / "images").mkdir(exist_ok=True)
    rows = []
    for i in range(count):
        Image.new("RGB", (8, 8), (i % 256, 0, 0)).save(path.parent / "images" / f"{i}.png")
        family, category = (("VG", "OOD"), ("OS", "OCR"))[i % 2]
        rows.append(
            {
                "prompt_id": f"p{i:03d}",
                "source": "made",
                "family": family,
                "category": category,
                "question": f"What is number {i}?",
                "images": [f"images/{i}.png"],
                "reference": str(i),
                "answer_type": "integer",
            }
        )
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return rows


@pytest.fixture
def stand(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stand]:
    # Figures are most of the time of a small run; tests/evaluation/test_report.py draws them.
    monkeypatch.setattr("evaluation.report.files.draw_all", lambda report, folder: [])
    write_prompts(tmp_path / "prompts.jsonl", 12)
    with InThread(ModelServer(policy, rendered)) as model, InThread(ModelServer(judges)) as judge:
        overrides = [
            "model=toy",
            "model.name=tiny",
            f"model.servers.nt.base_urls=[{model.base_url}]",
            "model.servers.nt.serve=null",
            "model.servers.nt.max_attempts=1",
            "patience_s=0",
            f"judges.correctness.base_urls=[{judge.base_url}]",
            f"judges.pattern.base_urls=[{judge.base_url}]",
            "judges.correctness.api_key_env=null",
            "judges.pattern.api_key_env=null",
            "judges.pattern.max_attempts=1",
            f"prompts.files=[{tmp_path / 'prompts.jsonl'}]",
            f"prompts.image_root={tmp_path}",
            f"run.dir={tmp_path / 'run'}",
            "report.resamples=200",
            "verifier.symbolic=false",
        ]
        yield Stand(model, judge, tmp_path / "run", tmp_path / "prompts.jsonl", overrides)


@pytest.fixture
def compose_eval() -> Callable[..., Any]:
    """The checked settings of `python -m evaluation.pattern_eval <overrides>`."""
    return lambda *overrides: read_settings(compose_config(overrides, CONFIG_DIR / "evaluation", "pattern_eval"))
