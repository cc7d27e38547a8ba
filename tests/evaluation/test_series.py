"""A training run over its steps: held-out records as they are, and a run for each checkpoint."""

from __future__ import annotations

import json
import re
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
import yaml
from factories import labelled, scored
from rich.console import Console

from evaluation.pattern_eval.__main__ import evaluate
from evaluation.pattern_eval.assemble import _trained_against
from evaluation.pattern_eval.series import checkpoint_runs, pattern_rm_in_the_reward, training_responses
from foundation.runs.evaluation_records import Prompt
from foundation.runs.mode_rates import pairs_of, rows_of
from foundation.runs.records import Unlabelled, Verdict
from foundation.runs.scored_rollout import ScoredRollout, write_rollouts
from foundation.settings.compose import CONFIG_DIR, compose_config

PROMPTS = [Prompt(f"p{i}", "s", "VG", "OOD", f"question {i}?", None, (), "red") for i in range(2)]


def record(step: int, prompt: int, **changes: Any) -> ScoredRollout:
    """A rollout that shows leaked reasoning and a right answer."""
    fields: dict[str, Any] = {
        "prompt_id": f"p{prompt}",
        "group": prompt,
        "verdict": Verdict(1, "exact", "equal_text", "red"),
        "labels": labelled("cot"),
        "question": f"question {prompt}?",
        "reference": "red",
        "visible": "Wait. \\boxed{red}",
    }
    return scored(step=step, **(fields | changes))


def write_config(folder: Path, pattern_penalty: bool = True, source: str = "pattern_rm") -> None:
    config = {
        "policy": {"mode": "nt"},
        "corpus": {"val_files": ["heldout.parquet"]},
        "pattern_eval": {"prompts": None},
        "reward_mix": {"pattern_penalty": pattern_penalty, "labels": {"source": source}},
        "judges": {"fallback": {"model": "f"}} | ({"pattern_rm": {"model": "rm-27b"}} if pattern_penalty else {}),
    }
    (folder / "config.yaml").write_text(yaml.safe_dump(config))


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "records").mkdir()
    write_config(tmp_path)
    first = [record(0, 0), record(0, 1, truncated=True), record(8, 1, visible="of a start that was repeated")]
    second = [record(8, 1, labels=None, visible=""), record(8, 0, labels=Unlabelled("timeout", 1.0))]
    for attempt, rollouts in enumerate((first, second)):
        write_rollouts(tmp_path / "records" / "heldout.jsonl", attempt, rollouts)
    return tmp_path


def test_held_out_records_become_a_model_a_step(run_folder: Path):
    found = training_responses(run_folder, PROMPTS)
    assert [(r.model, r.prompt_id) for r in found] == [
        ("step 0", "p0"),
        ("step 0", "p1"),
        ("step 8", "p0"),
        ("step 8", "p1"),
    ]
    first, cut, unlabelled, empty = found
    assert (first.correct, first.trigger, first.mode, first.category) == (1, True, "nt", "OOD")
    assert cut.truncated
    assert (unlabelled.labels, unlabelled.label_reason) == (None, "timeout")
    assert (empty.outcome, empty.correct) == ("empty", None)


def test_a_prompt_that_the_file_lacks_is_named(run_folder: Path):
    with pytest.raises(ValueError, match=r"has prompt 'p1', which prompts\.files lacks.*heldout\.parquet"):
        training_responses(run_folder, PROMPTS[:1])
    with pytest.raises(ValueError, match="is no run folder of the trainer"):
        training_responses(run_folder / "records", PROMPTS)


def test_paired_evaluations_come_before_held_out_records(run_folder: Path):
    silent = {"visible": "", "flags": ("unclosed_think", "no_visible_response"), "labels": None}
    first = [
        record(0, 0, mode="nt"),
        record(0, 0, mode="t", labels=labelled()),
        record(0, 1, mode="nt", verdict=Verdict(0, "exact", "other")),
        record(0, 1, mode="t", **silent),
        record(4, 0, mode="nt"),
    ]
    # Step 4 was evaluated by two starts; the second one counts.
    second = [record(4, 0, mode="nt", verdict=Verdict(None, "judge", "judge_timeout"))]
    for attempt, rollouts in enumerate((first, second)):
        write_rollouts(run_folder / "records" / "pattern_eval.jsonl", attempt, rollouts)
    found = training_responses(run_folder, PROMPTS)
    assert [(r.model, r.mode, r.prompt_id) for r in found] == [
        ("step 0", "nt", "p0"),
        ("step 0", "nt", "p1"),
        ("step 0", "t", "p0"),
        ("step 0", "t", "p1"),
        ("step 4", "nt", "p0"),
    ]
    assert found[3].outcome == "empty" and found[3].flags == ("no_visible_response", "unclosed_think")
    # The judge that failed leaves a hole and no zero; what shows nothing is in no rate.
    accuracy = {(row.model, row.mode): (row.rates["acc"].k, row.rates["acc"].n) for row in rows_of(found)}
    assert accuracy == {("step 0", "nt"): (1, 2), ("step 0", "t"): (1, 1), ("step 4", "nt"): (0, 0)}
    (pair,) = pairs_of(found, 50, 0)
    assert (pair.d_acc.value, pair.d_pat.value, pair.d_pat.n) == (0.0, 100.0, 1)


