"""PatternRL and BaseRL on the same prompts: judges really asked, gates independent of the workers, one switch apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from quickstart_job import START_S, STEP_S, Run

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}


@pytest.fixture(scope="module")
def runs(jobs, running_judges):
    settings = ("trainer.total_training_steps=2", "trainer.test_freq=-1", "trainer.save_freq=2")
    pattern = jobs("pattern", *settings, "run.name=pattern")
    pattern_code = pattern.wait(START_S + 3 * STEP_S)
    workers = ("actor_rollout_ref.rollout.agent.num_workers=2", "reward.num_workers=2")
    fallback = [override for override in running_judges if override.startswith("judges.fallback")]
    base = jobs("base", *settings, *workers, *fallback, "reward_mix=base_rl", "run.name=base")
    base_code = base.wait(START_S + 3 * STEP_S)
    assert (pattern_code, base_code) == (0, 0), pattern.output[-4000:] + base.output[-4000:]
    return {"pattern": Run(pattern.folder), "base": Run(base.folder)}


def test_prompts_and_gates_do_not_depend_on_the_workers(runs):
    drawn = {name: {(r["step"], r["group"], r["rollout"]): r["z"] for r in run.records()} for name, run in runs.items()}
    assert len(drawn["pattern"]) == 32
    assert drawn["pattern"] == drawn["base"]


def test_rewards_follow_the_formula(runs):
    for record in runs["pattern"].records():
        labels = record["labels"]
        penalty = min(0.1, sum(w for label, w in WEIGHTS.items() if labels[label])) if labels else 0.0
        expected = max(0.0, record["verdict"]["value"] - record["z"] * penalty)
        assert record["reward"] == pytest.approx(expected, abs=1e-9)
        assert (labels is None) == (record["verdict"]["value"] == 0 or record["z"] == 0)
    for record in runs["base"].records():
        assert record["labels"] is None
        assert record["reward"] == record["verdict"]["value"]


def test_both_judges_were_really_asked(runs):
    records = runs["pattern"].records() + runs["pattern"].records("heldout")
    asked = {
        "pattern_rm": len({(r["question"], r["visible"]) for r in records if r["labels"] is not None}),
        "fallback": len(
            {
                (r["question"], r["reference"], r["verdict"]["extracted"])
                for r in records
                if r["verdict"]["stage"] == "judge"
            }
        ),
    }
    for judge, different in asked.items():
        assert different > 0
        # The servers' own count: one request for each different call.
        assert runs["pattern"].judge(judge)["requests"] == different


def test_the_job_serves_what_it_asks_and_nothing_else(runs):
    served = {name: sorted(path.name for path in (run.folder / "judges").iterdir()) for name, run in runs.items()}
    assert served["pattern"] == ["fallback-0.log", "fallback.json", "pattern_rm-0.log", "pattern_rm.json"]
    assert served["base"] == []  # its fallback judge runs elsewhere, and BaseRL has no PatternRM


def test_metrics_of_every_step(runs):
    for run in runs.values():
        steps = [row for row in run.metrics() if "reward_mix/accuracy" in row]
        assert [row["step"] for row in steps] == [1, 2]
        for row in steps:
            assert {"reward_mix/stage/judge", "reward_mix/gate_open", "timing_s/step", "actor/grad_norm"} <= set(row)


def test_the_vision_tower_stays_frozen(runs):
    """Weights of the export against those of the policy that it started from: language moves, vision does not."""
    import torch
    from safetensors.torch import load_file
    from transformers import AutoModelForImageTextToText

    root = Path(__file__).parents[2]
    (export,) = runs["pattern"].folder.glob("checkpoints/global_step_2/actor/huggingface")
    before, after = (
        AutoModelForImageTextToText.from_pretrained(path, dtype=torch.float32).state_dict()
        for path in (root / "assets/toy/policy", export)
    )
    assert load_file(next(export.glob("*.safetensors")))
    moved = {name for name in before if not torch.equal(before[name], after[name])}
    assert moved, "two updates must move something"
    assert not [name for name in moved if "visual" in name]
