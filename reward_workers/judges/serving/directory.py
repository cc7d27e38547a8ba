"""Where the judges are now: kept by the task runner, asked every two seconds by the reward workers.

A replica that moves to another node gets another address; the workers learn it here without a restart. With the same
call they tell which judges do not answer them, so that the run can say so where a person looks. Knows no Ray.
"""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from reward_workers.judges.outage import Outage
from reward_workers.judges.serving.health import WorkerHealth

Addresses = Mapping[str, tuple[str, ...]]
"""Base URLs of each judge by its key in the configuration."""


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """What a reward worker tells when it asks for addresses.

    Attributes:
        worker: name of the actor, such as ``reward_loop_worker_0``.
        version: of the addresses that it has; 0 before the first.
        outages: judges that do not answer it.
        restarted: true once, in the first report of an actor that took the place of a dead one.
        health: of its judges and its cache, for the metrics of a step.
    """

    worker: str
    version: int
    outages: tuple[Outage, ...] = ()
    restarted: bool = False
    health: WorkerHealth = field(default_factory=WorkerHealth)


class JudgeDirectory:
    """Thread-safe: the fleet publishes from one thread, reward workers ask in others."""

    def __init__(self) -> None:
        self._addresses: dict[str, tuple[str, ...]] = {}
        self._version = 1
        self._lock = threading.Lock()

    def publish(self, addresses: Mapping[str, Sequence[str]]) -> None:
        """Replace the addresses of the judges that are named; an empty list would leave nobody to ask: ValueError."""
        for judge, base_urls in addresses.items():
            if not base_urls:
                raise ValueError(f"judges.{judge} without an address: publish the last ones until there are others")
        with self._lock:
            self._addresses |= {judge: tuple(base_urls) for judge, base_urls in addresses.items()}
            self._version += 1

    def newer_than(self, version: int) -> tuple[int, Addresses] | None:
        """The addresses and their version, or None for a worker that has them already."""
        with self._lock:
            return None if version == self._version else (self._version, dict(self._addresses))


def host_name(run_dir: str) -> str:
    """Name of the Ray actor that answers ``judge_report`` for this run.

    Names are unique in a Ray namespace, and a user may put several runs into one; a run folder belongs to one run.
    """
    return f"patternrl:{run_dir}"
