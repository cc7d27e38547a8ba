"""Servers for the length of a stage: `vllm serve` processes of this machine, kept by the judges' server keeper.

Whoever has an address already is left alone. With GPUs each replica gets its own, counted from 0.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from foundation.settings.judges import ServedModel, ServeSettings
from reward_workers.judges.serving.server_process import ServerProcess, vllm_command

HOST = "127.0.0.1"
Wanted = TypeVar("Wanted", bound=ServedModel)

_ALWAYS = {
    "VLLM_NO_USAGE_STATS": "1",  # an evaluation reports to nobody unasked
    "VLLM_HTTP_TIMEOUT_KEEP_ALIVE": "60",  # idle connections are ours to close: a busy server would cut those in use
}


@dataclass(frozen=True, slots=True)
class _Started:
    name: str
    server: ServerProcess
    ready_timeout_s: float


@contextmanager
def serving(
    wanted: Mapping[str, Wanted], logs: Path, env: Mapping[str, str], say: Callable[[str], None]
) -> Iterator[dict[str, Wanted]]:
    """The same settings with addresses that answer; servers started for it end with the block.

    Args:
        wanted: settings by name; equal ones share their servers.
        logs: folder of the server logs.
        env: environment of every server, below its own.

    Raises:
        RuntimeError: a server did not come up; the text has the end of its log.
    """
    started: list[_Started] = []
    addresses: dict[str, list[str]] = {}
    try:
        first_gpu = 0
        for name, settings in wanted.items():
            twin = next((other for other in addresses if wanted[other] == settings), None)
            if twin is not None:
                addresses[name] = addresses[twin]
                continue
            if settings.base_urls or settings.serve is None:
                addresses[name] = list(settings.base_urls)
                continue
            mine = []
            for index in range(settings.serve.replicas):
                gpus = range(first_gpu, first_gpu + _gpus(settings.serve))
                first_gpu = gpus.stop
                mine.append(_start(f"{name}-{index}", settings, settings.serve, logs, env, gpus))
            started += mine
            addresses[name] = [f"{one.server.root}/v1" for one in mine]
        for one in started:
            say(f"server {one.name} is starting at {one.server.root}")
        for one in started:
            status = one.server.wait_ready(one.ready_timeout_s + 30)
            if status.state != "ready":
                raise RuntimeError(f"server {one.name} is {status.state}: {status.failure}")
            say(f"server {one.name} is ready")
        yield {name: settings.with_base_urls(addresses[name]) for name, settings in wanted.items()}
    finally:
        for one in started:
            one.server.stop()


def _gpus(serve: ServeSettings) -> int:
    """Whole GPUs of one replica; a share of one is one."""
    return int(serve.gpus_per_replica) if serve.gpus_per_replica >= 1 else int(serve.gpus_per_replica > 0)


def _start(
    name: str, settings: ServedModel, serve: ServeSettings, logs: Path, env: Mapping[str, str], gpus: range
) -> _Started:
    logs.mkdir(parents=True, exist_ok=True)
    devices = {"CUDA_VISIBLE_DEVICES": ",".join(map(str, gpus))} if gpus else {}
    command = vllm_command(
        serve.model_path,
        settings.model,
        tensor_parallel_size=serve.tensor_parallel_size,
        max_model_len=serve.max_model_len,
    )
    server = ServerProcess(
        [*command, *serve.args],
        env={**_ALWAYS, **env, **devices, **serve.env},
        host=HOST,
        log_path=logs / f"{name}.log",
        ready_timeout_s=serve.ready_timeout_s,
        max_restarts=serve.max_restarts,
        hung_after_s=serve.hung_after_s,
        idle_priority=serve.idle_priority,
    )
    return _Started(name, server, serve.ready_timeout_s)
