"""The judge servers of a job: replicas of ``vllm serve``, each kept by a Ray actor, spread over the nodes.

A server dies with its actor, and the actor with the job. The fleet starts all judges at the same time; addresses are
known at once, so that the policy can load while the judges do.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import ray

from reward_workers.judges.server_metrics import ServerCounts
from reward_workers.judges.server_process import ServerProcess, ServerStatus, vllm_command
from reward_workers.judges.settings import JudgeSettings, ServeSettings

_PROGRESS_EVERY_S = 15.0
_PLACEMENT_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 30.0
_LOOK_EVERY_S = 0.5

logger = logging.getLogger(__name__)


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
            nice=serve.nice,
        )

    def base_url(self) -> str:
        return f"{self._server.root}/v1"

    def status(self) -> ServerStatus:
        return self._server.status

    def metrics(self) -> ServerCounts:
        return self._server.counts()

    def stop(self) -> tuple[ServerCounts, ServerStatus]:
        """Final counts, and the status before the stop."""
        status = self._server.status
        return self._server.stop(), status


@dataclass(slots=True)
class _Replica:
    """One actor of the fleet and what is known of it."""

    judge: str
    index: int
    actor: Any
    base_url: str = ""
    ready: bool = field(default=False)

    @property
    def name(self) -> str:
        return f"{self.judge}-{self.index}"


class JudgeFleet:
    """All judges of a job.

    Args:
        judges: the ``judges`` section; entries that are None are left out, those with ``base_urls`` are not served.
        folder: where logs (``<name>-<i>.log``) and final counts (``<name>.json``) go.
        say: receives progress lines.
    """

    def __init__(
        self, judges: Mapping[str, Mapping[str, Any] | None], folder: Path, say: Callable[[str], None] = logger.info
    ) -> None:
        self._judges = {
            name: JudgeSettings.from_config(section, name) for name, section in judges.items() if section is not None
        }
        self._folder = folder.absolute()
        self._say = say
        self._replicas: list[_Replica] = []
        self._started = 0.0

    def launch(self) -> dict[str, list[str]]:
        """Start all replicas and return the base URLs of every judge; the servers answer some time later.

        Raises:
            RuntimeError: the cluster has no room for a replica.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        base_urls = {name: list(settings.base_urls) for name, settings in self._judges.items()}
        try:
            for name, settings in self._judges.items():
                if not settings.base_urls and settings.serve is not None:
                    self._replicas += [
                        _Replica(name, index, self._actor(settings, settings.serve, index))
                        for index in range(settings.serve.replicas)
                    ]
            for replica in self._replicas:
                replica.base_url = self._address(replica)
                base_urls[replica.judge].append(replica.base_url)
        except BaseException:
            self.stop()
            raise
        for replica in self._replicas:
            self._say(f"judge server {replica.name} is starting at {replica.base_url}")
        return base_urls

    def wait_ready(self) -> None:
        """Wait until every replica answers.

        Raises:
            RuntimeError: one failed; the text has the last lines of its log. The others are stopped.
        """
        said = time.monotonic()
        while waiting := [replica for replica in self._replicas if not replica.ready]:
            for replica, status in zip(waiting, ray.get([r.actor.status.remote() for r in waiting]), strict=True):
                if status.state == "ready":
                    replica.ready = True
                    self._say(f"judge server {replica.name} is ready after {time.monotonic() - self._started:.0f} s")
                elif status.state != "starting":
                    self.stop()
                    raise RuntimeError(f"judge server {replica.name} {status.state}: {status.failure}")
            names = ", ".join(replica.name for replica in self._replicas if not replica.ready)
            if names and time.monotonic() - said > _PROGRESS_EVERY_S:
                said = time.monotonic()
                self._say(f"waiting for {names} ({said - self._started:.0f} s)")
            time.sleep(_LOOK_EVERY_S if names else 0.0)

    def metrics(self) -> dict[str, ServerCounts]:
        """Counts per served judge so far, from the servers' own metrics."""
        totals: dict[str, ServerCounts] = {}
        answers = ray.get([replica.actor.metrics.remote() for replica in self._replicas])
        for replica, counts in zip(self._replicas, answers, strict=True):
            totals[replica.judge] = totals.get(replica.judge, ServerCounts()) + counts
        return totals

    def stop(self) -> None:
        """Stop all servers and write ``<folder>/<name>.json`` for each served judge; safe to call again."""
        replicas, self._replicas = self._replicas, []
        pending = [replica.actor.stop.remote() for replica in replicas]
        ray.wait(pending, num_returns=len(pending), timeout=_STOP_TIMEOUT_S) if pending else None
        reports: dict[str, list[dict[str, Any]]] = {}
        for replica, answer in zip(replicas, pending, strict=True):
            report: dict[str, Any] = {"name": replica.name, "base_url": replica.base_url}
            try:
                counts, status = ray.get(answer, timeout=0.1)
                report |= {**asdict(counts), "restarts": status.restarts, "state_at_stop": status.state}
            except ray.exceptions.RayError as error:
                report["lost"] = f"{type(error).__name__}: no counts from this replica"
                self._say(f"judge server {replica.name} could not be stopped in order: {type(error).__name__}")
            ray.kill(replica.actor)
            reports.setdefault(replica.judge, []).append(report)
        for name, report_of in reports.items():
            total = {key: sum(one.get(key, 0) for one in report_of) for key in (*asdict(ServerCounts()), "restarts")}
            text = json.dumps({"model": self._judges[name].model, **total, "replicas": report_of}, indent=2)
            (self._folder / f"{name}.json").write_text(text + "\n")

    def _address(self, replica: _Replica) -> str:
        try:
            base_url: str = ray.get(replica.actor.base_url.remote(), timeout=_PLACEMENT_TIMEOUT_S)
        except ray.exceptions.GetTimeoutError as error:
            raise RuntimeError(
                f"judge server {replica.name} was not placed within {_PLACEMENT_TIMEOUT_S:g} s; free in the cluster "
                f"are {ray.available_resources()}: lower judges.{replica.judge}.serve.replicas, gpus_per_replica or "
                "cpus_per_replica, or add nodes"
            ) from error
        return base_url

    def _actor(self, settings: JudgeSettings, serve: ServeSettings, index: int) -> Any:
        actor_class: Any = ray.remote(
            num_cpus=serve.cpus_per_replica,
            num_gpus=serve.gpus_per_replica,
            max_concurrency=4,
            scheduling_strategy="SPREAD",
        )(JudgeServer)
        return actor_class.remote(settings.model, serve, str(self._folder / f"{settings.name}-{index}.log"))
