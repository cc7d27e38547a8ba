"""A job that is killed, started again, interrupted, and started again: one run, the same decisions."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from quickstart_job import START_S, STEP_S, Run, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

STEPS, SAVE_EVERY = 6, 2
WARM_UP = 5
"""Steps until the pattern weights have their full value: the run is killed and interrupted before that."""
EVALUATE_EVERY, PAIRS = 4, 6
"""Steps between two paired evaluations, and prompts of one: steps 0, 4 and the last, each in both modes."""
COT = 0.05
"""`reward_mix.weights.cot`."""


@pytest.fixture(scope="module")
def history(jobs, running_judges):
    """Killed in step 4 (after the checkpoint of step 2), interrupted in step 5, finished in the third start."""
    settings = (
        f"trainer.total_training_steps={STEPS}",
        f"trainer.save_freq={SAVE_EVERY}",
        "reward_mix/schedule=linear_warmup",
        f"reward_mix.schedule.steps={WARM_UP}",
        f"pattern_eval.every={EVALUATE_EVERY}",
        f"pattern_eval.max_prompts={PAIRS}",
        "run.name=resume",
        *running_judges,
    )
    first = jobs("resume", *settings)
    first.wait_for("step 3/6", START_S + 3 * STEP_S)
    left = first.descendants()
    first.kill()
    orphans = wait_until_gone(left)
    second = jobs("resume", *settings)
    second.wait_for("step 4/6", START_S + 2 * STEP_S)
    second_left = second.descendants()
    second.interrupt()
    second_code = second.wait(STEP_S + 60)
    second_orphans = wait_until_gone(second_left)
    third = jobs("resume", *settings)
    third_code = third.wait(START_S + 2 * STEP_S)
    return {
        "run": Run(first.folder),
        "settings": settings,
        "orphans": [orphans, second_orphans],
        "codes": (second_code, third_code),
        "outputs": (first.output, second.output, third.output),
    }


def test_exit_codes(history):
    assert history["codes"] == (130, 0), history["outputs"][1][-3000:]


def test_a_killed_driver_and_an_interrupted_one_leave_no_process(history):
    for alive in history["orphans"]:
        assert [p.cmdline() for p in alive if psutil.pid_exists(p.pid)] == []


def test_each_start_goes_on_after_the_last_checkpoint(history):
    steps = {attempt: set() for attempt in range(3)}
    for record in history["run"].records():
        steps[record.attempt].add(record.step)
    assert min(steps[1]) == 3  # the checkpoint of step 2 was the last one when the driver was killed
    assert max(steps[0]) >= 3
    assert min(steps[2]) == max(steps[1]) + 1  # an interrupt writes a checkpoint of the step that it ended with
    assert max(steps[2]) == STEPS


def test_repeated_steps_draw_the_same_prompts_and_gates(history):
    records = history["run"].records()
    drawn = [
        {(r.step, r.group, r.rollout): r.z for r in records if r.step == 3 and r.attempt == attempt}
        for attempt in (0, 1)
    ]
    assert len(drawn[0]) == 16
    assert drawn[0] == drawn[1]
    assert {0, 1} == set(drawn[0].values())


def test_the_weights_of_each_step_are_logged_and_go_on_after_a_resume(history):
    logged = {(row["attempt"], row["step"]): row for row in history["run"].metrics() if "reward_mix/weight/cot" in row}
    recorded = {(r.attempt, r.step): r.weights["cot"] for r in history["run"].records()}
    assert {attempt for attempt, _ in recorded} == {0, 1, 2}
    for (attempt, step), weight in recorded.items():
        assert weight == pytest.approx(COT * min(1.0, step / WARM_UP)), (attempt, step)
    # A step that the kill ended has records and no metrics.
    assert logged.keys() >= {(1, 3), (1, 4), (2, STEPS)} and logged.keys() <= recorded.keys()
    for key, row in logged.items():
        assert row["reward_mix/weight/cot"] == pytest.approx(recorded[key])


def test_each_rollout_has_one_record(history):
    keys = [(r.attempt, r.step, r.group, r.rollout) for r in history["run"].records()]
    assert len(keys) == len(set(keys))
    assert len([key for key in keys if key[0] == 2]) == 16 * (STEPS - min(k[1] for k in keys if k[0] == 2) + 1)


def test_the_summary_counts_every_step_once(history):
    summary = json.loads((history["run"].folder / "summary.json").read_text())
    assert summary["calls"]["pattern_rm"]["rollouts"] == 16 * STEPS


def test_the_policy_is_evaluated_in_both_modes_over_all_starts(history):
    records = history["run"].records("pattern_eval")
    # Killed in step 4, interrupted in step 5: each evaluation falls into another start, and none is done twice.
    assert {(r.attempt, r.step) for r in records} == {(0, 0), (1, 4), (2, STEPS)}
    for step in (0, EVALUATE_EVERY, STEPS):
        asked = {mode: [r for r in records if (r.step, r.mode) == (step, mode)] for mode in ("nt", "t")}
        assert [len(rows) for rows in asked.values()] == [PAIRS, PAIRS]
        assert {r.prompt_id for r in asked["nt"]} == {r.prompt_id for r in asked["t"]}
        assert all((r.labels is None) == (r.visible == "") for rows in asked.values() for r in rows)
    logged = [row for row in history["run"].metrics() if "pattern_eval/nt/accuracy" in row]
    assert [row["step"] for row in logged] == [0, EVALUATE_EVERY, STEPS]
    for row in logged:
        right = [r.verdict.value for r in records if (r.step, r.mode) == (row["step"], "nt") and r.visible]
        assert row["pattern_eval/nt/accuracy"] == pytest.approx(sum(right) / len(right))
        assert row["pattern_eval/t/asked"] == PAIRS


def test_the_evaluated_steps_are_a_page(history, tmp_path):
    run = history["run"].folder
    line = [
        sys.executable,
        "-m",
        "evaluation.pattern_eval",
        "prompts=toy",
        f"training_run={run}",
        f"run.dir={tmp_path}",
    ]
    subprocess.run(line, cwd=Path(__file__).resolve().parents[2], capture_output=True, timeout=100, check=True)
    rows = json.loads((tmp_path / "report" / "results.json").read_text())["rows"]
    steps = [f"step {step}" for step in (0, EVALUATE_EVERY, STEPS)]
    assert [(row["model"], row["mode"]) for row in rows] == [(step, mode) for step in steps for mode in ("nt", "t")]


def test_the_wandb_run_keeps_its_id(history):
    folders = {path.name.rsplit("-", 1)[-1] for path in (history["run"].folder / "wandb").glob("offline-run-*")}
    assert len(folders) == 1


def test_the_export_loads_in_transformers(history):
    from transformers import AutoModelForImageTextToText

    exports = list(history["run"].folder.glob("checkpoints/global_step_*/actor/huggingface"))
    assert exports
    for export in exports:
        AutoModelForImageTextToText.from_pretrained(export)


def test_a_finished_run_is_not_trained_again(history, jobs):
    run = history["run"]
    before = len(run.records())
    job = jobs("resume", *history["settings"])
    assert job.wait(60) == 0
    assert "finished run" in job.output
    assert len(run.records()) == before


def test_another_reward_in_the_same_folder_is_refused(history, jobs):
    job = jobs("resume", *history["settings"], "reward_mix.cap=0.2")
    assert job.wait(60) == 2
    assert "run.name" in job.output
