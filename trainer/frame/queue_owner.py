"""A Ray cluster runs one job of verl's V1 trainer at a time, because its TransferQueue has one name in a cluster.

`transfer_queue.init` (0.1.11, interface.py:119) joins whatever controller is there, also that of another job: a second
job would draw rollouts of the first, and lose its queue when the first one ends. So a second one waits or is refused.
"""

from __future__ import annotations

import ray.util

CONTROLLER = {"name": "TransferQueueController", "namespace": "transfer_queue"}


def queue_in_use() -> bool:
    """Whether a job of this cluster has a TransferQueue; Ray must be connected."""
    return CONTROLLER in ray.util.list_named_actors(all_namespaces=True)


def require_free_queue() -> None:
    """Called before a job makes its own.

    Raises:
        RuntimeError: another job of this cluster has one.
    """
    if queue_in_use():
        raise RuntimeError(
            "another job trains on this Ray cluster, and verl's TransferQueue has one name in a cluster: wait until "
            "that job has ended (ray job list), or use a cluster of its own"
        )
