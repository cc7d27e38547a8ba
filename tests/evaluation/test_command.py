"""The command as a user meets it: exit codes, one line a problem, and kills at any time."""

from __future__ import annotations

import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest

from evaluation.pattern_eval.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> int:
    monkeypatch.setattr(sys, "argv", ["pattern_eval", *arguments])
    handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    try:
        return main()
    finally:
        for number, handler in handlers.items():
            signal.signal(number, handler)


@pytest.mark.parametrize(
    ("arguments", "part"),
    [
        ([], "nothing to do"),
        (["model=qwen4"], "model=qwen4: no such option"),
        (["model=internvl3_5"], "model.decoding.{nt,t} as its model card gives them"),
        (["published=true", "report.lenght_unit=chars"], "did you mean 'length_unit'"),
        (["published=true", "report.length_unit=words"], "report.length_unit='words'"),
        (["compare=[/nowhere]"], "/nowhere, which holds no responses.jsonl"),
        (["training_run=/nowhere", "prompts=toy"], "/nowhere is no run folder of the trainer"),
        (["experiment=toy", "prompts.files=[/nowhere.jsonl]"], "/nowhere.jsonl: no such file"),
    ],
)
def test_wrong_input_is_exit_code_2_and_one_line(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], arguments: list[str], part: str
):
    assert run(monkeypatch, *arguments) == 2
    error = capfd.readouterr().err
    assert part in error and "Traceback" not in error


def test_published_results_need_no_model(
    monkeypatch: pytest.MonkeyPatch, capfd: pytest.CaptureFixture[str], tmp_path: Path
):
    assert run(monkeypatch, "published=true", f"run.dir={tmp_path}") == 0
    shown = capfd.readouterr().out
    assert "17 of 25" in (tmp_path / "report" / "page.html").read_text()
    assert "not prevalence" in shown
    drawn = {path.name for path in (tmp_path / "report" / "figures").iterdir()}
    assert drawn == {"trigger_bars.png", "composition.png", "radar.png", "series_0.png"}


def test_a_stop_while_the_report_is_written_leaves_the_same_report(stand: Any, monkeypatch: pytest.MonkeyPatch):
    from evaluation.report import files

    stand.run()
    expected = _files(stand.folder / "report")
    for stopped_at in ("_rows_csv", "render_page"):

        def stop(*_: Any, **__: Any) -> str:
            raise KeyboardInterrupt

        with monkeypatch.context() as patched:
            patched.setattr(files, stopped_at, stop)
            with pytest.raises(KeyboardInterrupt):
                stand.run()
        stand.run()
        assert _files(stand.folder / "report") == expected


@pytest.mark.integration
@pytest.mark.timeout(400)  # five starts of an interpreter with scipy and matplotlib
@pytest.mark.slow
def test_a_process_that_is_killed_again_and_again_ends_with_the_same_report(stand: Any, tmp_path: Path):
    line = [sys.executable, "-m", "evaluation.pattern_eval", *stand.overrides, "model.servers.nt.concurrency=1"]
    whole, again = tmp_path / "whole", tmp_path / "again"
    subprocess.run([*line, f"run.dir={whole}"], cwd=ROOT, capture_output=True, timeout=100, check=True)
    answer = stand.policy.answer

    def slow(body: dict[str, Any]) -> dict[str, Any]:
        time.sleep(0.15)
        return answer(body)

    stand.policy.answer = slow
    for kill in (signal.SIGKILL, signal.SIGTERM, signal.SIGKILL):
        before = _lines(again)
        process = subprocess.Popen(
            [*line, f"run.dir={again}"], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        while process.poll() is None and _lines(again) < before + 5:
            time.sleep(0.02)
        process.send_signal(kill)
        assert process.wait(30) in (-kill, 130)
    assert 15 <= _lines(again) < 24
    subprocess.run([*line, f"run.dir={again}"], cwd=ROOT, capture_output=True, timeout=100, check=True)
    assert _files(again / "report") == _files(whole / "report")


def _files(folder: Path) -> dict[str, bytes]:
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def _lines(folder: Path) -> int:
    path = folder / "generations.jsonl"
    return path.read_bytes().count(b"\n") if path.exists() else 0
