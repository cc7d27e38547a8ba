"""A CPU for verl's platform registry: verl/plugin/platform/platform_base.py, verl's own place for a new device."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType

import torch
from verl.plugin.platform.platform_base import PlatformBase

from patternrl_cpu import cpu_device
from patternrl_cpu.upstream import UpstreamChanged


class PlatformCPU(PlatformBase):
    """One CPU device, gloo, and Ray's "GPU" resource handed out as a logical count.

    verl's placement groups and its resource check read only "GPU" and "NPU". A CPU run gives Ray `num_gpus: N` logical
    GPUs, and each of verl's workers takes one of them: nothing of verl has to know.
    """

    refusal: UpstreamChanged | None = None
    """Why the patches were refused. verl logs what a plugin raises at debug level only (verl/__init__.py:75) and would
    go on without a platform; it asks `is_available` unguarded, so the refusal is raised there."""

    @property
    def device_name(self) -> str:
        return "cpu"

    @property
    def vendor_name(self) -> str:
        return "cpu"

    @property
    def device_module(self) -> ModuleType:
        return cpu_device

    def is_available(self) -> bool:
        if self.refusal is not None:
            raise self.refusal
        return True

    def is_platform_available(self, use_smi_check: bool = False) -> bool:
        """Asked during detection, where verl swallows what is raised: the refusal waits for `is_available`."""
        return True

    def current_device(self) -> torch.device:  # a device, see cpu_device
        return cpu_device.current_device()

    def device_count(self) -> int:
        return cpu_device.device_count()

    def set_device(self, device_index: int) -> None:
        cpu_device.set_device(device_index)

    def synchronize(self, device_index: int | None = None) -> None:
        cpu_device.synchronize(device_index)

    def manual_seed(self, seed: int) -> None:
        cpu_device.manual_seed(seed)

    def manual_seed_all(self, seed: int) -> None:
        cpu_device.manual_seed_all(seed)

    def set_allocator_settings(self, settings: str) -> None:
        """`expandable_segments` is a setting of the CUDA allocator."""

    def empty_cache(self) -> None:
        cpu_device.empty_cache()

    def get_device_capability(self, device_index: int = 0) -> tuple[int | None, int | None]:
        return None, None

    def communication_backend_name(self) -> str:
        return "gloo"

    def visible_devices_envvar(self) -> str:
        return "CUDA_VISIBLE_DEVICES"  # Ray sets it for its "GPU" resource, logical or not

    @contextmanager
    def nvtx_range(self, msg: str) -> Iterator[None]:
        yield

    def profiler_start(self) -> None:
        """There is no device profiler on a CPU."""

    def profiler_stop(self) -> None:
        """There is no device profiler on a CPU."""

    def ray_resource_name(self) -> str:
        return "GPU"

    def ray_noset_envvars(self) -> list[str]:
        return ["RAY_EXPERIMENTAL_NOSET_CUDA_VISIBLE_DEVICES"]

    def is_ipc_supported(self) -> bool:
        return False  # weights go to vLLM through shared memory

    def cudart(self) -> None:
        return None
