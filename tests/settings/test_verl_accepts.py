"""verl's own validation of every shipped experiment, and the places of ours that the tree names."""

from __future__ import annotations

import importlib.util

import pytest

from foundation.settings.compose import compose_config
from trainer.main import prepare

pytestmark = pytest.mark.integration


@pytest.mark.parametrize("experiment", ["quickstart", "base_rl_qwen3_vl_4b", "pattern_rl_qwen3_vl_8b"])
def test_verl_takes_the_tree(experiment: str):
    from verl.utils.config import omega_conf_to_dataclass, validate_config

    config = compose_config([f"experiment={experiment}", "dry_run=true"])
    prepare(config)
    validate_config(config, use_reference_policy=False, use_critic=False)
    actor = omega_conf_to_dataclass(config.actor_rollout_ref.actor)
    rollout = omega_conf_to_dataclass(config.actor_rollout_ref.rollout)
    update = "fp32" if experiment == "quickstart" else "bf16"
    assert actor.engine.strategy == "fsdp2"
    assert actor.engine.mixed_precision["param_dtype"] == update
    assert rollout.agent.agent_loop_manager_class == "rollout_workers.agent_loop.PatternAgentLoopManager"


def test_the_named_modules_exist():
    config = compose_config()
    names = [
        config.reward.reward_manager.module.path.removeprefix("pkg://"),
        config.trainer.v1.sampler.custom_sampler.path.removeprefix("pkg://"),
        config.actor_rollout_ref.rollout.agent.agent_loop_manager_class.rpartition(".")[0],
        config.corpus.oracle.partition(":")[0],
    ]
    for name in names:
        assert importlib.util.find_spec(name) is not None, name


def test_verl_and_its_configuration_are_found_where_verl_is():
    import verl

    from foundation.settings.compose import verl_config_dir

    assert verl_config_dir().startswith(str(verl.__path__[0]))
