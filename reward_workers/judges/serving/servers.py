"""The Ray actor that keeps one replica of a judge, and what the fleet knows of it.

A server dies with its actor, and the actor with the job or with its node. What happens then is the fleet's business.
"""

from __future__ import annotations

import time
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ray

from foundation.settings.judges import ServedModel, ServeSettings
from reward_workers.judges.serving.server_metrics import ServerCounts
from reward_workers.judges.serving.server_process import ServerProcess, ServerStatus, vllm_command


class JudgeServer:
    """Keeps one replica; as an actor it needs ``max_concurrency`` above 1, to answer while the server starts."""

    def __init__(self, served_name: str, serve: ServeSettings, log_path: str) -> None:
        Path(log_path).parent.mkdir(parents=True, exist_ok=True)
        command = vllm_command(
            serve.model_path,
            served_name,
            tensor_parallel_size=serve.tensor_parallel_size,
            max_model_len=serve.max_model_len,
        )
        self._server = ServerProcess(
            [*command, *serve.args],
            env={"VLLM_NO_USAGE_STATS": "1", **serve.env},  # a training job reports to nobody unasked
            host=ray.util.get_node_ip_address(),
            log_path=Path(log_path),
            ready_timeout_s=serve.ready_timeout_s,
            max_restarts=serve.max_restarts,
            hung_after_s=serve.hung_after_s,
            idle_priority=serve.idle_priority,
        )

    def base_url(self) -> str:
        return f"{self._server.root}/v1"

    def status(self) -> tuple[ServerStatus, ServerCounts]:
        """What the server does, and its counts of some seconds ago."""
        return self._server.status, self._server.last_counts

    def metrics(self) -> ServerCounts:
        return self._server.counts()

    def stop(self) -> tuple[ServerStatus, ServerCounts]:
        """The status before the stop, and the final counts."""
        status = self._server.status
        return status, self._server.stop()


@dataclass(slots=True)
class Replica:
    """One replica of a judge: the actor that keeps it now, and what was last known.

    Attributes:
        index: 0..replicas-1; names it together with the judge.
        actor: handle of its :class:`JudgeServer`; another one after a move, None when there will be no other.
        base_url: its address, empty until the actor is placed.
        status, counts: as last told by the actor.
        address: the pending answer of an actor that is not placed yet.
        since: monotonic time of the last change, in seconds.
        moves: actors so far after the first one.
        lost: why nothing serves it any more; empty while something does or will.
    """

    judge: str
    index: int
    actor: Any
    base_url: str = ""
    status: ServerStatus = field(default_factory=lambda: ServerStatus("starting", 0))
    counts: ServerCounts = field(default_factory=ServerCounts)
    address: Any = None
    since: float = field(default_factory=time.monotonic)
    moves: int = 0
    lost: str = ""

    @property
    def name(self) -> str:
        return f"{self.judge}-{self.index}"

    @property
    def serves(self) -> bool:
        """Whether calls may be sent to its address; a server that its actor starts again keeps the address."""
        return bool(self.base_url) and not self.lost and self.address is None

    def report(self, end: str) -> dict[str, Any]:
        """What is kept of one actor's life. `end`: how it ended."""
        return {
            "name": self.name,
            "base_url": self.base_url,
            **asdict(self.counts),
            "restarts": self.status.restarts,
            "end": end,
        }


def start_actor(settings: ServedModel, serve: ServeSettings, log_path: Path) -> Any:
    """The handle of a new :class:`JudgeServer`; Ray places it on another node than its siblings where it can."""
    actor_class: Any = ray.remote(
        num_cpus=serve.cpus_per_replica,
        num_gpus=serve.gpus_per_replica,
        resources=dict(serve.resources),
        max_concurrency=4,
        scheduling_strategy="SPREAD",
    )(JudgeServer)
    return actor_class.remote(settings.model, serve, str(log_path))