@pytest.mark.parametrize(
    ("penalty", "source", "named"),
    [(True, "pattern_rm", "rm-27b"), (True, "union", "rm-27b"), (True, "rules", None), (False, "pattern_rm", None)],
)
def test_the_pattern_rm_of_a_reward_is_named(tmp_path: Path, penalty: bool, source: str, named: str | None):
    write_config(tmp_path, penalty, source)
    (tmp_path / "checkpoints").mkdir()
    assert pattern_rm_in_the_reward(tmp_path) == pattern_rm_in_the_reward(tmp_path / "checkpoints") == named


def test_checkpoints_of_another_trainer_name_no_pattern_rm(tmp_path: Path):
    assert pattern_rm_in_the_reward(tmp_path) is None


CALIBRATION = "report.calibration={hits: 40, misses: 2, clean: 50, false_alarms: 4}"


@pytest.mark.parametrize("penalty", [True, False])
def test_a_page_says_that_a_calibration_does_not_carry_over(
    run_folder: Path, monkeypatch: pytest.MonkeyPatch, penalty: bool
):
    monkeypatch.setattr("evaluation.report.files.draw_all", lambda report, folder: [])
    write_config(run_folder, penalty)
    prompts = run_folder / "prompts.jsonl"
    keys = ("prompt_id", "family", "category", "question", "reference")
    prompts.write_text("".join(json.dumps({key: getattr(p, key) for key in keys}) + "\n" for p in PROMPTS))
    given = [f"training_run={run_folder}", f"prompts.files=[{prompts}]", CALIBRATION, f"run.dir={run_folder / 'page'}"]
    evaluate(compose_config(given, CONFIG_DIR / "evaluation", "pattern_eval"), Console(file=StringIO()))
    page = (run_folder / "page" / "report" / "page.html").read_text()
    assert "Trigger corrected for judge error" in page
    assert ("these policies were trained against the labels of rm-27b" in page) == penalty


def test_so_does_the_page_of_its_checkpoints(run_folder: Path, compose_eval: Any):
    export(run_folder, 8)
    for folder in (run_folder, run_folder / "checkpoints"):
        assert _trained_against(compose_eval("experiment=toy", f"checkpoints={folder}")) == "rm-27b"
    assert _trained_against(compose_eval("experiment=toy")) is None


def export(folder: Path, step: int) -> None:
    path = folder / "checkpoints" / f"global_step_{step}" / "actor" / "huggingface"
    path.mkdir(parents=True)
    (path / "config.json").write_text("{}")


def test_each_checkpoint_is_a_run_of_its_own(tmp_path: Path, compose_eval: Any):
    for step in (16, 8):
        export(tmp_path, step)
    (tmp_path / "checkpoints" / "global_step_24" / "actor").mkdir(parents=True)  # removed by max_actor_ckpt_to_keep
    settings = compose_eval("experiment=toy", "run.dir=/out")
    for folder in (tmp_path, tmp_path / "checkpoints"):
        runs = checkpoint_runs(settings, folder)
        assert [run.model.name for run in runs] == ["toy_policy step 8", "toy_policy step 16"]
        assert [run.run.dir for run in runs] == ["/out/step_8", "/out/step_16"]
        served = {mode: server.serve.model_path for mode, server in runs[1].servers.items()}
        assert set(served.values()) == {str(tmp_path / "checkpoints/global_step_16/actor/huggingface")}


def test_checkpoints_need_exports_and_servers_of_this_command(tmp_path: Path, compose_eval: Any):
    with pytest.raises(ValueError, match=re.escape("has no global_step_*/actor/huggingface/config.json")):
        checkpoint_runs(compose_eval("experiment=toy"), tmp_path)
    export(tmp_path, 8)
    outside = ("model.servers.nt.serve=null", "model.servers.nt.base_urls=[http://127.0.0.1:9/v1]")
    with pytest.raises(ValueError, match=re.escape("model.servers.nt.serve is null")):
        checkpoint_runs(compose_eval("experiment=toy", *outside), tmp_path)
