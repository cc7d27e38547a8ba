"""Two Ray nodes, judges on the first, the policy on the second: the second dies in a step, another one takes its place.

The job fails, `launch.submit` starts the run again, it waits for the new node and goes on from its checkpoint.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from quickstart_job import SMALL, START_S, STEP_S, Run
from run_records import check_records

from foundation.runs.scored_rollout import read_all_rollouts
from launch.local_cluster import LocalCluster, end_tree

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

STEPS, SAVE_EVERY = 4, 2
FAILS_WITHIN_S = 120
"""From the death of the node to the next submission; Ray calls a node dead about 15 s after its last sign of life."""


@pytest.fixture(scope="module")
def history(tmp_path_factory):
    """The node dies in step 3, after the checkpoint of step 2."""
    base = tmp_path_factory.mktemp("nodes")
    run, log = Run(base / "runs" / "lost"), base / "submit.log"
    command = [
        *(sys.executable, "-m", "launch.submit"),
        *SMALL,
        "cluster=ray_cpu",
        f"launch.runs_dir={base}/runs",
        "launch.restart_pause_s=20",
        "launch.max_restarts=1",
        "run.name=lost",
        "+judges.fallback.serve.resources.judge_node=1",
        "+judges.pattern_rm.serve.resources.judge_node=1",
        "trainer.val_before_train=false",
        "trainer.test_freq=-1",
        f"trainer.total_training_steps={STEPS}",
        f"trainer.save_freq={SAVE_EVERY}",
        "tracking=none",
    ]
    with LocalCluster(cpus=8, gpus=0, resources={"judge_node": 2}) as cluster:
        (first,) = cluster.living()
        node = cluster.add_node(cpus=8, gpus=1)
        (second,) = cluster.living() - {first}
        with log.open("w") as file:
            launcher = subprocess.Popen(
                command, env=cluster.environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
            )
        try:
            _wait(lambda: _last_step(run) == SAVE_EVERY + 1, launcher, START_S + 3 * STEP_S, log)
            placed = _nodes_of_actors(cluster)
            end_tree(node)
            lost_at = time.monotonic()
            _wait(lambda: "submitted as lost-2" in log.read_text(), launcher, 2 * FAILS_WITHIN_S, log)
            failed_after_s = time.monotonic() - lost_at
            _wait(lambda: "waiting for GPUs" in log.read_text(), launcher, START_S, log)
            cluster.add_node(cpus=8, gpus=1)
            code = launcher.wait(START_S + 3 * STEP_S)
        finally:
            end_tree(launcher)
    return {
        "run": run,
        "code": code,
        "output": log.read_text(),
        "nodes": (first, second),
        "placed": placed,
        "failed_after_s": failed_after_s,
    }


def _wait(condition: Callable[[], bool], launcher: subprocess.Popen[bytes], timeout_s: float, log: Path) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert launcher.poll() is None and time.monotonic() < deadline, log.read_text()[-6000:]
        time.sleep(0.1)


def _last_step(run: Run) -> int:
    """The last step whose rollouts are scored; its update goes on when the records appear."""
    return max((record.step for record in read_all_rollouts(run.folder / "records" / "train.jsonl")), default=0)


def _nodes_of_actors(cluster: LocalCluster) -> dict[str, set[str]]:
    """Nodes on which living actors of each class are, by Ray's state API."""
    actors: list[dict[str, Any]] = cluster.get("/api/v0/actors?limit=1000&detail=1").json()["data"]["result"]["result"]
    nodes = defaultdict(set)
    for actor in actors:
        if actor["state"] == "ALIVE":
            nodes[actor["class_name"]].add(actor["node_id"])
    return nodes


def test_judges_and_policy_are_placed_as_planned(history):
    first, second = history["nodes"]
    on = {
        role: set().union(*(nodes for name, nodes in history["placed"].items() if role in name))
        for role in ("JudgeServer", "WorkerDict", "vLLMHttpServer")
    }
    assert on == {"JudgeServer": {first}, "WorkerDict": {second}, "vLLMHttpServer": {second}}, history["placed"]


def test_the_job_of_a_lost_node_fails_in_time_and_its_run_is_submitted_again(history):
    assert history["failed_after_s"] < FAILS_WITHIN_S
    assert history["code"] == 0, history["output"][-6000:]
    assert "lost-1: FAILED, exit code 1" in history["output"]
    assert "lost-2: SUCCEEDED" in history["output"]
    assert "lost-3" not in history["output"]


def test_it_goes_on_from_the_checkpoint(history):
    starts = json.loads((history["run"].folder / "run.json").read_text())["starts"]
    assert [start["resumed_from"] for start in starts] == [None, SAVE_EVERY]
    summary = json.loads((history["run"].folder / "summary.json").read_text())
    assert (summary["steps"], summary["starts"]) == (STEPS, 2)
    assert summary["calls"]["pattern_rm"]["rollouts"] == 16 * STEPS  # every step once


def test_every_step_has_its_records_and_repeated_ones_the_same_gates(history):
    records = history["run"].records()
    check_records(records)
    steps = {attempt: {r.step for r in records if r.attempt == attempt} for attempt in (0, 1)}
    assert steps == {0: {1, 2, 3}, 1: {3, 4}}
    drawn = [{(r.group, r.rollout): r.z for r in records if r.step == 3 and r.attempt == attempt} for attempt in (0, 1)]
    assert len(drawn[0]) == 16 and drawn[0] == drawn[1]
