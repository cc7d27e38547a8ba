"""All judge servers of a job: started together, watched, replaced on another node when theirs is gone, and stopped.

Addresses are known at once, so that the policy can load while the judges do. Later changes are published.
"""

from __future__ import annotations

import json
import logging
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

import ray

from foundation.settings.judges import JudgeSettings
from reward_workers.judges.serving.health import ServerHealth
from reward_workers.judges.serving.server_metrics import ServerCounts
from reward_workers.judges.serving.server_process import ServerStatus
from reward_workers.judges.serving.servers import Replica, start_actor

_PROGRESS_EVERY_S = 15.0
_PLACEMENT_TIMEOUT_S = 120.0
_STOP_TIMEOUT_S = 30.0
_LOOK_EVERY_S = 1.0
_ANSWER_TIMEOUT_S = 5.0

logger = logging.getLogger(__name__)


def _publish_nothing(addresses: Mapping[str, Sequence[str]]) -> None:
    """For a fleet whose addresses nobody follows."""


class JudgeFleet:
    """The judges of a job that the job itself serves.

    Args:
        judges: the ``judges`` section; entries that are None are left out, those with ``base_urls`` are not served.
        folder: where logs (``<name>-<i>.log``) and final counts (``<name>.json``) go.
        say: receives progress lines.
        publish: receives the base URLs of the judges whenever they have changed.
    """

    def __init__(
        self,
        judges: Mapping[str, Mapping[str, Any] | None],
        folder: Path,
        say: Callable[[str], None] = logger.info,
        publish: Callable[[Mapping[str, Sequence[str]]], None] = _publish_nothing,
    ) -> None:
        self._judges = {
            name: JudgeSettings.from_config(section, name) for name, section in judges.items() if section is not None
        }
        self._folder = folder.absolute()
        self._say = say
        self._publish = publish
        self._published: dict[str, list[str]] = {}
        self._replicas: list[Replica] = []
        self._ended: dict[str, list[dict[str, Any]]] = defaultdict(list)
        self._started = 0.0
        self._stopping = threading.Event()
        self._watcher: threading.Thread | None = None

    # ---- start ----

    def launch(self) -> dict[str, list[str]]:
        """Start all replicas, publish and return the base URLs of every judge; the servers answer some time later.

        Raises:
            RuntimeError: the cluster has no room for a replica.
        """
        self._folder.mkdir(parents=True, exist_ok=True)
        self._started = time.monotonic()
        self._published = {name: list(s.base_urls) for name, s in self._judges.items() if s.base_urls}
        try:
            self._replicas = [
                Replica(name, index, self._actor(name, index))
                for name, settings in self._judges.items()
                if not settings.base_urls and settings.serve is not None
                for index in range(settings.serve.replicas)
            ]
            for replica in self._replicas:
                replica.base_url = self._first_address(replica)
        except BaseException:
            self.stop()
            raise
        for replica in self._replicas:
            self._say(f"judge server {replica.name} is starting at {replica.base_url}")
        self._publish(self._published)
        self._publish_changes()
        return dict(self._published)

    def wait_ready(self) -> None:
        """Wait until every replica answers; one whose node dies meanwhile is started on another.

        Raises:
            RuntimeError: one failed; the text has the last lines of its log. The others are stopped.
        """
        said = time.monotonic()
        while waiting := [replica for replica in self._replicas if replica.status.state != "ready"]:
            if time.monotonic() - said > _PROGRESS_EVERY_S:
                said = time.monotonic()
                names = ", ".join(replica.name for replica in waiting)
                self._say(f"waiting for {names} ({said - self._started:.0f} s)")
            self.look()
            failed = [replica for replica in self._replicas if replica.lost]
            if failed:
                self.stop()
                raise RuntimeError(f"judge server {failed[0].name} failed: {failed[0].lost}")
            self._stopping.wait(_LOOK_EVERY_S / 2)

    # ---- watch ----

    def watch(self) -> None:
        """From now on, look after the replicas in a thread of its own until :meth:`stop`."""
        self._watcher = threading.Thread(target=self._watch, name="judge fleet", daemon=True)
        self._watcher.start()

    def lost(self) -> str | None:
        """Why a judge will never answer again, all of its replicas being given up; None while there is hope."""
        for judge in {replica.judge for replica in self._replicas}:
            replicas = [replica for replica in self._replicas if replica.judge == judge]
            if all(replica.lost for replica in replicas):
                return "\n".join(f"judge server {replica.name} is given up: {replica.lost}" for replica in replicas)
        return None

    def health(self) -> dict[str, ServerHealth]:
        """The servers of each served judge as last seen, at most some seconds ago."""
        return {judge: self._health(judge) for judge in dict.fromkeys(replica.judge for replica in self._replicas)}

    def _health(self, judge: str) -> ServerHealth:
        replicas = [replica for replica in self._replicas if replica.judge == judge]
        ended: list[dict[str, Any]] = self._ended.get(judge, [])
        return ServerHealth(
            replicas=len(replicas),
            ready=sum(replica.serves and replica.status.state == "ready" for replica in replicas),
            restarts=sum(report["restarts"] for report in ended) + sum(r.status.restarts for r in replicas if r.actor),
            moves=sum(replica.moves for replica in replicas),
        )

    def look(self) -> None:
        """One round over all replicas: note what changed, replace those whose actor is gone, publish addresses."""
        asked = {r.actor.status.remote(): r for r in self._replicas if r.address is None and not r.lost}
        if asked:
            answered, _ = ray.wait(list(asked), num_returns=len(asked), timeout=_ANSWER_TIMEOUT_S)
            for answer in answered:
                self._note(asked[answer], answer)
        for replica in self._replicas:
            if replica.address is not None:
                self._take_address(replica)
        self._publish_changes()

    def _watch(self) -> None:
        while not self._stopping.wait(_LOOK_EVERY_S):
            try:
                self.look()
            except Exception:
                # The watch must go on: without it, the next dead node would go unnoticed.
                logger.exception("a look at the judge servers failed")

    def _note(self, replica: Replica, answer: Any) -> None:
        before = replica.status
        try:
            status, counts = ray.get(answer)
        except ray.exceptions.ActorDiedError:  # or its node: Ray says so some ten seconds after its last sign of life
            self._replace(replica, "its actor or node is dead")
            return
        except ray.exceptions.RayError:
            return  # out of reach for the moment; a second server beside a living one would take another GPU
        replica.status, replica.counts = status, counts
        if status == before:
            return
        replica.since, took_s = time.monotonic(), time.monotonic() - replica.since
        reason = status.failure.partition("\n")[0]
        if status.state == "failed":
            replica.lost = status.failure
            self._say(f"judge server {replica.name} is given up after {status.restarts} restarts: {reason}")
        elif status.restarts > before.restarts:
            self._say(f"judge server {replica.name}: {reason}; started again (restart {status.restarts})")
        elif status.state == "ready":
            self._say(f"judge server {replica.name} is ready after {took_s:.0f} s at {replica.base_url}")

    def _replace(self, replica: Replica, why: str) -> None:
        """Start the replica in a new actor, which Ray places where there is room."""
        self._ended[replica.judge].append(replica.report(end=why))
        serve = self._judges[replica.judge].serve
        assert serve is not None  # only served judges have replicas
        if replica.moves == serve.max_restarts:
            replica.lost = f"{why}, as {replica.moves} others before (judges.{replica.judge}.serve.max_restarts)"
            replica.actor = None
            self._say(f"judge server {replica.name} is given up: {replica.lost}")
            return
        self._say(f"judge server {replica.name} at {replica.base_url}: {why}; starting it on another node")
        replica.actor = self._actor(replica.judge, replica.index)
        replica.address = replica.actor.base_url.remote()
        replica.status, replica.counts = ServerStatus("starting", 0), ServerCounts()
        replica.since = time.monotonic()
        replica.moves += 1

    def _take_address(self, replica: Replica) -> None:
        placed, _ = ray.wait([replica.address], timeout=0)
        if placed:
            answer, replica.address = replica.address, None
            try:
                replica.base_url = ray.get(answer)
            except ray.exceptions.RayError as error:
                self._replace(replica, f"its new actor did not start ({type(error).__name__})")
                return
            self._say(f"judge server {replica.name} is starting at {replica.base_url}")
        elif time.monotonic() - replica.since > _PLACEMENT_TIMEOUT_S:
            replica.since = time.monotonic()
            self._say(f"judge server {replica.name} still waits for room: {_no_room(replica.judge)}")

    def _publish_changes(self) -> None:
        """Publish judges whose addresses changed; one without any keeps its last ones until there are others."""
        serving: dict[str, list[str]] = defaultdict(list)
        for replica in self._replicas:
            if replica.serves:
                serving[replica.judge].append(replica.base_url)
        changed = {judge: urls for judge, urls in serving.items() if urls != self._published.get(judge)}
        if changed:
            self._published |= changed
            self._publish(changed)

    # ---- end ----

    def metrics(self) -> dict[str, ServerCounts]:
        """Counts per served judge so far, from the servers' own metrics; of dead actors, what they told last."""
        totals: dict[str, ServerCounts] = {}
        for judge, reports in self._ended.items():
            totals[judge] = sum((_counts_of(report) for report in reports), ServerCounts())
        alive = [replica for replica in self._replicas if replica.serves]
        for replica, counts in zip(alive, ray.get([r.actor.metrics.remote() for r in alive]), strict=True):
            totals[replica.judge] = totals.get(replica.judge, ServerCounts()) + counts
        return totals

    def stop(self) -> None:
        """Stop all servers and write ``<folder>/<name>.json`` for each served judge; safe to call again."""
        self._stopping.set()
        if self._watcher is not None:
            self._watcher.join()
        kept, self._replicas = [r for r in self._replicas if r.actor is not None], []
        pending = {r.name: r.actor.stop.remote() for r in kept if r.address is None}  # the others hold no server yet
        if pending:
            ray.wait(list(pending.values()), num_returns=len(pending), timeout=_STOP_TIMEOUT_S)
        for replica in kept:
            end = "never placed"
            if replica.name in pending:
                end = self._final_report(replica, pending[replica.name])
            ray.kill(replica.actor)
            self._ended[replica.judge].append(replica.report(end))
        for judge, reports in self._ended.items():
            total = {key: sum(report[key] for report in reports) for key in (*asdict(ServerCounts()), "restarts")}
            text = json.dumps({"model": self._judges[judge].model, **total, "replicas": reports}, indent=2)
            (self._folder / f"{judge}.json").write_text(text + "\n")

    def _final_report(self, replica: Replica, answer: Any) -> str:
        """Take the last status and counts out of the answer to `stop`; returns how the replica ended."""
        try:
            replica.status, replica.counts = ray.get(answer, timeout=0.1)
        except ray.exceptions.RayError as error:
            self._say(f"judge server {replica.name} could not be stopped in order: {type(error).__name__}")
            return f"not stopped in order ({type(error).__name__}); counts as last told"
        return f"stopped while {replica.status.state}"

    def _first_address(self, replica: Replica) -> str:
        try:
            base_url: str = ray.get(replica.actor.base_url.remote(), timeout=_PLACEMENT_TIMEOUT_S)
        except ray.exceptions.GetTimeoutError as error:
            raise RuntimeError(
                f"judge server {replica.name} was not placed within {_PLACEMENT_TIMEOUT_S:g} s: "
                f"{_no_room(replica.judge)}"
            ) from error
        return base_url

    def _actor(self, judge: str, index: int) -> Any:
        settings = self._judges[judge]
        assert settings.serve is not None  # only served judges have replicas
        return start_actor(settings, settings.serve, self._folder / f"{judge}-{index}.log")


def _no_room(judge: str) -> str:
    return (
        f"free in the cluster are {ray.available_resources()}: lower judges.{judge}.serve.replicas, gpus_per_replica, "
        "cpus_per_replica or resources, or add nodes"
    )


def _counts_of(report: Mapping[str, Any]) -> ServerCounts:
    return ServerCounts(*(report[key] for key in asdict(ServerCounts())))
