"""The state of the reward service at the end of a step, beside what its records count (no torch, no ray, no verl).

servers/<judge>/{replicas,ready,restarts,moves}   servers that the job runs; counts since the start of the job
endpoints/<judge>/{known,admitting}               of the reward worker that may ask the fewest (others: breaker open)
memory/<judge>                                    results that all reward workers remember
cache/{mb,workers_off}                            size of the judge cache of all nodes, workers that left it out of use
reward_workers/{reporting,restarts}               those heard of lately, and how often one died and was started again
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import asdict

from reward_workers.judges.serving.directory import WorkerReport
from reward_workers.judges.serving.health import ServerHealth, WorkerHealth
from trainer.frame.judge_notices import FORGET_AFTER_S


class ServiceMetrics:
    """Keeps the last report of each reward worker; `heard` may be called from any thread."""

    def __init__(self, clock: Callable[[], float] = time.monotonic) -> None:
        self._clock = clock
        self._reports: dict[str, tuple[float, WorkerHealth]] = {}
        self._restarts = 0
        self._lock = threading.Lock()

    def heard(self, report: WorkerReport) -> None:
        with self._lock:
            self._reports[report.worker] = (self._clock(), report.health)
            self._restarts += report.restarted

    def metrics(self, servers: Mapping[str, ServerHealth]) -> dict[str, float]:
        """The metrics of this moment.

        Args:
            servers: of the judges that the job serves, by judge.
        """
        with self._lock:
            now = self._clock()
            self._reports = {w: r for w, r in self._reports.items() if now - r[0] <= FORGET_AFTER_S}
            workers = [health for _, health in self._reports.values()]
            found = {"reward_workers/reporting": len(workers), "reward_workers/restarts": self._restarts}
        for judge, health in servers.items():
            found |= {f"servers/{judge}/{name}": count for name, count in asdict(health).items()}
        for judge in dict.fromkeys(judge for worker in workers for judge in worker.judges):
            seen = [worker.judges[judge] for worker in workers if judge in worker.judges]
            worst = min(seen, key=lambda health: health.admitting)
            found |= {f"endpoints/{judge}/known": worst.endpoints, f"endpoints/{judge}/admitting": worst.admitting}
            found[f"memory/{judge}"] = sum(health.in_memory for health in seen)
        caches = [worker.cache for worker in workers if worker.cache is not None]
        metrics = {name: float(count) for name, count in found.items()}
        if caches:
            metrics["cache/mb"] = sum({cache.folder: cache.size_bytes for cache in caches}.values()) / 1e6
            metrics["cache/workers_off"] = float(sum(cache.is_off for cache in caches))
        return metrics
