"""What verl needs on a CPU and offers no setting for."""

from __future__ import annotations

from functools import wraps
from typing import Any

from patternrl_cpu.upstream import require_version

VERL = "0.9.1"


def apply() -> None:
    """Applies every patch of verl.

    Raises:
        UpstreamChanged: another verl is installed.
    """
    one_backend_a_device()


def one_backend_a_device() -> None:
    """verl/utils/distributed.py:89: the process group asks for "cpu:gloo" alone instead of "cpu:gloo,cpu:gloo".

    verl writes "cpu:gloo,{device}:{backend}", and torch refuses a device that is named twice. The function takes a
    backend; verl/workers/engine_workers.py:89 does not pass one.
    """
    require_version("verl", VERL, 'verl/utils/distributed.py:89 (backend "cpu:gloo,cpu:gloo")')
    from verl.utils import distributed

    original = distributed.initialize_global_process_group_ray
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def initialize_global_process_group_ray(timeout_second: int | None = None, backend: str | None = None) -> Any:
        return original(timeout_second=timeout_second, backend=backend or "cpu:gloo")

    distributed.initialize_global_process_group_ray = initialize_global_process_group_ray
