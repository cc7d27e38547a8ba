"""The `torch.<device>` module that verl's platform interface asks for, for a machine without an accelerator.

verl calls `get_torch_device().<name>()` with the names of `torch.cuda`; `torch.cpu` lacks most of them. Memory is the
process's resident memory and the machine's, in bytes, so that verl's memory metrics mean something on a CPU.
"""

from __future__ import annotations

import resource

import psutil
import torch
from torch.cpu import Stream, current_stream, stream

__all__ = ["Stream", "current_stream", "stream"]


def is_available() -> bool:
    return True


def is_initialized() -> bool:
    return True


def device_count() -> int:
    return 1


def current_device() -> torch.device:
    """A device, not an index: verl passes the answer to `.to(...)`, where an index would mean an accelerator."""
    return torch.device("cpu")


def set_device(device: int | str | torch.device) -> None:
    """There is one CPU device, and it is set."""


def get_device_name(device: int | None = None) -> str:
    return "CPU"


def synchronize(device: int | None = None) -> None:
    """CPU kernels have finished when they return."""


def empty_cache() -> None:
    """The CPU allocator keeps no cache to empty."""


def ipc_collect() -> None:
    """Weights travel through shared memory (`is_ipc_supported` is False): there are no handles to collect."""


def set_per_process_memory_fraction(fraction: float, device: int | None = None) -> None:
    """The operating system gives memory; there is no fraction to set."""


def memory_allocated(device: int | None = None) -> int:
    """Resident memory of this process, in bytes."""
    return int(psutil.Process().memory_info().rss)


memory_reserved = memory_allocated


def max_memory_allocated(device: int | None = None) -> int:
    """Peak resident memory of this process, in bytes (Linux counts ru_maxrss in KiB)."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


max_memory_reserved = max_memory_allocated


def reset_peak_memory_stats(device: int | None = None) -> None:
    """The kernel's peak cannot be reset by a process; it stays the peak of the whole run."""


def mem_get_info(device: int | None = None) -> tuple[int, int]:
    """Free and total memory of the machine, in bytes."""
    memory = psutil.virtual_memory()
    return int(memory.available), int(memory.total)


def manual_seed(seed: int) -> None:
    torch.manual_seed(seed)


manual_seed_all = manual_seed


def get_rng_state(device: int | None = None) -> torch.Tensor:
    return torch.get_rng_state()


def set_rng_state(state: torch.Tensor, device: int | None = None) -> None:
    torch.set_rng_state(state)
