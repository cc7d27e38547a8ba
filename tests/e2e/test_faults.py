"""A BaseRL job whose servers and workers die one after the other: it goes on, until its rollout engine is gone."""

from __future__ import annotations

import time

import psutil
import pytest
from quickstart_job import START_S, STEP_S, Run, below, wait_until_gone
from run_records import check_records

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

ENDED_WITHIN_S = 240
"""From the death of the rollout engine to the exit of the job, in seconds."""
HUNG_AFTER_S = 10
MAX_WAIT_S = 200
"""Longer than a server's restart takes on two cores that are also training."""


@pytest.fixture(scope="module")
def faulty(jobs):
    """A judge replica of two killed, then the other; one frozen; a reward worker killed; the rollout engine killed."""
    job = jobs(
        "faulty",
        "trainer.total_training_steps=500",
        "trainer.save_freq=1000",
        "trainer.val_before_train=false",
        "reward_mix=base_rl",
        "actor_rollout_ref.rollout.agent.num_workers=2",
        "reward.num_workers=2",
        "judges.fallback.serve.replicas=2",
        "judges.fallback.timeout_s=5",
        "judges.fallback.total_timeout_s=20",
        "judges.fallback.serve.idle_priority=false",
        f"reward_mix.max_wait_s={MAX_WAIT_S}",
        f"judges.fallback.serve.hung_after_s={HUNG_AFTER_S}",
        "judges.fallback.serve.max_restarts=5",
        "run.name=faulty",
    )
    job.wait_for("step   1/500", START_S + STEP_S)
    driver = psutil.Process(job.process.pid)
    first, second = servers(driver)
    mark = len(job.output)
    first.kill()
    job.wait_for_more(mark, "started again", 1, STEP_S)
    job.wait_for_steps(2)
    back_early = "is ready after" in job.output[mark:]
    second.kill()
    job.wait_for_more(mark, "is ready after", 2, START_S)
    job.wait_for_steps(2)

    frozen, since, mark = servers(driver)[0], time.monotonic(), len(job.output)
    steps_frozen = job.steps_while(frozen.suspend, until=f"hung_after_s={HUNG_AFTER_S}", timeout_s=START_S)
    hung_s = time.monotonic() - since

    below(driver, "ray::RewardLoopWorker")[0].kill()
    job.wait_for_more(mark, "died and was started again", 1, STEP_S)
    job.wait_for_steps(2)

    everything = job.descendants()
    engine_host = below(driver, "ray::vLLMHttpServer")[0]
    for engine in engine_host.children(recursive=True):
        engine.kill()
    code = job.wait(ENDED_WITHIN_S)
    return {
        "run": Run(job.folder),
        "back_early": back_early,
        "steps_frozen": steps_frozen,
        "hung_s": hung_s,
        "code": code,
        "output": job.output,
        "alive": wait_until_gone(everything),
    }


def servers(driver: psutil.Process) -> list[psutil.Process]:
    """The processes that listen for the replicas of the fallback judge; with them die the engines below."""
    return [p for p in below(driver, "toy-answer-judge") if "serve" in p.cmdline()]


def test_the_run_goes_on_while_one_replica_of_two_is_away_or_frozen(faulty):
    assert not faulty["back_early"]
    assert faulty["steps_frozen"] > 0


def test_dead_and_frozen_servers_are_started_again(faulty):
    assert faulty["run"].judge("fallback")["restarts"] == 3
    assert faulty["output"].count("the server exited with code -9; started again") == 2
    # Asked every quarter of hung_after_s; an answer may take 5 s to time out, the end of a frozen process 10 s.
    assert HUNG_AFTER_S <= faulty["hung_s"] < HUNG_AFTER_S + 60


def test_a_silent_judge_is_told_on_the_terminal(faulty):
    assert "JUDGE SILENT: fallback has answered nothing for" in faulty["output"]
    assert f"each for {MAX_WAIT_S} s at most (reward_mix.max_wait_s)" in faulty["output"]
    assert "judge fallback: no rollout waits for it any more" in faulty["output"]


def test_a_dead_reward_worker_is_started_again(faulty):
    assert faulty["output"].count("died and was started again; its rollouts are scored again") == 1


def test_restarts_and_waits_are_metrics_of_the_steps(faulty):
    steps = faulty["run"].steps()
    assert steps[-1]["reward_mix/servers/fallback/restarts"] == 3
    assert steps[-1]["reward_mix/servers/fallback/moves"] == 0
    assert steps[-1]["reward_mix/reward_workers/restarts"] == 1
    assert {row["reward_mix/endpoints/fallback/known"] for row in steps} == {2}
    assert min(row["reward_mix/servers/fallback/ready"] for row in steps) < 2
    assert max(row["reward_mix/waited/rollouts"] for row in steps) > 0
    assert max(row["reward_mix/waited/longest_s"] for row in steps) < MAX_WAIT_S


def test_no_rollout_is_lost_or_scored_by_default(faulty):
    records = faulty["run"].records()
    check_records(records)
    # Every outage was shorter than max_wait_s: waiting was enough.
    assert [r for r in records if r.reward is None] == []


def test_a_dead_rollout_engine_ends_the_run_with_its_reason(faulty):
    assert faulty["code"] == 1
    assert "training failed" in faulty["output"]
    assert "rollout" in (faulty["run"].folder / "error.txt").read_text()


def test_base_rl_has_no_labels_and_no_pattern_rm(faulty):
    for record in faulty["run"].records():
        assert record.labels is None
        assert record.reward == record.verdict.value
    served = sorted(path.name for path in (faulty["run"].folder / "judges").iterdir())
    assert served == ["fallback-0.log", "fallback-1.log", "fallback.json"]


def test_prompts_and_gates_depend_on_neither_workers_nor_reward(faulty, pattern_run):
    """Two agent loop workers and two reward workers against one of each."""
    drawn = [
        {(r.step, r.group, r.rollout): r.z for r in run.records() if r.step <= 2}
        for run in (faulty["run"], pattern_run)
    ]
    assert len(drawn[0]) == 32
    assert drawn[0] == drawn[1]


def test_nothing_is_left_running(faulty):
    assert [p.cmdline() for p in faulty["alive"]] == []
