"""The agent loops of a trainer, started as verl's own task runner starts them."""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig
from verl.trainer.main_ppo import TaskRunnerV1

_VerlTaskRunner: Any = TaskRunnerV1.__ray_metadata__.modified_class


def start_agent_loops(config: DictConfig, trainer: Any) -> Any:
    """The agent loop manager that `actor_rollout_ref.rollout.agent.agent_loop_manager_class` names.

    verl builds it in a method of its task runner (0.9.1, trainer/main_ppo.py:111), of which nothing else is used here.
    """
    runner = _VerlTaskRunner()
    runner.config, runner.trainer = config, trainer
    runner.init_agent_loop_manager()
    return runner.agent_loop_manager
