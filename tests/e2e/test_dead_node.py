"""A job on a two-node Ray cluster whose second node, with the only judge on it, dies in the middle of a step.

The rollouts of that step wait, a third node joins, the judge starts there, and the reward worker learns its address.
"""

from __future__ import annotations

import re
import time

import psutil
import pytest
from quickstart_job import START_S, STEP_S, Run, below, wait_until_gone
from run_records import check_records

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

NOTICED_WITHIN_S = 60
"""From the death of the node to the line that says so: Ray calls a node dead about 15 s after its last sign of life."""
GOES_ON_WITHIN_S = 180
"""From the death of the node to the end of the step that it interrupted, on two busy cores."""
MAX_WAIT_S = 200


@pytest.fixture(scope="module")
def moved(jobs):
    """The first node has room for everything but the judge, which asks for the resource of the second."""
    from ray.cluster_utils import Cluster

    cluster = Cluster(
        initialize_head=True,
        head_node_args={"num_cpus": 16, "num_gpus": 1, "object_store_memory": 10**9, "include_dashboard": False},
    )
    judge_node = {"num_cpus": 0, "resources": {"judge_node": 1}, "object_store_memory": 10**8}
    second = cluster.add_node(**judge_node)
    try:
        job = jobs(
            "moved",
            "trainer.total_training_steps=500",
            "trainer.save_freq=1000",
            "trainer.val_before_train=false",
            "reward_mix=base_rl",
            f"reward_mix.max_wait_s={MAX_WAIT_S}",
            "judges.fallback.timeout_s=5",
            "judges.fallback.total_timeout_s=20",
            "judges.fallback.serve.cpus_per_replica=0",
            "+judges.fallback.serve.resources.judge_node=1",
            f"ray_kwargs.ray_init.address={cluster.address}",
            *(f"ray_kwargs.ray_init.{key}=null" for key in ("num_cpus", "num_gpus", "object_store_memory")),
            "run.name=moved",
        )
        job.wait_for("step   1/500", START_S + STEP_S)
        servers = _servers()
        since, mark, before = time.monotonic(), len(job.output), job.last_step()
        cluster.remove_node(second, allow_graceful=False)
        job.wait_until(lambda: "starting it on another node" in job.output[mark:], NOTICED_WITHIN_S, "a dead node")
        noticed_s = time.monotonic() - since
        cluster.add_node(**judge_node)
        # The step that the death interrupted ends when the judge has answered, the one before it may end without.
        job.wait_for_more(mark, "is ready after", 1, GOES_ON_WITHIN_S)
        job.wait_for_steps(1)
        goes_on_s = time.monotonic() - since
        job.wait_for_steps(2)
        servers += _servers()
        job.interrupt()
        code = job.wait(STEP_S + 60)
        yield {
            "run": Run(job.folder),
            "code": code,
            "output": job.output,
            "steps_before": before,
            "seconds": (noticed_s, goes_on_s),
            "servers": servers,
            "left": wait_until_gone(servers),
        }
    finally:
        cluster.shutdown()


def _servers() -> list[psutil.Process]:
    """The judge's servers on all nodes of the cluster, whose raylets are children of the tests here."""
    raylets = [process for process in psutil.Process().children() if process.name() == "raylet"]
    return [server for raylet in raylets for server in below(raylet, "toy-answer-judge")]


def test_the_judge_moves_and_the_run_goes_on(moved):
    assert moved["code"] == 130, moved["output"][-3000:]
    noticed_s, goes_on_s = moved["seconds"]
    assert noticed_s < NOTICED_WITHIN_S and goes_on_s < GOES_ON_WITHIN_S
    assert re.search(r"JUDGE SILENT: fallback has answered nothing for \d+ s", moved["output"])
    first, second = moved["run"].judge("fallback")["replicas"]
    assert first["end"] == "its actor or node is dead"
    assert first["base_url"] != second["base_url"]
    assert second["requests"] > 0  # the reward worker, which was never restarted, asks at the new address


def test_rollouts_of_the_interrupted_step_wait_and_none_is_lost_or_scored_by_default(moved):
    records = moved["run"].records()
    check_records(records)
    assert [r for r in records if r.reward is None] == []
    later = [r for r in records if r.step > moved["steps_before"]]
    waited = {r.step for r in later if r.verdict.stage == "judge" and r.verdict.latency_s > 10}
    # The step that was under way, or the next one when its questions had all been answered.
    assert len(waited) == 1 and waited <= {moved["steps_before"] + 1, moved["steps_before"] + 2}


def test_the_move_and_the_wait_are_metrics_of_the_steps(moved):
    steps = moved["run"].steps()
    moves = [row["reward_mix/servers/fallback/moves"] for row in steps]
    assert moves == sorted(moves) and (moves[0], moves[-1]) == (0, 1)
    assert steps[-1]["reward_mix/servers/fallback/ready"] == 1
    assert max(row["reward_mix/waited/longest_s"] for row in steps) > 10


def test_no_server_is_left_on_the_dead_node_or_after_the_job(moved):
    assert len(moved["servers"]) >= 2
    assert [p.cmdline() for p in moved["left"]] == []
