"""Agent loop workers of stock verl and of this project, in one process: no Ray, no rollout server, no TransferQueue.

Shared by tests/rollout and benchmarks/agent_loop.py. The rollout server is a function from rollout to response tokens,
the reward worker takes what it is sent through pickle, and TransferQueue is a dict.
"""

from __future__ import annotations

import asyncio
import io
import pickle
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
from PIL import Image

from reward_workers.mix import Mix

PAPER = Mix({"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)

Responses = Callable[[int], list[int]]
"""Response tokens of rollout i of a group."""

_SESSION: ContextVar[int] = ContextVar("session")
"""The rollout that the running task works on: neither worker tells the rollout server."""


@dataclass
class Queue:
    """TransferQueue as two dicts: rows by key, the status of each prompt, and the number of writes."""

    rows: dict[str, dict[str, Any]] = field(default_factory=dict)
    tags: dict[str, dict[str, Any]] = field(default_factory=dict)
    writes: int = 0

    async def put(self, key: str, partition_id: str, tag: dict[str, Any]) -> None:
        self.tags[key] = {**self.tags.get(key, {}), **tag, "partition_id": partition_id}

    async def batch_put(self, keys: list[str], partition_id: str, fields: Any, tags: list[dict[str, Any]]) -> None:
        self.writes += 1
        columns = {name: _cells(fields[name]) for name in fields.keys()}  # noqa: SIM118
        for i, (key, tag) in enumerate(zip(keys, tags, strict=True)):
            self.rows[key] = {name: cells[i] for name, cells in columns.items()}
            self.tags[key] = {**tag, "partition_id": partition_id}


def _cells(column: Any) -> list[Any]:
    """The values of a column, one per row."""
    import torch

    return list(column.unbind() if isinstance(column, torch.Tensor) else column)


@dataclass
class RewardWorker:
    """Takes batches as an actor does, through pickle, and rewards the length of the response."""

    batches: list[Any] = field(default_factory=list)
    n_bytes: int = 0

    @property
    def compute_score(self) -> RewardWorker:
        return self

    async def remote(self, batch: Any) -> dict[str, Any]:
        sent = pickle.dumps(batch)
        self.n_bytes += len(sent)
        self.batches.append(pickle.loads(sent))
        return {"reward_score": 0.5, "reward_extra_info": {"acc": 0.5}}


class RolloutServer:
    """The client of a rollout server, with fixed responses. No dataclass: stock verl passes it through Hydra."""

    def __init__(self, responses: Responses):
        self.responses = responses
        self.requests: list[dict[str, Any]] = []

    async def generate(self, **request: Any) -> Any:
        from verl.workers.rollout.replica import TokenOutput

        self.requests.append(request)
        await asyncio.sleep(0)
        tokens = self.responses(_SESSION.get())
        return TokenOutput(
            token_ids=tokens,
            log_probs=[-0.25] * len(tokens),
            stop_reason="completed",
            num_preempted=0,
            extra_fields={"global_steps": 3, "min_global_steps": 3, "max_global_steps": 3, "num_cached_tokens": 0},
        )


def compose(policy: Path, n: int, prompt_length: int, **policy_section: Any) -> Any:
    """verl's own configuration with the project's `policy` section."""
    from hydra import compose as hydra_compose
    from hydra import initialize_config_dir
    from omegaconf import OmegaConf, open_dict

    verl = find_spec("verl")
    assert verl is not None
    assert verl.origin is not None
    rollout = "actor_rollout_ref.rollout"
    with initialize_config_dir(str(Path(verl.origin).parent / "trainer" / "config"), version_base=None):
        config = hydra_compose(
            "ppo_trainer",
            overrides=[
                f"actor_rollout_ref.model.path={policy}",
                "+actor_rollout_ref.model.override_config.attn_implementation=sdpa",
                f"{rollout}.name=vllm",
                f"{rollout}.n={n}",
                f"{rollout}.prompt_length={prompt_length}",
                f"{rollout}.response_length=32",
                f"{rollout}.calculate_log_probs=true",
                "data.image_patch_size=16",
                "+data.apply_chat_template_kwargs.enable_thinking=false",
            ],
        )
    with open_dict(config):
        config.policy = OmegaConf.create({"family": "qwen3_vl", "mode": "nt", **policy_section})
    return config


def prompt_row(
    uid: str, agent_name: str, question: str, sizes: list[tuple[int, int]], index: int = 7
) -> dict[str, Any]:
    """One prompt as verl's data loader hands it to a worker; `sizes` are (width, height) of its images in pixels."""
    parts: list[dict[str, Any]] = []
    for seed, (width, height) in enumerate(sizes):
        pixels = np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
        png = io.BytesIO()
        Image.fromarray(pixels).save(png, format="PNG")
        parts.append({"type": "image", "bytes": png.getvalue(), "image": Image.open(png)})
    content: Any = [*parts, {"type": "text", "text": question}] if parts else question
    row = {
        "raw_prompt": [{"role": "user", "content": content}],
        "agent_name": agent_name,
        "uid": uid,
        "global_steps": 3,
        "index": index,
        "data_source": "toy",
        "reward_model": {"style": "rule", "ground_truth": "3"},
        "extra_info": {"index": index, "prompt_id": "p7", "question": question},
        "tools_kwargs": {},
        "pattern_mix": PAPER,
    }
    # As Ray transports it, which also decodes the images: a lazy image is no safe input for several threads.
    return pickle.loads(pickle.dumps(row))


@contextmanager
def worker(
    kind: str, config: Any, responses: Responses
) -> Iterator[tuple[Any, Queue, RolloutServer, list[RewardWorker]]]:
    """A worker of `kind` "stock" or "pattern" with its queue, rollout server and two reward workers."""
    import transfer_queue as tq

    from rollout_workers.agent_loop import PatternAgentLoopWorker, _StockWorker

    queue, server, rewards = Queue(), RolloutServer(responses), [RewardWorker(), RewardWorker()]
    with (
        patch.object(tq, "init", lambda *args, **kwargs: None),
        patch.object(tq, "async_kv_put", queue.put),
        patch.object(tq, "async_kv_batch_put", queue.batch_put),
    ):
        cls = {"stock": _StockWorker, "pattern": PatternAgentLoopWorker}[kind]
        made = cls(config, server, None, rewards)
        _announce_sessions(made)
        yield made, queue, server, rewards


def _announce_sessions(made: Any) -> None:
    """Note the rollout index of each task before the worker's own method runs."""
    run_agent_loop, run_rollout = made._run_agent_loop, getattr(made, "_run_rollout", None)

    async def announced_loop(*args: Any, session_id: int, **kwargs: Any) -> Any:
        _SESSION.set(session_id)
        return await run_agent_loop(*args, session_id=session_id, **kwargs)

    async def announced_rollout(inputs: Any, params: Any, sample: dict[str, Any], validate: bool) -> Any:
        _SESSION.set(sample["session_id"])
        assert run_rollout is not None
        return await run_rollout(inputs, params, sample, validate)

    made._run_agent_loop = announced_loop
    if run_rollout is not None:
        made._run_rollout = announced_rollout


def run_prompts(agent_worker: Any, rows: list[dict[str, Any]], validate: bool = False) -> None:
    """Run prompts side by side, as `generate_sequences` starts them, to their end; once per worker."""
    asyncio.run(run_prompts_async(agent_worker, rows, validate))


async def run_prompts_async(agent_worker: Any, rows: list[dict[str, Any]], validate: bool = False) -> None:
    """The same inside of a running loop, which a worker keeps for its life."""
    params = {"temperature": 1.0, "top_p": 1.0, "top_k": -1, "repetition_penalty": 1.0, "logprobs": True}
    trajectory = {"step": 3, "rollout_n": 0, "validate": validate}
    await asyncio.gather(
        *(agent_worker._run_prompt(dict(row), params, trajectory | {"sample_index": row["index"]}) for row in rows)
    )
