"""Paired evaluations of a training run: figures counted by hand, when they are due, and what is kept."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from factories import labelled, scored
from rich.console import Console

from foundation.runs.paired_figures import headline, paired_figures, tracker_metrics
from foundation.runs.paired_table import paired_steps, paired_table
from foundation.runs.records import Labels, Unlabelled, Verdict
from foundation.runs.run_folder import RunFolder
from foundation.runs.scored_rollout import read_all_rollouts, write_rollouts
from trainer.frame.progress import Progress
from trainer.grpo.paired_evaluation import PairedEvaluation

FAILED = Unlabelled("judge_timeout", latency_s=1.0)


def record(prompt, mode, correct, labels, *, step=4, visible="It is red.", n_tokens=10):
    """A rollout of a paired evaluation; `labels` names those that are set, or is what PatternRM left instead."""
    return scored(
        prompt_id=f"p{prompt}",
        step=step,
        group=prompt,
        mode=mode,
        verdict=Verdict(correct, "judge" if correct is None else "exact", "r"),
        labels=labelled(*labels.split()) if isinstance(labels, str) else labels,
        reference="red",
        visible=visible,
        n_tokens=n_tokens,
    )


RECORDS = [
    record(0, "nt", 1, "cot"),
    record(1, "nt", 0, "cot rep"),
    record(2, "nt", 1, ""),
    record(3, "nt", None, "pr"),  # no judge could say
    record(0, "t", 1, "", n_tokens=40),
    record(1, "t", 1, FAILED, n_tokens=40),  # PatternRM gave no labels
    record(2, "t", 0, "con", n_tokens=40),
    record(3, "t", 0, None, visible="", n_tokens=80),  # the think block never closed
]


def test_figures_counted_by_hand():
    metrics = tracker_metrics(paired_figures(RECORDS, seed=0))
    expected = {
        "nt/accuracy": 2 / 3,
        "nt/trigger": 3 / 4,
        "nt/label/cot": 2 / 4,
        "nt/label/rep": 1 / 4,
        "nt/label/con": 0,
        "nt/label/pr": 1 / 4,
        "nt/asked": 4,
        "nt/empty": 0,
        "nt/truncated": 0,
        "nt/without_verdict": 1,
        "nt/without_labels": 0,
        "nt/n_tokens/mean": 10,
        "t/accuracy": 2 / 3,
        "t/trigger": 1 / 2,
        "t/label/cot": 0,
        "t/label/rep": 0,
        "t/label/con": 1 / 2,
        "t/label/pr": 0,
        "t/asked": 4,
        "t/empty": 1,
        "t/truncated": 0,
        "t/without_verdict": 0,
        "t/without_labels": 1,
        "t/n_tokens/mean": 50,
        # Prompts 0, 1 and 2 have both verdicts: 1 -> 1, 0 -> 1, 1 -> 0. Prompts 0 and 2 have both label vectors.
        "delta_acc": 0,
        "delta_acc/pairs": 3,
        "delta_pat": 0,
        "delta_pat/pairs": 2,
    }
    assert metrics == pytest.approx(expected)


def test_without_pattern_rm_there_is_accuracy_and_no_trigger():
    records = [replace(r, labels=None) for r in RECORDS]
    figures = paired_figures(records, seed=0)
    metrics = tracker_metrics(figures)
    assert metrics["nt/accuracy"] == pytest.approx(2 / 3) and metrics["delta_acc/pairs"] == 3
    assert not [name for name in metrics if "trigger" in name or "label/" in name or name == "delta_pat"]
    assert "no labels" in headline(figures) and "WITHOUT LABELS" not in headline(figures)


def test_the_line_for_people_tells_what_is_missing():
    text = headline(paired_figures(RECORDS, seed=0))
    assert "non-thinking Acc 66.7 Trigger 75.0 (cot 50.0 rep 25.0 con 0.0 pr 25.0)" in text
    assert "WITHOUT VERDICT 1 of 4" in text and "WITHOUT LABELS 1 of 4" in text
    assert text.endswith("ΔAcc +0.0  ΔPat +0.0")


def test_one_mode_has_no_differences():
    metrics = tracker_metrics(paired_figures([r for r in RECORDS if r.mode == "nt"], seed=0))
    assert not [name for name in metrics if name.startswith(("t/", "delta"))]


def test_figures_are_of_one_step():
    with pytest.raises(ValueError, match=r"of the steps \[4, 5\]"):
        paired_figures([*RECORDS, record(0, "nt", 1, "", step=5)], seed=0)


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "records").mkdir()
    return RunFolder(tmp_path)


def evaluation(folder, every=4, attempt=0):
    prompts = SimpleNamespace(n_prompts=4, n_responses=8)
    return PairedEvaluation(prompts, every, 10, 0, folder, attempt, Progress())


def test_it_is_due_at_the_start_every_so_many_steps_and_at_the_end(folder):
    assert [step for step in range(11) if evaluation(folder).is_due(step)] == [0, 4, 8, 10]


def test_a_kept_evaluation_is_ordered_and_said(folder):
    made = evaluation(folder, attempt=2)
    metrics = made.finish(RECORDS[::-1])
    assert metrics["pattern_eval/t/trigger"] == 0.5
    kept = read_all_rollouts(folder.paired_records)
    assert [(r.mode, r.group) for r in kept] == [(mode, i) for mode in ("nt", "t") for i in range(4)]
    assert {r.attempt for r in kept} == {2}
    (line,) = made.progress.since(0)
    assert "PatternEval at step 4: non-thinking Acc 66.7" in line


def test_only_what_a_start_would_leave_out_for_ever_is_missing(folder):
    first = evaluation(folder)
    assert first.is_missing(0) and not first.is_missing(3)
    first.finish(RECORDS)
    resumed = evaluation(folder, attempt=1)
    assert not resumed.is_missing(4) and resumed.is_missing(8) and resumed.is_missing(10)
    # A kill cut the write of step 8.
    write_rollouts(folder.paired_records, 1, [record(0, "nt", 1, "", step=8)])
    assert resumed.is_missing(8)


def test_the_summary_shows_the_first_and_the_last_evaluation():
    later = [replace(r, step=10, labels=labelled() if isinstance(r.labels, Labels) else r.labels) for r in RECORDS]
    steps = paired_steps([*RECORDS, *later], seed=0)
    assert [figures["step"] for figures in steps] == [4, 10]
    assert (
        steps[0]["modes"]["nt"]["rates"]["trigger"]["k"] == 3 and steps[1]["modes"]["nt"]["rates"]["trigger"]["k"] == 0
    )
    assert json.loads(json.dumps(steps)) == steps
    console = Console(record=True, width=160)
    console.print(paired_table(steps[0], steps[1]))
    shown = console.export_text()
    trigger = next(line for line in shown.splitlines() if "Trigger" in line and "non-thinking" in line)
    assert "75.0 [30.1, 95.4]" in trigger and "-75.0" in trigger
    assert "ΔAcc" in shown and "ΔPat" in shown


def test_a_run_without_evaluations_has_none_in_its_summary():
    assert paired_steps([], seed=0) == []
