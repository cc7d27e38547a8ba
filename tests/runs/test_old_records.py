"""Commands over a run folder of another version: exit code 2, one line that names file and line, and what to do."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import pytest
import yaml
from factories import scored

from evaluation.pattern_eval.__main__ import main as pattern_eval
from foundation.runs.run_folder import RunFolder, open_run_folder
from foundation.runs.scored_rollout import write_rollouts
from trainer.summary import main as summary

CONFIG = {
    "policy": {"mode": "nt"},
    "corpus": {"oracle": None, "val_files": ["heldout.parquet"]},
    "pattern_eval": {"prompts": None},
    "reward_mix": {},
    "seed": 0,
    "run": {"name": "old"},
}
DO = "run this command with the version of the code that wrote the file"


@pytest.fixture
def old_run(tmp_path: Path) -> RunFolder:
    """A run folder whose second line is as the version before wrote it."""
    folder, _ = open_run_folder(tmp_path / "old", CONFIG)
    (folder.path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    old = {key: value for key, value in json.loads(scored().to_json()).items() if key != "schema"}
    for name in ("train", "heldout"):
        file = folder.records / f"{name}.jsonl"
        write_rollouts(file, 0, [scored()])
        with file.open("a") as lines:
            lines.write(json.dumps(old | {"labels": {"cot": True, "rep": False, "con": False, "pr": False}}) + "\n")
    return folder


def check(error: str, file: Path) -> None:
    (line,) = (line for line in error.splitlines() if line.startswith("error: "))
    assert line == f"error: {file}:2: a rollout record of schema 1, where this version reads schema 2: {DO}"
    assert "Traceback" not in error


def test_the_summary(old_run: RunFolder, capsys: pytest.CaptureFixture[str]) -> None:
    assert summary([str(old_run.path)]) == 2
    check(capsys.readouterr().err, old_run.records / "train.jsonl")
    assert not old_run.summary.exists()


def test_the_page_of_a_training_run(
    old_run: RunFolder, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    page = tmp_path / "page"
    given = [f"training_run={old_run.path}", "prompts=toy", f"run.dir={page}"]
    monkeypatch.setattr(sys, "argv", ["pattern_eval", *given])
    monkeypatch.setattr("evaluation.pattern_eval.__main__.stop_on_signals", lambda: None)
    assert pattern_eval() == 2
    check(capsys.readouterr().err, old_run.records / "heldout.jsonl")
    assert not page.exists()


def test_a_run_without_a_step_has_no_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder, _ = open_run_folder(tmp_path / "run", CONFIG)
    (folder.path / "config.yaml").write_text(yaml.safe_dump(CONFIG))
    assert summary([str(folder.path)]) == 2
    assert "the run ended before its first step" in capsys.readouterr().err
