"""The verl plugin (entry point group `verl.plugins`, verl/__init__.py:55): loaded by every `import verl`."""

from __future__ import annotations

import logging
import os

from verl.plugin.platform.platform_manager import PlatformRegistry

from patternrl_cpu.upstream import UpstreamChanged, torch_has_gpu_build


def load() -> None:
    """Registers the CPU platform and patches what has no official place; nothing where torch has a GPU build."""
    if torch_has_gpu_build():
        return
    from patternrl_cpu import verl_patches
    from patternrl_cpu.verl_platform import PlatformCPU

    # Detection asks nvidia-smi first (verl/plugin/platform/platform_cuda.py:48) and would choose "nvidia" on a machine
    # that has a GPU, although this torch cannot use it.
    os.environ.setdefault("VERL_PLATFORM", "cpu")
    # verl's own override (verl/workers/engine/base.py:405): the FSDP engine is registered for cuda and npu, and its
    # body knows no device.
    os.environ.setdefault("VERL_ENGINE_DEVICE", "cuda")
    PlatformRegistry.register(platform="cpu")(PlatformCPU)
    try:
        verl_patches.apply()
    except UpstreamChanged as refusal:
        logging.getLogger(__name__).error("%s", refusal)
        PlatformCPU.refusal = refusal


load()
