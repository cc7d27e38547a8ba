"""The typed check of our sections, and of verl's keys that would be ignored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from omegaconf import DictConfig

from trainer.compose import ConfigError
from trainer.settings import read_settings
from trainer.verl_keys import cautions, check_verl_keys

Tree = Callable[[Sequence[str]], DictConfig]


def problems(tree: Tree, *overrides: str) -> tuple[str, ...]:
    with pytest.raises(ConfigError) as caught:
        read_settings(tree(overrides))
    return caught.value.problems


def test_base_rl_asks_no_pattern_judge(tree: Tree):
    assert list(read_settings(tree(["reward_mix=base_rl"])).judges) == ["fallback"]
    assert list(read_settings(tree([])).judges) == ["fallback", "pattern_rm"]


def test_base_rl_does_not_need_a_pattern_judge(tree: Tree):
    overrides = ["reward_mix=base_rl", "judge=external", "judges.fallback.base_urls=[http://h/v1]"]
    assert read_settings(tree(overrides)).pattern_rm is None


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("reward_mix.gate.probability=1.4", ("reward_mix.gate.probability=1.4", "1")),
        ("reward_mix.gate.probability=-0.1", ("reward_mix.gate.probability=-0.1", "0")),
        ("reward_mix.weights.cot=-0.05", ("reward_mix.weights.cot=-0.05", "greater than or equal to 0")),
        ("reward_mix.cap=2", ("reward_mix.cap=2",)),
        ("reward_mix.gate.scope=prompt", ("reward_mix.gate.scope='prompt'", "'rollout' or 'group'")),
        ("reward_mix.on_unscored=zero", ("reward_mix.on_unscored='zero'", "'drop_group'")),
        ("reward_mix.threshold=true", ("reward_mix.threshold=True", "number")),
        ("+reward_mix.gate.skope=group", ("reward_mix.gate.skope", "did you mean 'scope'")),
        ("+reward_mix.wieghts=1", ("reward_mix.wieghts", "did you mean 'weights'")),
        ("+policy.freeze_vision=true", ("policy.freeze_vision", "did you mean 'freeze_vision_tower'")),
        ("~reward_mix.cap", ("reward_mix.cap is missing",)),
        ("policy.mode=think", ("policy.mode='think'", "'nt'")),
        ("policy.family=qwen9", ("policy.family='qwen9'", "qwen3_vl")),
        ("corpus.train_files=3", ("corpus.train_files=3", "parquet")),
        ("corpus.train_files=[]", ("corpus.train_files=[]", "parquet")),
        ("run.name=a/b", ("run.name='a/b'",)),
        ("seed=x", ("seed='x'", "whole number")),
        ("dry_run=maybe", ("dry_run='maybe'", "true or false")),
        ("judges.fallback.model=null", ("judges.fallback.model", "set")),
        ("judges.pattern_rm.serve=null", ("judges.pattern_rm", "base_urls")),
        ("judges.pattern_rm=null", ("judges.pattern_rm is missing", "judge=")),
        ("judges.fallback.base_urls=[http://h/v1]", ("judges.fallback", "serve=null")),
        ("judges.fallback.total_timeout_s=500", ("judges.fallback.total_timeout_s=500", "reward_mix.max_wait_s=120")),
        (
            "judges.fallback.serve.gpus_per_replica=1",
            ("judges.fallback.serve.gpus_per_replica=1", "cluster.device=cpu"),
        ),
        ("reward_mix.cap=0", ("reward_mix.cap=0", "base_rl")),
    ],
)
def test_a_wrong_value_is_one_line_with_key_value_and_advice(tree: Tree, override: str, parts: tuple[str, ...]):
    found = [text for text in problems(tree, override) if all(part in text for part in parts)]
    assert found, problems(tree, override)
    assert all("\n" not in text for text in found)


def test_all_problems_come_at_once(tree: Tree):
    found = problems(
        tree, "reward_mix.gate.probability=1.4", "reward_mix.weights.rep=-1", "policy.mode=x", "run.name=' '"
    )
    assert len(found) == 4


def test_watching_labels_needs_the_pattern_judge(tree: Tree):
    assert "weights 0" in problems(tree, "reward_mix=base_rl", "reward_mix.score_incorrect=true")[0]
    zero = [f"reward_mix.weights.{label}=0" for label in ("cot", "rep", "con", "pr")]
    assert read_settings(tree(zero)).pattern_rm is not None


def test_tensor_parallel_replicas_take_as_many_gpus(tree: Tree):
    text = problems(tree, "experiment=pattern_rl_qwen3_vl_4b", "judges.fallback.serve.tensor_parallel_size=2")[0]
    assert "judges.fallback.serve.tensor_parallel_size=2" in text
    assert "gpus_per_replica=1" in text


@pytest.mark.parametrize(
    ("override", "advice"),
    [
        ("reward_model.enable=true", "judges.pattern_rm"),
        ("reward_model.model.path=x", "judges.pattern_rm"),
        ("custom_reward_function.path=reward.py", "reward_mix"),
        ("sandbox_fusion.url=http://h", "reward_mix.verifier"),
        ("reward.reward_model.enable=true", "judges.pattern_rm"),
        ("reward.custom_reward_function.path=reward.py", "reward_mix"),
        ("reward.reward_manager.name=naive", "reward_mix"),
        ("actor_rollout_ref.actor.freeze_vision_tower=true", "policy.freeze_vision_tower"),
        ("actor_rollout_ref.actor.fsdp_config.dtype=float16", "policy.update_dtype"),
        ("trainer.use_v1=false", "V1"),
        ("trainer.logger=[console]", "tracking.kind"),
        ("data.train_files=other.parquet", "corpus.train_files"),
        ("actor_rollout_ref.model.path=other", "policy.path"),
        ("trainer.nnodes=2", "cluster.policy.nodes"),
        ("actor_rollout_ref.model.external_lib=my.module", "policy.freeze_vision_tower"),
        ("trainer.default_local_dir=elsewhere", "run.dir"),
        ("+rewrd_mix.cap=1", "did you mean 'reward_mix'"),
    ],
)
def test_a_key_that_would_be_ignored_names_the_right_one(tree: Tree, override: str, advice: str):
    found = check_verl_keys(tree([override]))
    assert len(found) == 1
    assert advice in found[0]
    assert override.lstrip("+").split("=")[0].split(".")[0] in found[0]


def test_the_shipped_keys_pass(tree: Tree):
    assert check_verl_keys(tree([])) == []


def test_a_reward_without_normalisation_gets_a_note(tree: Tree):
    assert cautions(tree([])) == []
    assert "Trigger" in cautions(tree(["algorithm.norm_adv_by_std_in_grpo=false"]))[0]
    assert cautions(tree(["algorithm.norm_adv_by_std_in_grpo=false", "reward_mix=base_rl"])) == []
