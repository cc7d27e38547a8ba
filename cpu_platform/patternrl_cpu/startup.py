"""What happens when an interpreter starts (`patternrl_cpu.pth`): two import hooks are set, nothing heavy is imported.

A plugin would be too late for both: vLLM asks for the version of "vllm" while it imports, and its spawned EngineCore
imports torchvision before it loads plugins.
"""

import gc

from patternrl_cpu import torchvision_ops, vllm_name

# Importing torch, vLLM and verl makes a million objects and no garbage. With Python's 700 a fifth of that time goes
# into collections that find nothing, in each of a job's fifteen processes.
gc.set_threshold(50_000)
torchvision_ops.install()
vllm_name.install()
