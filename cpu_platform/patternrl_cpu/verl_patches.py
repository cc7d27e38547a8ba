"""What verl needs on a CPU and offers no setting for."""

from __future__ import annotations

import sys
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
    no_ascend_checkpoints()


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


def no_ascend_checkpoints() -> None:
    """verl/checkpoint_engine/__init__.py:47: the engine for Ascend is taken as missing, which it is on a CPU.

    Its module imports vllm (hccl_checkpoint_engine.py:25) before it asks whether there is an NPU (:38) and says that it
    is not available. So vllm, and with it torch's compiler, was loaded by every process of a job that imports verl's
    trainer: 1.5 s of a core in each. verl records the ImportError and goes on, as it does after the question.
    """
    require_version("verl", VERL, "verl/checkpoint_engine/__init__.py:47 (HCCLCheckpointEngine)")
    sys.modules.setdefault(_ASCEND, None)  # type: ignore[arg-type]  # importing it raises ImportError


_ASCEND = "verl.checkpoint_engine.hccl_checkpoint_engine"
