"""A training run over its steps: held-out records as they are, and a run for each checkpoint."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest

from evaluation.pattern_eval.series import checkpoint_runs, training_responses
from evaluation.records import Prompt

PROMPTS = [Prompt(f"p{i}", "s", "VG", "OOD", f"question {i}?", None, (), "red") for i in range(2)]
LABELS = {"cot": True, "rep": False, "con": False, "pr": False, "p_cot": 0.9, "source": "pattern_rm"}


def record(step: int, prompt: int, **changes: Any) -> dict[str, Any]:
    """A row as the trainer keeps it."""
    return {
        "attempt": 0,
        "prompt_id": f"p{prompt}",
        "step": step,
        "group": prompt,
        "rollout": 0,
        "verdict": {"value": 1, "stage": "exact", "reason": "equal_text", "extracted": "red", "latency_s": 0.0},
        "labels": LABELS,
        "n_tokens": 9,
        "truncated": False,
        "question": f"question {prompt}?",
        "visible": "Wait. \\boxed{red}",
    } | changes


@pytest.fixture
def run_folder(tmp_path: Path) -> Path:
    (tmp_path / "records").mkdir()
    (tmp_path / "config.yaml").write_text("policy: {mode: nt}\n")
    rows = [
        record(8, 1, attempt=0, visible="of a start that was repeated"),
        record(8, 1, attempt=1, labels=None, visible=""),
        record(8, 0, attempt=1, labels={"reason": "timeout", "latency_s": 1.0}),
        record(0, 0),
        record(0, 1, truncated=True),
    ]
    (tmp_path / "records" / "heldout.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
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
    with pytest.raises(ValueError, match=r"has prompt 'p1', which prompts\.files lacks"):
        training_responses(run_folder, PROMPTS[:1])
    with pytest.raises(ValueError, match="is no run folder of the trainer"):
        training_responses(run_folder / "records", PROMPTS)


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
