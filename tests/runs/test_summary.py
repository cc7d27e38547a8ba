"""The figures of the summary, counted by hand, and against scipy's Wilson interval computed from its formula."""

import json
import math

import pytest
import yaml
from factories import WEIGHTS, judge_call, labelled, ruled, scored
from rich.console import Console

from foundation.runs.records import SymbolicLosses, Verdict
from foundation.runs.run_folder import RunFolder, append_jsonl, last_attempt, open_run_folder, write_json
from foundation.runs.scored_rollout import read_rollouts, write_rollouts
from foundation.runs.summary import (
    call_counts,
    phase_seconds,
    rate,
    stage_shares,
    summarise,
    verifier_counts,
)


def row(value, *, stage="exact", labels=None, calls=(), cot_weight=0.05, **changes):
    return scored(
        verdict=Verdict(value, stage, "", "3"),
        labels=labels,
        charged=None if labels is None else labels.decided,
        penalty=0.05 if labels else 0.0,
        weights=WEIGHTS | {"cot": cot_weight},
        judge_calls=calls,
        **changes,
    )


CALL = judge_call("pattern_rm", attempts=2, retries=1)
RULES = ruled(cot=True, con=None, pr=None)
LABELS = labelled("cot")


def test_wilson_interval():
    k, n, z = 30, 40, 1.959963984540054
    p = k / n
    centre = (p + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(p * (1 - p) / n + z * z / (4 * n * n))
    assert rate(k, n) == {"value": p, "low": pytest.approx(centre - half), "high": pytest.approx(centre + half), "n": n}


def test_a_repeated_step_counts_once(tmp_path):
    for attempt, rows in enumerate(([row(1, step=1), row(1, step=2)], [row(0, step=2), row(0, step=3)])):
        write_rollouts(tmp_path / "train.jsonl", attempt, rows)
    kept = [(1, 0), (2, 1), (3, 1)]
    assert [(r.step, r.attempt) for r in read_rollouts(tmp_path / "train.jsonl")] == kept
    metrics = [{"step": step, "attempt": attempt} for step, attempt in ((1, 0), (2, 0), (2, 1), (3, 1))]
    assert [(r["step"], r["attempt"]) for r in last_attempt(metrics)] == kept


def test_stage_shares_name_the_undecided():
    rows = [row(1), row(0, stage="typed"), row(1, stage="judge"), row(None, stage="judge")]
    shares = stage_shares(rows)
    assert shares["exact"] == shares["typed"] == shares["judge"] == shares["unscored"] == 0.25
    assert sum(shares.values()) == 1


def test_what_the_verifier_left_open_and_lost():
    said = [("number_word", None), ("symbolic_timeout", None), ("number_word", None), ("identical", 1)]
    rows = [
        row(1, verifier=Verdict(value, "typed", reason), losses=SymbolicLosses(1, index))
        for index, (reason, value) in enumerate(said)
    ]
    assert verifier_counts(rows) == {
        "unresolved": {"number_word": 2, "symbolic_timeout": 1},
        "children_lost": {"killed": 4, "died": 6},
    }


def test_calls_made_and_saved():
    train = [row(1, labels=LABELS), row(1, z=0), row(0, stage="judge"), row(0), row(1)]
    calls = call_counts(train, heldout=[row(1, labels=LABELS)])
    assert calls["pattern_rm"] == {
        "rollouts": 5,
        "asked": 1,
        "saved_incorrect": 2,
        "saved_gate_closed": 1,
        "saved_decided_by_rules": 1,
        "asked_heldout": 1,
    }
    assert calls["fallback"] == {"rollouts": 5, "asked": 1, "saved_by_rules": 4, "asked_heldout": 0}


def test_phases_leave_out_the_first_step_and_add_up():
    steps = [
        {"timing_s/step": 20.0, "timing_s/gen": 15.0},
        {"timing_s/step": 4.0, "timing_s/gen": 2.0},
        {"timing_s/step": 6.0, "timing_s/gen": 3.0},
    ]
    assert phase_seconds(steps) == {"generate and score": 2.5, "other": 2.5, "step": 5.0}


def test_whole_summary_of_a_run_folder(tmp_path):
    config = {"policy": {}, "corpus": {"oracle": None}, "reward_mix": {}, "seed": 0, "run": {"name": "test"}}
    folder, _ = open_run_folder(tmp_path, config)
    (tmp_path / "config.yaml").write_text(yaml.safe_dump(config))
    write_rollouts(
        folder.records / "train.jsonl",
        0,
        [
            row(1, labels=LABELS, calls=(CALL,), cot_weight=0.025, rule_labels=RULES),
            row(0, losses=SymbolicLosses(killed=2)),
        ],
    )
    write_rollouts(
        folder.records / "heldout.jsonl",
        0,
        [
            row(1, labels=LABELS, step=0, rule_labels=RULES),
            row(0, step=0, rule_labels=ruled(con=None, pr=None)),
            row(1, step=1, labels=labelled()),
            row(1, step=1),
        ],
    )
    paired = [row(1, labels=LABELS, mode=mode, step=step) for mode in ("nt", "t") for step in (0, 1)]
    write_rollouts(folder.paired_records, 0, paired)
    metrics = {"reward_mix/accuracy": 0.5, "reward_mix/servers/pattern_rm/moves": 1.0, "timing_s/step": 1.0}
    append_jsonl(folder.metrics, [{"step": 1, "attempt": 0, **metrics}])
    actors = [{"name": "pattern_rm-0"}, {"name": "pattern_rm-1"}, {"name": "pattern_rm-0"}]
    write_json(folder.judges / "pattern_rm.json", {"requests": 3, "restarts": 4, "replicas": actors})
    console = Console(record=True, width=160)
    summary = summarise(RunFolder(tmp_path), console)
    assert [figures["accuracy"]["value"] for figures in summary["heldout"]] == [0.5, 1.0]
    assert [figures["pattern_rm"]["trigger"]["value"] for figures in summary["heldout"]] == [1.0, 0.0]
    assert summary["heldout"][0]["rules"]["cot"]["value"] == 0.5 and "rules" not in summary["heldout"][1]
    assert [figures["delta_acc"]["n"] for figures in summary["pattern_eval"]] == [1, 1]
    assert summary["agreement"]["cot"] == {"n": 2.0, "share": 1.0}
    assert summary["weights"]["cot"] == {"first": 0.025, "last": 0.025, "least": 0.025, "largest": 0.05}
    assert summary["failures"]["unscored"] == {}
    assert summary["states"] == {"servers/pattern_rm/moves": {"last": 1.0, "least": 1.0, "largest": 1.0}}
    assert summary["training"]["judge/pattern_rm/retries"] == 1 and summary["training"]["gate_open"] == 1.0
    assert json.loads(folder.summary.read_text()) == summary
    assert folder.curves.read_bytes().startswith(b"\x89PNG")
    shown = console.export_text()
    assert "PatternEval, rates in % and differences in points" in shown and "pattern_eval.jsonl" in shown
    assert "symbolic stage: 0 rollouts timed out; 2 children killed, 0 died by themselves" in shown
    assert "+50.0" in shown and "-100.0" in shown
    assert "pattern_rm counted in the last start: 3; started again 4 times, moved 1 times" in shown
    assert (
        "labelled training rollouts: Trigger 100.0% (cot 100.0%, rep 0.0%, con 0.0%, pr 0.0%); gate open for 100.0%, "
        "penalty 0.0250 a rollout"
    ) in shown
    assert "PatternRM and the rules: cot 100.0% of 2, rep 100.0% of 2" in shown
    assert "pattern weights, first -> last step: cot 0.025 -> 0.025 (0.025 to 0.05)" in shown
    assert "judge pattern_rm: 1 questions = 1 to its servers (2 requests, 1 of them retries)" in shown


def test_a_run_without_a_step_is_an_error(tmp_path):
    folder, _ = open_run_folder(tmp_path, {"policy": {}, "corpus": {}, "reward_mix": {}, "seed": 0})
    (tmp_path / "config.yaml").write_text(yaml.safe_dump({"corpus": {"oracle": None}}))
    with pytest.raises(ValueError, match="before its first step"):
        summarise(folder, Console())
