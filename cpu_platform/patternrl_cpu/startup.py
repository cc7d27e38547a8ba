"""What happens when an interpreter starts (`patternrl_cpu.pth`): two import hooks are set, nothing is imported.

A plugin would be too late for both: vLLM asks for the version of "vllm" while it imports, and its spawned EngineCore
imports torchvision before it loads plugins.
"""

from patternrl_cpu import torchvision_ops, vllm_name

torchvision_ops.install()
vllm_name.install()
