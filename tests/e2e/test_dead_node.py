"""A job on a two-node Ray cluster whose judge node dies in the middle of a step: the judge moves to a new node."""

from __future__ import annotations

import os
import time

import psutil
import pytest
from quickstart_job import START_S, STEP_S, Run, below, wait_until_gone
from run_records import check_records

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

MOVED_WITHIN_S = 90
"""From the death of the node to the address of the replica on another one."""


@pytest.fixture(scope="module")
def moved(jobs):
    """The head holds the policy, a second node the judge; that one dies, and a third one joins."""
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
            "judges.fallback.serve.cpus_per_replica=0",
            "+judges.fallback.serve.resources.judge_node=1",
            f"ray_kwargs.ray_init.address={cluster.address}",
            "ray_kwargs.ray_init.num_cpus=null",
            "ray_kwargs.ray_init.num_gpus=null",
            "ray_kwargs.ray_init.object_store_memory=null",
            "run.name=moved",
        )
        job.wait_for("step   1/500", START_S + STEP_S)
        time.sleep(1.0)  # into the next step
        since, mark = time.monotonic(), len(job.output)
        cluster.remove_node(second, allow_graceful=False)
        job.wait_for("starting it on another node", MOVED_WITHIN_S)
        cluster.add_node(**judge_node)
        job.wait_for_more(mark, "is starting at", 1, MOVED_WITHIN_S)
        moved_s = time.monotonic() - since
        job.wait_for_more(mark, "is ready after", 1, START_S)
        job.wait_for_steps(3)
        job.interrupt()
        code = job.wait(STEP_S + 60)
        raylets = [p for p in psutil.Process(os.getpid()).children(recursive=True) if p.name() == "raylet"]
        left = wait_until_gone([p for raylet in raylets for p in below(raylet, "toy-answer-judge")])
        yield {"run": Run(job.folder), "code": code, "output": job.output, "moved_s": moved_s, "left": left}
    finally:
        cluster.shutdown()


def test_the_judge_moves_and_the_run_goes_on(moved):
    assert moved["code"] == 130, moved["output"][-3000:]
    assert moved["moved_s"] < MOVED_WITHIN_S
    first, second = moved["run"].judge("fallback")["replicas"]
    assert first["end"] == "its actor or node is dead"
    assert first["base_url"] != second["base_url"]
    assert second["requests"] > 0  # the reward worker, which was never restarted, asks at the new address


def test_no_rollout_is_lost_or_scored_by_default(moved):
    records = moved["run"].records()
    check_records(records)
    assert [r for r in records if r["reward"] is None] == []


def test_no_server_is_left(moved):
    assert [p.cmdline() for p in moved["left"]] == []
