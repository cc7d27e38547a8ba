"""Composition: groups, precedence, derived values, and the one line that an unknown key gets."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from foundation.settings.compose import CONFIG_DIR, ConfigError, anchor_paths, compose_config, is_hub_id
from foundation.settings.verl_keys import OUR_SECTIONS, VERL_SECTIONS

EXPERIMENTS = (
    "quickstart",
    "miniature",
    "base_rl_qwen3_vl_4b",
    "pattern_rl_qwen3_vl_4b",
    "base_rl_qwen3_vl_8b",
    "pattern_rl_qwen3_vl_8b",
)


def message(overrides: list[str]) -> str:
    with pytest.raises(ConfigError) as caught:
        compose_config(overrides)
    assert len(caught.value.problems) == 1
    return caught.value.problems[0]


def test_the_shipped_experiments_are_these():
    assert {path.stem for path in (CONFIG_DIR / "experiment").glob("*.yaml")} == set(EXPERIMENTS)


def test_the_default_is_the_quickstart():
    config = compose_config()
    assert config.run.name == "quickstart_pattern_rl"
    assert config.trainer.device == "cpu"


def test_a_group_on_the_command_line_beats_the_experiment():
    assert (
        compose_config(["experiment=pattern_rl_qwen3_vl_4b", "reward_mix=base_rl"]).reward_mix.pattern_penalty is False
    )
    assert compose_config(["experiment=pattern_rl_qwen3_vl_4b", "cluster=one_node_8gpu"]).cluster.nodes == 1


def test_runs_with_and_without_penalty_do_not_share_a_folder():
    folders = {compose_config(["reward_mix=" + mix]).run.dir for mix in ("pattern_rl", "base_rl")}
    assert len(folders) == 2


@pytest.mark.parametrize("experiment", ["pattern_rl_qwen3_vl_4b", "base_rl_qwen3_vl_4b"])
def test_the_values_that_the_paper_gives(experiment: str):
    config = compose_config([f"experiment={experiment}"])
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    assert config.algorithm.adv_estimator == "grpo"
    assert (config.data.train_batch_size, actor.ppo_mini_batch_size, actor.ppo_micro_batch_size_per_gpu) == (
        128,
        128,
        1,
    )
    assert (config.data.max_prompt_length, config.data.max_response_length) == (2048, 16384)
    assert (rollout.n, rollout.temperature, rollout.top_p, rollout.tensor_model_parallel_size) == (8, 1.0, 1.0, 2)
    assert (actor.optim.lr, actor.clip_ratio_low, actor.clip_ratio_high) == (1e-6, 0.2, 0.2)
    assert (actor.use_kl_loss, config.algorithm.use_kl_in_reward, actor.entropy_coeff) == (False, False, 0)
    assert (config.trainer.total_epochs, config.trainer.total_training_steps, config.seed) == (5, 600, 42)
    assert config.policy.path == "Qwen/Qwen3-VL-4B-Instruct"
    assert config.reward_mix.pattern_penalty is experiment.startswith("pattern")


def test_the_reward_that_the_paper_gives():
    mix = compose_config(["experiment=pattern_rl_qwen3_vl_8b"]).reward_mix
    assert mix.weights == {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}
    assert (mix.cap, mix.gate.probability, mix.gate.scope) == (0.1, 0.6, "rollout")
    assert (mix.penalty, mix.labels.source, mix.schedule) == ("hard", "pattern_rm", {"kind": "constant"})


@pytest.mark.parametrize("mix", ["pattern_rl", "base_rl"])
def test_the_8b_runs_take_400_steps(mix: str):
    config = compose_config([f"experiment={mix}_qwen3_vl_8b"])
    assert config.trainer.total_training_steps == 400
    assert config.policy.path == "Qwen/Qwen3-VL-8B-Instruct"


def test_one_seed_reaches_every_random_choice():
    config = compose_config(["seed=7"])
    assert config.reward_mix.gate.seed == 7
    assert config.data.seed == 7
    assert config.actor_rollout_ref.rollout.seed == 7
    assert config.actor_rollout_ref.actor.data_loader_seed == 7
    assert config.actor_rollout_ref.actor.fsdp_config.seed == 7


def test_one_clip_ratio_reaches_both_bounds():
    actor = compose_config(["actor_rollout_ref.actor.clip_ratio=0.3"]).actor_rollout_ref.actor
    assert (actor.clip_ratio_low, actor.clip_ratio_high) == (0.3, 0.3)


@pytest.mark.parametrize(("mode", "thinks"), [("nt", False), ("t", True)])
def test_the_mode_reaches_the_chat_template(mode: str, thinks: bool):
    config = compose_config([f"policy.mode={mode}"])
    assert config.data.apply_chat_template_kwargs == {"enable_thinking": thinks}


def test_the_update_precision_is_the_one_that_verl_reads():
    config = compose_config(["policy.update_dtype=bf16"])
    assert config.actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype == "bf16"


def test_every_section_of_the_tree_is_known():
    assert set(compose_config()) == VERL_SECTIONS | OUR_SECTIONS


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("reward_mix.weihgts.cot=1", ("reward_mix.weihgts", "'weights'")),
        ("reward_mix.gate.probabilty=0.5", ("reward_mix.gate.probabilty", "'probability'")),
        ("trainer.total_training_step=4", ("trainer.total_training_step", "'total_training_steps'")),
        ("actor_rollout_ref.rolout.n=4", ("actor_rollout_ref.rolout", "'rollout'")),
        ("judges.fallback.serve.replica=2", ("judges.fallback.serve.replica", "'replicas'")),
        ("experimnet=quickstart", ("experimnet", "'experiment'")),
        ("reward_mix/schedule=curiculum", ("reward_mix/schedule=curiculum", "'curriculum'")),
        ("reward_mix/shedule=constant", ("reward_mix/shedule", "'reward_mix/schedule'")),
        ("experiment=quickstrat", ("experiment=quickstrat", "'quickstart'")),
    ],
)
def test_a_misspelt_key_is_one_line_with_the_nearest_right_one(override: str, parts: tuple[str, ...]):
    text = message([override])
    assert "\n" not in text
    assert all(part in text for part in parts)


def test_an_override_without_value_says_how_to_write_one():
    assert "key=value" in message(["seed"])


def test_relative_paths_are_the_callers(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    config = compose_config(["corpus.train_files=[a.parquet,b.parquet]", "run.dir=out", "policy.path=./model"])
    anchor_paths(config)
    assert config.data.train_files == [str(tmp_path / "a.parquet"), str(tmp_path / "b.parquet")]
    assert config.trainer.default_local_dir == str(tmp_path / "out/checkpoints")
    assert config.actor_rollout_ref.model.path == str(tmp_path / "model")


def test_a_hub_id_stays_one_unless_its_first_part_is_a_folder_here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    assert is_hub_id("assets/policy")
    (tmp_path / "assets").mkdir()
    assert not is_hub_id("assets/policy")
    assert not is_hub_id("/abs/model")
    assert not is_hub_id("a/b/c")


def test_no_shipped_value_is_missing():
    for experiment in EXPERIMENTS:
        config = compose_config([f"experiment={experiment}"])
        for section in OUR_SECTIONS:
            assert not OmegaConf.is_missing(config, section)
            if OmegaConf.is_config(config[section]):
                OmegaConf.to_container(config[section], resolve=True, throw_on_missing=True)
