"""The state of the reward service at one moment, for the metrics of a step. Plain records: no Ray, no I/O."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True)
class JudgeHealth:
    """What one reward worker sees of one judge.

    Attributes:
        endpoints: servers that it knows of.
        admitting: those of them that may be asked now; the breakers of the others are open.
        in_memory: results that it remembers.
    """

    endpoints: int
    admitting: int
    in_memory: int


@dataclass(frozen=True, slots=True)
class CacheHealth:
    """The judge cache on disk as one reward worker sees it.

    Attributes:
        folder: one for each node.
        size_bytes: of its files.
        is_off: this worker has left it out of use.
    """

    folder: str
    size_bytes: int
    is_off: bool


@dataclass(frozen=True, slots=True)
class WorkerHealth:
    """A reward worker's judges by their keys in the configuration, and its cache; None without one."""

    judges: Mapping[str, JudgeHealth] = field(default_factory=dict)
    cache: CacheHealth | None = None


@dataclass(frozen=True, slots=True)
class ServerHealth:
    """The servers of one judge that the job runs itself.

    Attributes:
        replicas: servers that there should be.
        ready: those that answer.
        restarts: how often one was started again by its actor, since the start of the job.
        moves: how often one was started in another actor, because its own or its node was dead.
    """

    replicas: int
    ready: int
    restarts: int
    moves: int
