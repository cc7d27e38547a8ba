"""`policy.freeze_vision_tower=true`, and it really freezes.

verl declares `actor.freeze_vision_tower` (verl 0.9.1, workers/config/actor.py:161); its FSDP engine does not read it.
`install` wraps two methods of that engine; `rollout_workers.freeze_vision_on` is the module that verl imports in every
worker when the setting is on (`actor_rollout_ref.model.external_lib`).
"""

from __future__ import annotations

import inspect
import logging
from functools import wraps
from typing import Any

from rollout_workers.upstream import require_verl

logger = logging.getLogger(__name__)

VISION_PARTS = frozenset({"visual", "vision_tower", "vision_model"})
"""Names of the vision tower in the module tree: Qwen-VL, then LLaVA and Kimi, then CLIP-like models."""


def freeze_vision_tower(module: Any) -> int:
    """Turn gradients off for all parameters of the vision tower, adapters in it included.

    Returns:
        The number of frozen parameter tensors.

    Raises:
        ValueError: the model has no vision tower.
    """
    frozen = 0
    for name, parameter in module.named_parameters():
        if not VISION_PARTS.isdisjoint(name.split(".")):
            parameter.requires_grad_(False)
            frozen += 1
    if not frozen:
        raise ValueError(
            f"policy.freeze_vision_tower=true, but {type(module).__name__} has no parameter below any of "
            f"{sorted(VISION_PARTS)}: set it to false, or add the name of its vision tower to "
            f"rollout_workers/freeze_vision.py"
        )
    return frozen


def install() -> None:
    """Make verl's FSDP engine freeze the vision tower of every model that it builds in this process. Idempotent.

    Two places of verl 0.9.1, workers/engine/fsdp/transformer_impl.py:
    `_build_fsdp_module` (line 385, called at 613), after LoRA and before sharding: gradients off;
    `_build_optimizer` (line 496, called at 618): it passes all parameters on, here only those that learn.

    Raises:
        RuntimeError: another verl, or the two methods are not what they were.
    """
    import verl
    from verl.workers.engine.fsdp.transformer_impl import FSDPEngine

    require_verl(verl.__version__, "rollout_workers.freeze_vision")
    if getattr(FSDPEngine, "_patternrl_freezes_vision", False):
        return
    check_engine(FSDPEngine)
    build_fsdp_module, build_optimizer = FSDPEngine._build_fsdp_module, FSDPEngine._build_optimizer

    @wraps(build_fsdp_module)
    def frozen_fsdp_module(self: Any, module: Any) -> Any:
        if self.engine_config.strategy != "fsdp2":
            raise ValueError(
                f"policy.freeze_vision_tower=true needs actor_rollout_ref.actor.strategy=fsdp2, not "
                f"{self.engine_config.strategy!r}: fsdp flattens frozen and learning parameters into one tensor"
            )
        logger.info("froze %d parameter tensors of the vision tower", freeze_vision_tower(module))
        return build_fsdp_module(self, module)

    @wraps(build_optimizer)
    def optimizer_of_learning_parameters(self: Any, module: Any) -> Any:
        return build_optimizer(self, _LearningPart(module))

    FSDPEngine._build_fsdp_module = frozen_fsdp_module
    FSDPEngine._build_optimizer = optimizer_of_learning_parameters
    FSDPEngine._patternrl_freezes_vision = True


def check_engine(engine: type) -> None:
    """Refuse an engine that builds its model or optimizer otherwise than `install` assumes.

    Raises:
        RuntimeError: a method is missing or has another body.
    """
    expected = {
        "_build_model_optimizer": (
            "module = self._build_fsdp_module(module)",
            "optimizer = self._build_optimizer(module)",
        ),
        "_build_optimizer": ("build_optimizer(module.parameters(), self.optimizer_config)",),
    }
    for method, lines in expected.items():
        source = inspect.getsource(inspect.unwrap(getattr(engine, method))) if hasattr(engine, method) else ""
        for line in lines:
            if line not in source:
                raise RuntimeError(
                    f"verl's {engine.__name__}.{method} no longer contains {line!r}: the vision tower would not be "
                    f"frozen; adapt rollout_workers/freeze_vision.py"
                )


class _LearningPart:
    """The view of a module that an optimizer needs: the parameters that learn."""

    def __init__(self, module: Any):
        self._module = module

    def parameters(self) -> list[Any]:
        return [parameter for parameter in self._module.parameters() if parameter.requires_grad]
