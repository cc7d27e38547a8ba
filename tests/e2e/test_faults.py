"""A BaseRL job with dead servers: a judge comes back, a rollout engine ends the run with a reason, neither hangs."""

from __future__ import annotations

import time
from pathlib import Path

import psutil
import pytest
from quickstart_job import START_S, STEP_S, Run, wait_until_gone

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(1500)]

ENDED_WITHIN_S = 240
"""From the death of the rollout engine to the exit of the job, in seconds."""


def below(process: psutil.Process, text: str) -> list[psutil.Process]:
    """Descendants of a process whose command line holds a text."""
    return [p for p in process.children(recursive=True) if text in " ".join(p.cmdline())]


@pytest.fixture(scope="module")
def faulty(jobs):
    """The fallback judge's server is killed after step 1; two steps after it is back, the rollout engine is."""
    job = jobs(
        "faulty",
        "trainer.total_training_steps=500",
        "trainer.save_freq=1000",
        "trainer.val_before_train=false",
        "reward_mix=base_rl",
        "actor_rollout_ref.rollout.agent.num_workers=2",
        "reward.num_workers=2",
        "run.name=faulty",
    )
    job.wait_for("step   1/500", START_S + STEP_S)
    driver = psutil.Process(job.process.pid)
    server = below(driver, "toy-answer-judge")[0]
    server.kill()
    restarted = _restarted(job.folder / "judges" / "fallback-0.log", START_S)
    reached = max(record["step"] for record in Run(job.folder).records())
    job.wait_for(f"step {reached + 2:>3}/500", START_S)
    everything = job.descendants()
    engine_host = below(driver, "ray::vLLMHttpServer")[0]
    for engine in engine_host.children(recursive=True):
        engine.kill()
    code = job.wait(ENDED_WITHIN_S)
    return {
        "run": Run(job.folder),
        "restarted": restarted,
        "code": code,
        "output": job.output,
        "alive": wait_until_gone(everything),
    }


def _restarted(log: Path, timeout_s: float) -> bool:
    """Whether a server's log shows a second start within the timeout."""
    deadline = time.monotonic() + timeout_s
    while log.read_text(errors="replace").count("Application startup complete") < 2:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.5)
    return True


def test_a_dead_judge_is_started_again_and_the_run_goes_on(faulty):
    assert faulty["restarted"]
    assert faulty["run"].judge("fallback")["restarts"] == 1


def test_no_rollout_is_lost_or_scored_by_default_while_a_judge_is_away(faulty):
    records = faulty["run"].records()
    keys = [(r["step"], r["group"], r["rollout"]) for r in records]
    assert len(keys) == len(set(keys)) == 16 * max(r["step"] for r in records)
    for record in records:
        assert (record["reward"] is None) == (record["verdict"]["value"] is None)


def test_a_dead_rollout_engine_ends_the_run_with_its_reason(faulty):
    assert faulty["code"] == 1
    assert "training failed" in faulty["output"]
    assert "rollout" in (faulty["run"].folder / "error.txt").read_text()


def test_base_rl_has_no_labels_and_no_pattern_rm(faulty):
    for record in faulty["run"].records():
        assert record["labels"] is None
        assert record["reward"] == record["verdict"]["value"]
    served = sorted(path.name for path in (faulty["run"].folder / "judges").iterdir())
    assert served == ["fallback-0.log", "fallback.json"]


def test_prompts_and_gates_depend_on_neither_workers_nor_reward(faulty, pattern_run):
    """Two agent loop workers and two reward workers against one of each."""
    drawn = [
        {(r["step"], r["group"], r["rollout"]): r["z"] for r in run.records() if r["step"] <= 2}
        for run in (faulty["run"], pattern_run)
    ]
    assert len(drawn[0]) == 32
    assert drawn[0] == drawn[1]


def test_nothing_is_left_running(faulty):
    assert [p.cmdline() for p in faulty["alive"]] == []
