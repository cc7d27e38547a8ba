"""Which of verl's reward workers this process is: each takes its share of the calls that a judge may get."""

from __future__ import annotations

import re

_NAME = re.compile(r"reward_loop_worker_([0-9]+)")
"""How verl 0.9.1 names the actors that it starts (experimental/reward_loop/reward_loop.py:301)."""


def worker_index(actor_name: str | None) -> int:
    """The index of a reward worker, 0..reward.num_workers-1, from the name of its actor.

    Raises:
        RuntimeError: verl names its reward workers in another way, or this is none.

    >>> worker_index("reward_loop_worker_3")
    3
    """
    match = _NAME.fullmatch(actor_name or "")
    if match is None:
        raise RuntimeError(
            f"the actor {actor_name!r} is no reward worker of verl 0.9.1 (reward_loop_worker_<i>): its share of the "
            "calls to the judges is unknown; use the verl release that pyproject.toml names"
        )
    return int(match[1])
