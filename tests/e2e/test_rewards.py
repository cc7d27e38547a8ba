"""Two steps of PatternRL: rewards by the formula, judges really asked, metrics, frozen vision tower."""

from __future__ import annotations

from pathlib import Path

import pytest
from omegaconf import OmegaConf

from launch.wandb_sections import VARIED, metrics_of, sections
from trainer.frame.tracking.wandb_tracker import TRADE_OFFS

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}


def test_rewards_follow_the_formula(pattern_run):
    for record in pattern_run.records():
        labels = record.labels
        penalty = 0.0 if labels is None else min(0.1, sum(w for label, w in WEIGHTS.items() if labels.decided[label]))
        expected = max(0.0, record.verdict.value - record.z * penalty)
        assert record.reward == pytest.approx(expected, abs=1e-9)
        assert (labels is None) == (record.verdict.value == 0 or record.z == 0)
        assert record.weights == WEIGHTS
        assert set(record.rule_labels.seen) >= {"cot", "rep", "con", "pr"}


def test_both_judges_were_really_asked(pattern_run):
    records = pattern_run.records() + pattern_run.records("heldout")
    asked = {
        "pattern_rm": len({(r.question, r.visible) for r in records if r.labels is not None}),
        "fallback": len(
            {(r.question, r.reference, r.verdict.extracted) for r in records if r.verdict.stage == "judge"}
        ),
    }
    for judge, different in asked.items():
        assert different > 0
        # The servers' own count: one request for each different call.
        assert pattern_run.judge(judge)["requests"] == different


def test_metrics_of_every_step(pattern_run):
    steps = pattern_run.steps()
    assert [row["step"] for row in steps] == [1, 2]
    for row in steps:
        assert {
            "reward_mix/stage/judge",
            "reward_mix/verifier/symbolic_timeouts",
            "reward_mix/gate_open",
            "timing_s/step",
            "actor/grad_norm",
            "reward_mix/waited/rollouts",
            "reward_mix/cache/mb",
        } <= set(row)
        for judge in ("fallback", "pattern_rm"):
            states = ("servers", "ready"), ("endpoints", "known"), ("endpoints", "admitting")
            assert [row[f"reward_mix/{family}/{judge}/{state}"] for family, state in states] == [1, 1, 1]
            assert row[f"reward_mix/servers/{judge}/restarts"] == row[f"reward_mix/servers/{judge}/moves"] == 0


def test_the_wandb_workspace_shows_what_a_run_logs(pattern_run):
    def bare(name: str) -> str:
        return name.removeprefix("reward_mix/").removeprefix("heldout/")  # one function makes both

    logged = {bare(name) for row in pattern_run.metrics() for name in row}
    shown = {bare(name) for section in sections() for panel in section.panels for name in metrics_of(panel)}
    paired = {name for name in shown if name.startswith("pattern_eval/")}  # of runs with pattern_eval.every
    assert shown - logged == paired | set(TRADE_OFFS)  # these of the W&B tracker alone
    config = OmegaConf.load(pattern_run.folder / "config.yaml")
    assert [key for key in VARIED if OmegaConf.select(config, key) is None] == []


def test_the_vision_tower_stays_frozen(pattern_run):
    """Weights of the export against those of the policy that it started from: language moves, vision does not."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForImageTextToText

    root = Path(__file__).parents[2]
    (export,) = pattern_run.folder.glob("checkpoints/global_step_2/actor/huggingface")
    before, after = (
        AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32).state_dict()
        for path in (root / "assets/toy/policy", export)
    )
    assert load_file(next(export.glob("*.safetensors")))
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved, "two updates must move something"
    assert not [name for name in moved if "visual" in name]
