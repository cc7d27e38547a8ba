"""Environment variables of all Ray workers of a job: verl's, and over them those of the user.

On a CPU the driver works verl's out without importing verl, which would take it ten seconds before Ray starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from typing import Any

from omegaconf import DictConfig, OmegaConf

_CONSTANT = {
    "TOKENIZERS_PARALLELISM": "true",
    "NCCL_DEBUG": "WARN",
    "VLLM_LOGGING_LEVEL": "WARN",
    "VLLM_ALLOW_RUNTIME_LORA_UPDATING": "true",
    "VLLM_DISABLE_COMPILE_CACHE": "1",
    "HCCL_HOST_SOCKET_PORT_RANGE": "auto",
    "HCCL_NPU_SOCKET_PORT_RANGE": "auto",
    "HSA_NO_SCRATCH_RECLAIM": "1",
}
"""Left out where the driver's own environment has them: Ray's workers inherit that."""
_ON_OR_OFF = ("VERL_FULL_DETERMINISM", "VLLM_BATCH_INVARIANT", "VERL_RL_INSIGHT_ENABLE")
_PASSED_ON = (
    "PYTHONHASHSEED",
    "CUBLAS_WORKSPACE_CONFIG",
    "FLASH_ATTENTION_DETERMINISTIC",
    "NCCL_DETERMINISTIC",
    "NCCL_ALGO",
)
_RAY_JOB_CONFIG = "RAY_JOB_CONFIG_JSON_ENV_VAR"
"""What Ray's job server tells the process of a submitted job."""


def ray_environment(config: DictConfig) -> dict[str, Any]:
    """The runtime environment for `ray.init`: `ray_kwargs.ray_init.runtime_env` over verl's, with TransferQueue."""
    stock = cpu_environment() if config.cluster.device == "cpu" else _verl_environment(config)
    stock["env_vars"]["TRANSFER_QUEUE_ENABLE"] = "1"
    given = config.ray_kwargs.ray_init.get("runtime_env")
    return merge_runtime_env(stock, OmegaConf.to_container(given, resolve=True) if given else {})  # type: ignore[arg-type]


def cpu_environment() -> dict[str, Any]:
    """What verl's `get_ppo_ray_runtime_env` (0.9.1, trainer/constants_ppo.py:102) returns where torch has no GPU."""
    environment: dict[str, Any] = {"env_vars": {k: v for k, v in _CONSTANT.items() if os.environ.get(k) is None}}
    job = json.loads(os.environ.get(_RAY_JOB_CONFIG, "{}"))
    if job.get("runtime_env", {}).get("working_dir") is None:
        environment["working_dir"] = None
    variables = environment["env_vars"]
    variables |= {key: os.environ.get(key, "0") for key in _ON_OR_OFF}
    variables |= {key: os.environ[key] for key in _PASSED_ON if key in os.environ}
    return environment


def _verl_environment(config: DictConfig) -> dict[str, Any]:
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env  # asks the GPU for its compute capability

    return get_ppo_ray_runtime_env(config)


def merge_runtime_env(stock: Mapping[str, Any], given: Mapping[str, Any]) -> dict[str, Any]:
    """verl's runtime environment with the user's `ray_init.runtime_env` over it, variable by variable."""
    variables = {**stock.get("env_vars", {}), **given.get("env_vars", {})}
    return {**stock, **given, "env_vars": variables}
