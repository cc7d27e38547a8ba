"""Paired generation: every prompt in every mode, asked of OpenAI-compatible servers, split and kept.

Only the reasoning control differs between the modes of a pair.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import aiohttp

from evaluation.pattern_eval.images import ImageProblem, load_image
from evaluation.pattern_eval.patience import patiently
from evaluation.pattern_eval.settings import EvalSettings
from foundation.responses.channels import split_channels
from foundation.responses.families import Mode, PromptTail
from foundation.responses.modes import chat_template_kwargs, check_prompt_tail, prompt_tail
from foundation.responses.prompt_seed import prompt_seed
from foundation.runs.evaluation_records import Generation, Prompt
from foundation.settings.judges import ServedModel
from reward_workers.judges.endpoint.client import JudgeClient, JudgeFailure, JudgeReply

_PROBE_TIMEOUT_S = 30.0


@dataclass(frozen=True, slots=True)
class Generated:
    """A generation and what it cost in tokens read."""

    generation: Generation
    n_prompt_tokens: int | None
    scaled_images: int


class Keeper(Protocol):
    """Takes each result as it arrives."""

    def __call__(self, generated: Generated) -> None: ...


def encode(generation: Generation) -> dict[str, Any]:
    return asdict(generation)


def decode(row: Mapping[str, Any]) -> Generation:
    return Generation(**{**row, "flags": tuple(row["flags"])})


def key(generation: Generation) -> tuple[str, ...]:
    return generation.mode, generation.prompt_id


async def generate_all(
    settings: EvalSettings,
    servers: Mapping[Mode, ServedModel],
    missing: Sequence[tuple[Prompt, Sequence[Mode]]],
    keep: Keeper,
) -> None:
    """Ask for everything that is missing, as many prompts at once as the servers allow calls.

    Raises:
        ValueError: a rendered prompt shows that a mode switch has no effect.
    """
    tails = await _tails(settings, servers)
    same = len({server.base_urls for server in servers.values()}) == 1
    clients = _clients(servers, same)
    generator = _Generator(settings, clients, tails)
    waiting = iter(missing)

    async def work() -> None:
        for prompt, modes in waiting:
            async for generated in generator.generate(prompt, modes):
                keep(generated)

    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(missing), sum(server.concurrency for server in servers.values()))):
                group.create_task(work())
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    finally:
        for client in set(clients.values()):
            await client.aclose()


def _clients(servers: Mapping[Mode, ServedModel], same: bool) -> dict[Mode, JudgeClient]:
    if same:  # one server: one limit on its calls
        client = JudgeClient(next(iter(servers.values())))
        return dict.fromkeys(servers, client)
    return {mode: JudgeClient(server) for mode, server in servers.items()}


class _Generator:
    """Asks one prompt in some modes."""

    def __init__(
        self,
        settings: EvalSettings,
        clients: Mapping[Mode, JudgeClient],
        tails: Mapping[Mode, PromptTail | None],
    ) -> None:
        self._settings = settings
        self._model = settings.model
        self._clients = clients
        self._tails = tails
        self._root = Path(settings.prompts.image_root)

    async def generate(self, prompt: Prompt, modes: Sequence[Mode]) -> AsyncIterator[Generated]:
        """Yields one result a mode, as they arrive."""
        try:
            shown = [
                await asyncio.to_thread(load_image, image, self._root, self._settings.prompts.max_pixels)
                for image in prompt.images
            ]
        except ImageProblem as problem:
            for mode in modes:
                yield Generated(self._failed(prompt, mode, f"{problem.reason}: {problem}"), None, 0)
            return
        content = [{"type": "image_url", "image_url": {"url": image.url}} for image in shown]
        messages = [{"role": "user", "content": [*content, {"type": "text", "text": prompt.question}]}]
        scaled = sum(image.scaled_from is not None for image in shown)
        asked = [asyncio.ensure_future(self._ask(prompt, mode, messages)) for mode in modes]
        try:
            for answered in asyncio.as_completed(asked):
                generation, n_prompt_tokens = await answered
                yield Generated(generation, n_prompt_tokens, scaled)
        finally:
            for task in asked:
                task.cancel()

    async def _ask(
        self, prompt: Prompt, mode: Mode, messages: Sequence[Mapping[str, Any]]
    ) -> tuple[Generation, int | None]:
        fields = request_fields(self._settings, mode, prompt.prompt_id)
        outcome = await patiently(
            lambda: self._clients[mode].complete(messages, decoding=fields, needs_text=False),
            reason=lambda found: found.reason if isinstance(found, JudgeFailure) else "",
            wait_s=self._settings.patience_s,
        )
        if isinstance(outcome, JudgeFailure):
            return self._failed(prompt, mode, f"{outcome.reason}: {outcome.detail}", outcome.latency_s), None
        return self._read(prompt, mode, outcome), outcome.n_prompt_tokens

    def _read(self, prompt: Prompt, mode: Mode, reply: JudgeReply) -> Generation:
        channels = split_channels(
            {"content": reply.text, "reasoning": reply.reasoning},
            mode=mode,
            prompt_tail=self._tails[mode],
            finish_reason=reply.finish_reason,
            family=self._model.family,
        )
        return Generation(
            prompt.prompt_id,
            self._model.name,
            mode,
            raw=reply.text,
            reasoning=channels.reasoning,
            visible=channels.visible,
            flags=tuple(sorted(channels.flags)),
            finish_reason=reply.finish_reason,
            decoding=request_fields(self._settings, mode, prompt.prompt_id),
            n_tokens=reply.n_tokens,
            n_chars=len(channels.visible),
            prompt_tail=self._tails[mode],
            latency_s=round(reply.latency_s, 3),
        )

    def _failed(self, prompt: Prompt, mode: Mode, error: str, latency_s: float = 0.0) -> Generation:
        return Generation(
            prompt.prompt_id,
            self._model.name,
            mode,
            raw="",
            reasoning="",
            visible="",
            flags=(),
            finish_reason=None,
            decoding=request_fields(self._settings, mode, prompt.prompt_id),
            n_tokens=None,
            n_chars=0,
            prompt_tail=self._tails[mode],
            error=error,
            latency_s=round(latency_s, 3),
        )


def request_fields(settings: EvalSettings, mode: Mode, prompt_id: str | None = None) -> dict[str, Any]:
    """The fields of a request beside model and messages: decoding, and what chooses the mode.

    Args:
        prompt_id: gives the request its seed where `model.seed` is set; None leaves that out.
    """
    model = settings.model
    fields: dict[str, Any] = {**getattr(model.decoding, mode), **getattr(model.request, mode)}
    if model.seed is not None and prompt_id is not None:
        fields["seed"] = prompt_seed(model.seed, prompt_id)
    switch = chat_template_kwargs(model.family, mode) if model.template_switch else {}
    if switch:
        fields["chat_template_kwargs"] = {**switch, **fields.get("chat_template_kwargs", {})}
    return fields


async def _tails(settings: EvalSettings, servers: Mapping[Mode, ServedModel]) -> dict[Mode, PromptTail | None]:
    """How the rendered prompts end: as the configuration says, or as the server renders one (vLLM), or unknown."""
    found: dict[Mode, PromptTail | None] = {}
    for mode, server in servers.items():
        tail: PromptTail | None = getattr(settings.model.prompt_tail, mode)
        if tail is None:
            rendered = await _rendered(server, request_fields(settings, mode).get("chat_template_kwargs", {}))
            tail = None if rendered is None else prompt_tail(rendered, settings.model.family)
        if tail is not None:
            _check_switch(settings, mode, tail)
        found[mode] = tail
    return found


def _check_switch(settings: EvalSettings, mode: Mode, tail: PromptTail) -> None:
    try:
        check_prompt_tail(tail, mode, settings.model.family)
    except ValueError as error:
        raise ValueError(
            f"model.servers.{mode}: in mode {mode} the rendered prompt has think block {tail!r}, so that the mode "
            f"switch has no effect: check model.family={settings.model.family}, model.template_switch and the "
            "checkpoint that is served"
        ) from error


async def _rendered(server: ServedModel, template_kwargs: Mapping[str, Any]) -> str | None:
    """A short prompt as the server's chat template renders it; None where it offers no way to see that."""
    root = server.base_urls[0].removesuffix("/v1")
    body = {
        "model": server.model,
        "messages": [{"role": "user", "content": "?"}],
        "chat_template_kwargs": dict(template_kwargs),
    }
    headers = {"Authorization": f"Bearer {server.api_key()}"}
    timeout = aiohttp.ClientTimeout(total=_PROBE_TIMEOUT_S)
    try:
        async with aiohttp.ClientSession(headers=headers, timeout=timeout) as session:
            tokens = await _post(session, f"{root}/tokenize", body, "tokens")
            if not isinstance(tokens, list):
                return None
            text = await _post(session, f"{root}/detokenize", {"model": server.model, "tokens": tokens}, "prompt")
    except (aiohttp.ClientError, TimeoutError, ValueError):
        return None  # not vLLM, or not reachable: the first generation then says why
    return text if isinstance(text, str) else None


async def _post(session: aiohttp.ClientSession, url: str, body: Mapping[str, Any], field: str) -> Any:
    async with session.post(url, json=body) as answer:
        if answer.status != 200:
            return None
        content = await answer.json(content_type=None)
        return content.get(field) if isinstance(content, dict) else None
