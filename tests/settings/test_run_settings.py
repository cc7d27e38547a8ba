"""The typed check of our sections, and of verl's keys that would be ignored."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from omegaconf import DictConfig

from foundation.settings.compose import ConfigError
from foundation.settings.run_settings import read_settings
from foundation.settings.verl_keys import cautions, check_verl_keys
from trainer.grpo.weight_schedule import build_schedule

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
    assert "pattern_rm" not in read_settings(tree(overrides)).judges


@pytest.mark.parametrize(
    ("override", "parts"),
    [
        ("reward_mix.gate.probability=1.4", ("reward_mix.gate.probability=1.4", "1")),
        ("reward_mix.gate.probability=-0.1", ("reward_mix.gate.probability=-0.1", "0")),
        ("reward_mix.weights.cot=-0.05", ("reward_mix.weights.cot=-0.05", "at least 0")),
        ("reward_mix.cap=2", ("reward_mix.cap=2",)),
        ("reward_mix.gate.scope=prompt", ("reward_mix.gate.scope='prompt'", "'rollout' or 'group'")),
        ("reward_mix.on_unscored=zero", ("reward_mix.on_unscored='zero'", "'drop_group'")),
        ("reward_mix.threshold=0.5", ("reward_mix.threshold=0.5", "cot, rep, con, pr")),
        ("reward_mix.threshold.con=true", ("reward_mix.threshold.con=True", "number")),
        ("reward_mix.threshold.pr=1.5", ("reward_mix.threshold.pr=1.5", "1")),
        ("reward_mix.penalty=soft", ("reward_mix.penalty='soft'", "'hard' or 'expected'")),
        ("reward_mix.labels.source=both", ("reward_mix.labels.source='both'", "'agreement'")),
        ("reward_mix.schedule.kind=cosine", ("reward_mix.schedule.kind='cosine'", "constant | linear_warmup")),
        ("reward_mix.schedule=constant", ("reward_mix.schedule.kind='constant'", "reward_mix/schedule=constant")),
        ("+reward_mix.schedule.steps=5", ("reward_mix.schedule.steps", "no such key")),
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
        ("judges.pattern_rm.prompt=patern_rm", ("judges.pattern_rm.prompt='patern_rm'", "use one of", "pattern_rm")),
        (
            "judges.pattern_rm.prompt=pattern_judge",
            ("judges.pattern_rm.prompt='pattern_judge' cannot do this", "use pattern_rm"),
        ),
        (
            "judges.fallback.prompt=answer_correctness",
            ("judges.fallback.prompt='answer_correctness'", "answer_equivalence or answer_equivalence_compact"),
        ),
        ("+judges.falback=null", ("judges.falback: no such judge", "did you mean 'fallback'")),
        ("+judges.fallback.retries=2", ("judges.fallback.retries: no such key in judges.fallback",)),
        ("cluster.judge_replicas.fallback=0", ("cluster.judge_replicas.fallback=0", "at least 1")),
        ("judges.fallback.base_urls=[http://h/v1]", ("judges.fallback", "serve=null")),
        ("run.stall_timeout_s=180", ("run.stall_timeout_s=180", "reward_mix.max_wait_s=120", "above 180")),
        ("judges.fallback.total_timeout_s=500", ("judges.fallback.total_timeout_s=500", "reward_mix.max_wait_s=120")),
        (
            "judges.fallback.serve.gpus_per_replica=1",
            ("judges.fallback.serve.gpus_per_replica=1", "cluster.device=cpu"),
        ),
        ("reward_mix.cap=0", ("reward_mix.cap=0", "base_rl")),
        ("judges.fallback.breaker.failures=0", ("judges.fallback.breaker.failures=0", "at least 1")),
        ("judges.fallback.breaker.cooldown_s=0", ("judges.fallback.breaker.cooldown_s=0", "at least")),
        ("~judges.fallback.breaker.failures", ("judges.fallback.breaker.failures is missing",)),
        ("judges.fallback.breaker=null", ("judges.fallback.breaker=None",)),
        (
            "judges.fallback.breaker.cooldown_s=120",
            ("judges.fallback.breaker.cooldown_s=120", "reward_mix.max_wait_s=120"),
        ),
        ("judges.pattern_rm.concurrency=0", ("judges.pattern_rm.concurrency=0",)),
        ("reward.num_workers=33", ("judges.pattern_rm.concurrency=32", "reward.num_workers=33", "raise")),
        ("reward.num_workers=0", ("reward.num_workers=0", "at least 1")),
        ("reward.num_workers=null", ("reward.num_workers=None", "whole number")),
        ("judge_cache.size_limit_gb=0", ("judge_cache.size_limit_gb=0",)),
        ("judge_cache.folder=''", ("judge_cache.folder=''",)),
        ("judge_cache.enabled=1", ("judge_cache.enabled=1", "true or false")),
        ("pattern_eval.every=-1", ("pattern_eval.every=-1", "0")),
        ("pattern_eval.modes=[nt,x]", ("pattern_eval.modes", "'x'", "'nt'")),
        ("pattern_eval.modes=[t,t]", ("pattern_eval.modes=['t', 't']", "set [nt, t], [nt] or [t]")),
        ("pattern_eval.modes=[]", ("pattern_eval.modes=[]", "set [nt, t], [nt] or [t]")),
        ("pattern_eval.prompts=3", ("pattern_eval.prompts=3", "parquet")),
        ("pattern_eval.max_prompts=0", ("pattern_eval.max_prompts=0", "1")),
        ("+pattern_eval.evry=5", ("pattern_eval.evry", "did you mean 'every'")),
        ("+judge_cache.size_limit_mb=5", ("judge_cache.size_limit_mb", "did you mean 'size_limit_gb'")),
    ],
)
def test_a_wrong_value_is_one_line_with_key_value_and_advice(tree: Tree, override: str, parts: tuple[str, ...]):
    found = [text for text in problems(tree, override) if all(part in text for part in parts)]
    assert found, problems(tree, override)
    assert all("\n" not in text for text in found)


@pytest.mark.parametrize(
    ("kind", "override", "parts"),
    [
        ("linear_warmup", "reward_mix.schedule.steps=0", ("reward_mix.schedule.steps=0", "1")),
        ("linear_warmup", "+reward_mix.schedule.step=5", ("reward_mix.schedule.step:", "did you mean 'steps'")),
        ("linear_warmup", "~reward_mix.schedule.steps", ("reward_mix.schedule.steps is missing",)),
        (
            "curriculum",
            "reward_mix.schedule.from_step.con=x",
            ("reward_mix.schedule.from_step.con='x'", "whole"),
        ),
        ("accuracy_guard", "reward_mix.schedule.reference=mean", ("reward_mix.schedule.reference='mean'", "'ema'")),
        ("accuracy_guard", "reward_mix.schedule.lower_by=1.0", ("reward_mix.schedule.lower_by=1.0", "less than 1")),
        ("accuracy_guard", "reward_mix.schedule.raise_by=0.9", ("reward_mix.schedule.raise_by=0.9", "1")),
        ("accuracy_guard", "reward_mix.schedule.floor=0", ("reward_mix.schedule.floor=0", "more than 0")),
        ("accuracy_guard", "reward_mix.schedule.margin=-0.1", ("reward_mix.schedule.margin=-0.1", "0")),
    ],
)
def test_a_wrong_schedule_names_its_key(tree: Tree, kind: str, override: str, parts: tuple[str, ...]):
    (text,) = problems(tree, f"reward_mix/schedule={kind}", override)
    assert all(part in text for part in parts), text


@pytest.mark.parametrize("kind", ["constant", "linear_warmup", "curriculum", "accuracy_guard"])
def test_every_shipped_schedule_is_valid_and_can_be_built(tree: Tree, kind: str):
    mix = read_settings(tree([f"reward_mix/schedule={kind}"])).reward_mix
    assert mix.schedule.kind == kind
    weights = build_schedule(mix.model_dump()).weights(10_000)
    assert weights == {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}


def test_the_shipped_reward_is_that_of_the_paper(tree: Tree):
    mix = read_settings(tree([])).reward_mix
    assert (mix.penalty, mix.labels.source, mix.schedule.kind) == ("hard", "pattern_rm", "constant")


def test_both_modes_need_a_switch_in_the_chat_template(tree: Tree):
    hosted = ["policy.family=seed", "pattern_eval.every=5"]
    (text,) = problems(tree, *hosted)
    assert "pattern_eval.modes=['nt', 't']" in text and "set pattern_eval.modes=[nt]" in text
    for allowed in ([*hosted, "pattern_eval.modes=[nt]"], ["policy.family=seed"], ["pattern_eval.every=5"]):
        read_settings(tree(allowed))


def test_modes_are_kept_in_one_order(tree: Tree):
    assert read_settings(tree(["pattern_eval.modes=[t,nt]"])).pattern_eval.modes == ("nt", "t")


def test_rules_as_the_source_serve_no_pattern_judge(tree: Tree):
    settings = read_settings(tree(["reward_mix.labels.source=rules", "judges.pattern_rm=null"]))
    assert list(settings.judges) == ["fallback"]
    assert "pattern_rm" in read_settings(tree(["reward_mix.labels.source=agreement"])).judges


@pytest.mark.parametrize("override", ["reward_mix.penalty=expected", "reward_mix.score_incorrect=true"])
def test_what_needs_pattern_rm_is_refused_with_the_rules_alone(tree: Tree, override: str):
    (text,) = problems(tree, "reward_mix.labels.source=rules", override)
    assert override.split("=")[0] in text and "labels.source='rules'" in text


def test_all_problems_come_at_once(tree: Tree):
    found = problems(
        tree, "reward_mix.gate.probability=1.4", "reward_mix.weights.rep=-1", "policy.mode=x", "run.name=' '"
    )
    assert len(found) == 4


def test_watching_labels_needs_the_pattern_judge(tree: Tree):
    assert "weights 0" in problems(tree, "reward_mix=base_rl", "reward_mix.score_incorrect=true")[0]
    zero = [f"reward_mix.weights.{label}=0" for label in ("cot", "rep", "con", "pr")]
    assert "pattern_rm" in read_settings(tree(zero)).judges


def test_the_cache_lies_in_the_run_folder_and_has_a_switch(tree: Tree):
    settings = read_settings(tree(["run.dir=/somewhere/run"]))
    assert settings.judge_cache.enabled and settings.judge_cache.folder == "/somewhere/run/judge_cache"
    assert not read_settings(tree(["judge_cache.enabled=false"])).judge_cache.enabled


def test_every_reward_worker_gets_a_call_of_each_judge(tree: Tree):
    assert read_settings(tree(["reward.num_workers=32"])).judges["fallback"].concurrency == 32


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
