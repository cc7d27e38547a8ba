"""One quickstart job in stock verl: its own agent loop, replay buffer, task runner and a rule-only reward.

    python -m benchmarks.stock_verl OUT.jsonl [key=value ...]

The other side of `benchmarks.step`: same models, data, batch and engine settings; nothing of this project runs but the
CPU platform and the composition of the settings.
"""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path
from typing import Any

from omegaconf import OmegaConf, open_dict

from foundation.settings.compose import anchor_paths, compose_config

_BOX = re.compile(r"\\boxed\{([^{}]*)\}")


def exact_match(data_source: str, solution_str: str, ground_truth: str, extra_info: Any = None, **_: Any) -> float:
    """The cheapest reward there is: 1.0 where the last box holds the reference, letter by letter."""
    boxes = _BOX.findall(solution_str)
    return float(bool(boxes) and boxes[-1].strip() == ground_truth)


def stock_config(overrides: list[str]) -> Any:
    """The quickstart's settings with every place that this project fills put back to verl's default."""
    config = compose_config(["experiment=quickstart", "reward_mix=base_rl", *overrides])
    anchor_paths(config)
    OmegaConf.resolve(config)
    with open_dict(config):
        rollout = config.actor_rollout_ref.rollout
        rollout.agent.agent_loop_manager_class = None
        rollout.agent.default_agent_loop = "single_turn_agent"
        config.actor_rollout_ref.model.external_lib = None
        config.reward.reward_manager.source = "register"
        config.reward.reward_manager.name = "naive"
        config.reward.custom_reward_function.path = str(Path(__file__).resolve())
        config.reward.custom_reward_function.name = exact_match.__name__
        config.trainer.v1.sampler.custom_sampler = None
        config.trainer.v1.sampler.sampler_kwargs = {}
        config.trainer.logger = ["file"]
        config.trainer.resume_mode = "disable"  # the run folder may hold a finished quickstart
        for section in ("run", "policy", "corpus", "reward_mix", "judges", "cluster", "tracking", "dry_run", "seed"):
            config.pop(section, None)
    return config


def main() -> None:
    out, *overrides = sys.argv[1:]
    os.environ["VERL_FILE_LOGGER_PATH"] = str(Path(out).absolute())
    config = stock_config(overrides)
    from verl.trainer.main_ppo import TaskRunnerV1, run_ppo

    with open_dict(config):
        config.ray_kwargs.ray_init.runtime_env.env_vars.VERL_FILE_LOGGER_PATH = os.environ["VERL_FILE_LOGGER_PATH"]
    run_ppo(config, TaskRunnerV1)


if __name__ == "__main__":
    main()
