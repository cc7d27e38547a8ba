"""A tracker that fails is dropped and the run goes on; the run folder always gets the metrics."""

import json

import numpy as np
import pytest

from foundation.runs.run_folder import open_run_folder
from trainer.frame.tracking import FileTracker, Trackers, build_trackers

CONFIG = {
    "policy": {},
    "corpus": {},
    "reward_mix": {},
    "seed": 0,
    "run": {"name": "r"},
    "tracking": {"kind": "none", "project": "p", "entity": None, "group": None, "tags": []},
}


class Failing:
    def __init__(self):
        self.asked = 0

    def log(self, metrics, step):
        self.asked += 1
        raise ConnectionError("the service is away")

    log_rollouts = log

    def finish(self, exit_code):
        self.asked += 1


@pytest.fixture
def folder(tmp_path):
    return open_run_folder(tmp_path / "run", CONFIG)


def rows(folder):
    return [json.loads(line) for line in folder.metrics.read_text().splitlines()]


def test_a_failing_tracker_is_asked_once(folder):
    failing = Failing()
    trackers = Trackers(FileTracker(folder[0], attempt=3), [failing])
    trackers.log({"reward": np.float32(0.5), "table": {"not": "a number"}}, step=1)
    trackers.log({"reward": 1}, step=2)
    trackers.finish()
    assert failing.asked == 1
    assert rows(folder[0]) == [
        {"step": 1, "attempt": 3, "reward": 0.5},
        {"step": 2, "attempt": 3, "reward": 1.0},
    ]


def test_a_service_that_cannot_start_does_not_stop_the_run(folder, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "wandb", None)  # import wandb raises ImportError
    config = CONFIG | {"tracking": CONFIG["tracking"] | {"kind": "wandb"}}
    trackers = build_trackers(config, *folder)
    trackers.log({"reward": 1.0}, step=1)
    assert rows(folder[0]) == [{"step": 1, "attempt": 0, "reward": 1.0}]


@pytest.mark.integration
def test_wandb_shows_held_out_accuracy_over_trigger(folder, monkeypatch):
    monkeypatch.setenv("WANDB_MODE", "offline")
    from trainer.frame.tracking.wandb_tracker import WandbTracker

    tracker = WandbTracker(CONFIG, folder[0], run_id="abc")
    logged = []
    monkeypatch.setattr(tracker._run, "log", lambda metrics, step: logged.append(metrics))
    tracker.log({"reward": 1.0}, step=1)
    tracker.log({"heldout/accuracy": 0.5, "heldout/trigger": 0.25}, step=2)
    paired = {"pattern_eval/nt/accuracy": 0.4, "pattern_eval/nt/trigger": 0.3, "pattern_eval/t/accuracy": 0.7}
    tracker.log(paired, step=3)
    drawn = [{k: v for k, v in metrics.items() if "_by_trigger/" in k} for metrics in logged]
    assert drawn == [{}, {"heldout_by_trigger/accuracy": 0.5}, {"pattern_eval_by_trigger/nt/accuracy": 0.4}]
    tracker.finish(0)
