"""PatternEval with real servers: the tiny policy in both modes, the two tiny judges, and the page."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.e2e
@pytest.mark.slow
@pytest.mark.timeout(900)
def test_the_toy_experiment(tmp_path: Path):
    line = [sys.executable, "-m", "evaluation.pattern_eval", "experiment=toy", "limit=24", f"run.dir={tmp_path}"]
    ended = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=800, check=False)
    assert ended.returncode == 0, ended.stdout + ended.stderr
    found = json.loads((tmp_path / "report" / "results.json").read_text())
    nt, t = found["rows"]
    assert (nt["mode"], t["mode"]) == ("nt", "t")
    assert nt["counts"]["failed"] == t["counts"]["failed"] == 0
    assert nt["rates"]["acc"]["n"] == nt["rates"]["trigger"]["n"] == 24
    generations = [json.loads(line) for line in (tmp_path / "generations.jsonl").read_text().splitlines()]
    assert {(row["mode"], row["prompt_tail"]) for row in generations} == {("nt", "closed"), ("t", "open")}
    # The oracle and PatternRM see the same text: on so few responses they differ in one or two at most.
    (judged,) = found["truth"]
    counts = judged["by_label"]["trigger"]["counts"]
    assert counts["misses"] + counts["false_alarms"] <= 2
    again = subprocess.run(line, cwd=ROOT, capture_output=True, text=True, timeout=100, check=True)
    assert "generations: all 48 are there" in again.stdout and "is starting" not in again.stdout
