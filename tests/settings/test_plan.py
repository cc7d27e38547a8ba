"""Dry runs of every shipped experiment, and what the plan says."""

from __future__ import annotations

from pathlib import Path

import pytest
from rich.console import Console

from foundation.settings.compose import ConfigError, compose_config
from trainer.checks.plan import Plan
from trainer.main import prepare

EXPERIMENTS = (
    "quickstart",
    "miniature",
    "base_rl_qwen3_vl_4b",
    "pattern_rl_qwen3_vl_4b",
    "base_rl_qwen3_vl_8b",
    "pattern_rl_qwen3_vl_8b",
)


def dry_run(*overrides: str) -> Plan:
    return prepare(compose_config(["dry_run=true", *overrides]))[1]


def text_of(plan: Plan) -> str:
    console = Console(width=4000, highlight=False)
    with console.capture() as captured:
        plan.print(console)
    return captured.get()


@pytest.mark.parametrize("mix", ["pattern_rl", "base_rl"])
@pytest.mark.parametrize("experiment", EXPERIMENTS)
def test_every_experiment_has_a_plan(experiment: str, mix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    plan = dry_run(f"experiment={experiment}", f"reward_mix={mix}", f"run.dir={tmp_path}/run")
    topics = {topic for topic, _ in plan.rows}
    assert {"policy", "train prompts", "step", "length", "reward", "run folder", "tracking", "cluster"} <= topics
    assert list(tmp_path.iterdir()) == []  # a dry run writes nothing


def test_the_plan_of_the_paper():
    text = text_of(dry_run("experiment=pattern_rl_qwen3_vl_4b"))
    assert "128 prompts x 8 rollouts = 1,024 rollouts, one on-policy update" in text
    assert "one on-policy update by grpo" in text
    assert "600 steps = 76,800 prompts = 1.74 epochs of 44,200; trainer.total_training_steps binds" in text
    assert "policy 1 x 8 = 8 + fallback 3 x 1 = 3 + pattern_rm 5 x 1 = 5: 16 of 16" in text
    assert "0.05 cot + 0.05 rep + 0.02 con + 0.02 pr" in text
    assert "right answer with every label: 0.9 where z = 1, 0.94 on average" in text


@pytest.mark.parametrize(
    ("overrides", "text"),
    [
        ([], "never (pattern_eval.every=0)"),
        (
            ["pattern_eval.every=8"],
            "step 0, every 8 steps and the last; the first 256 of the held-out prompts, non-thinking and thinking",
        ),
        (["pattern_eval.every=8", "pattern_eval.max_prompts=null", "pattern_eval.modes=[t]"], "the last; all of the"),
        (["pattern_eval.every=8", "reward_mix=base_rl"], "accuracy only: this reward asks no PatternRM"),
        (["pattern_eval.every=8", "reward_mix.labels.source=rules"], "accuracy only"),
    ],
)
def test_the_plan_says_when_the_policy_is_evaluated(overrides: list[str], text: str):
    assert text in text_of(dry_run("experiment=quickstart", *overrides))


def test_the_instruct_policies_are_evaluated_in_the_mode_that_they_have():
    text = text_of(dry_run("experiment=pattern_rl_qwen3_vl_4b", "pattern_eval.every=50"))
    assert "every 50 steps and the last; the first 256 of the held-out prompts, non-thinking" in text
    assert "non-thinking and thinking" not in text


def test_the_prompts_of_the_evaluation_are_checked_like_the_held_out_ones(tmp_path: Path):
    broken = tmp_path / "pairs.parquet"
    broken.write_bytes(b"no parquet")
    given = [f"pattern_eval.prompts={broken}"]
    dry_run(*given)  # nobody reads them
    with pytest.raises(ConfigError, match=r"pattern_eval\.prompts: .*pairs\.parquet is not a readable parquet file"):
        dry_run(*given, "pattern_eval.every=8")
    shipped = Path(__file__).parents[2] / "assets" / "toy" / "data" / "heldout.parquet"
    text = text_of(dry_run(f"pattern_eval.prompts={shipped}", "pattern_eval.every=8"))
    assert "the first 256 of" in text and "heldout.parquet (512 rows, all checked), non-thinking" in text
    absent = ["pattern_eval.prompts=[absent.parquet]", "pattern_eval.every=8"]
    assert "absent.parquet (not on this machine)" in text_of(dry_run(*absent))


def test_base_rl_shows_its_reward_and_no_pattern_judge():
    text = text_of(dry_run("reward_mix=base_rl"))
    assert "r = s_ver" in text
    assert "none: reward_mix.pattern_penalty=false" in text


def test_the_plan_says_whose_labels_count_and_what_the_weights_do():
    default = text_of(dry_run())
    assert "labels of PatternRM (above 0.5); constant weights" in default
    rules = text_of(dry_run("reward_mix.labels.source=rules", "reward_mix/schedule=linear_warmup"))
    assert "none: reward_mix.labels.source=rules" in rules
    assert "labels of the rules; weights grow to their full value until step 100" in rules
    other = text_of(
        dry_run("reward_mix.labels.source=union", "reward_mix.threshold.con=0.7", "reward_mix/schedule=curriculum")
    )
    assert "PatternRM or the rules (cot>0.5 rep>0.5 con>0.7 pr>0.5)" in other
    assert "labels count from step 1 (cot), 1 (rep), 200 (con), 200 (pr) on" in other
    guard = text_of(dry_run("reward_mix.penalty=expected", "reward_mix/schedule=accuracy_guard"))
    assert "probabilities of PatternRM" in guard and "more than 0.02 below its best of 100" in guard


def test_absent_files_are_shown_in_a_dry_run_and_refused_in_a_run(tmp_path: Path, good_inputs: list[str]):
    absent = f"corpus.train_files={tmp_path}/absent.parquet"
    plan = dry_run(*good_inputs, absent)
    assert plan.notes == (f"corpus.train_files: {tmp_path}/absent.parquet is not on this machine",)
    with pytest.raises(ConfigError, match=r"absent\.parquet does not exist"):
        prepare(compose_config([*good_inputs, absent]))


def test_good_inputs_pass_and_leave_a_finished_tree(good_inputs: list[str], tmp_path: Path):
    config = compose_config([*good_inputs, "reward_mix=base_rl"])
    settings, plan = prepare(config)
    assert plan.notes == ()
    assert settings.run.dir == str(tmp_path / "run")
    assert list(config.judges) == ["fallback"]
    assert config.trainer.experiment_name == "quickstart_base_rl"


def test_problems_of_settings_and_of_files_come_at_once(good_inputs: list[str], tmp_path: Path):
    with pytest.raises(ConfigError) as caught:
        prepare(
            compose_config(
                [*good_inputs, "data.train_batch_size=24", f"corpus.val_files={tmp_path}/no", "policy.path=/no/model"]
            )
        )
    text = "\n".join(caught.value.problems)
    assert all(key in text for key in ("data.train_batch_size=24", "corpus.val_files", "policy.path"))


def test_a_run_in_an_old_folder_says_that_it_resumes(good_inputs: list[str], tmp_path: Path):
    marker = tmp_path / "run" / "checkpoints" / "latest_checkpointed_iteration.txt"
    marker.parent.mkdir(parents=True)
    marker.write_text("12")
    assert "resumes after step 12" in text_of(dry_run(*good_inputs))


def test_external_judges_are_shown_without_their_secrets(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("JUDGE_KEY", "the-secret")
    text = text_of(
        dry_run(
            "judges.fallback.serve=null",
            "judges.fallback.base_urls=['http://me:the-password@judge:8000/v1']",
            "judges.fallback.api_key_env=JUDGE_KEY",
        )
    )
    assert "http://judge:8000/v1" in text
    assert "key from $JUDGE_KEY" in text
    assert "the-secret" not in text
    assert "the-password" not in text
