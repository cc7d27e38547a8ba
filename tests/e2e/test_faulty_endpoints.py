"""A PatternRL job with judges that somebody else runs, behind a proxy that spoils answers: five faults, one run."""

from __future__ import annotations

import re

import pytest
from fault_proxy import FaultProxy
from quickstart_job import START_S, STEP_S, Run
from run_records import check_records

from foundation.runs.records import Unlabelled

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

FAULTS = ("garbage", "busy", "reset", "drip")
ENOUGH = {"fallback": 2, "pattern_rm": 6}
"""Spoiled answers of each fault that a judge must have given before the next one begins."""


@pytest.fixture(scope="module")
def spoiled(jobs, running_judges):
    """Each fault in turn, then three clean steps; the folder of the judge cache cannot be written all the time."""
    urls = dict(re.match(r"judges\.(\w+)\.base_urls=\[(.*)/v1\]", text).groups() for text in running_judges[1::2])
    proxies = {judge: FaultProxy(url) for judge, url in urls.items()}
    settings = [f"judges.{judge}.base_urls=[{proxy.base_url}]" for judge, proxy in proxies.items()]
    settings += [
        f"judges.{judge}.{key}"
        for judge in proxies
        for key in ("serve=null", "timeout_s=3", "total_timeout_s=20", "max_attempts=3")
    ]
    job = jobs(
        "spoiled",
        "trainer.total_training_steps=500",
        "trainer.save_freq=1000",
        "trainer.val_before_train=false",
        "reward_mix.score_incorrect=true",
        "reward_mix.max_wait_s=40",
        "judge_cache.folder=/dev/null/judge_cache",
        "run.name=spoiled",
        *settings,
    )
    job.wait_for("step   1/500", START_S + STEP_S)
    steps = {}
    for fault in FAULTS:
        for proxy in proxies.values():
            proxy.mode = fault
        begun = job.last_step()
        job.wait_until(
            lambda fault=fault: all(proxies[judge].injected[fault] >= n for judge, n in ENOUGH.items()), 3 * STEP_S
        )
        steps[fault] = (begun + 1, job.last_step() + 1)
    for proxy in proxies.values():
        proxy.mode = "clean"
    job.wait_for_steps(1)
    clean_after = job.last_step()
    job.wait_for_steps(2)
    job.interrupt()
    code = job.wait(STEP_S + 60)
    for proxy in proxies.values():
        proxy.stop()
    return {"run": Run(job.folder), "code": code, "output": job.output, "steps": steps, "clean_after": clean_after}


def test_the_run_goes_on_through_every_fault(spoiled):
    assert spoiled["code"] == 130, spoiled["output"][-3000:]
    for first, last in spoiled["steps"].values():
        assert last >= first


def test_no_rollout_is_lost_scored_twice_or_zero_because_a_judge_failed(spoiled):
    check_records(spoiled["run"].records())


def test_faults_cost_retries_and_leave_reasons(spoiled):
    calls = [call for record in spoiled["run"].records() for call in record.judge_calls]
    assert sum(call.retries for call in calls) > 0
    for record in spoiled["run"].records():
        for call in record.judge_calls:
            assert call.failure is None or (isinstance(call.failure, str) and call.failure)


def test_everything_is_scored_once_the_judges_are_well_again(spoiled):
    after = [r for r in spoiled["run"].records() if r.step > spoiled["clean_after"] + 1]
    assert after
    for record in after:
        assert record.reward is not None
        assert not isinstance(record.labels, Unlabelled)


def test_failures_are_metrics_of_the_steps_by_reason(spoiled):
    records, steps = spoiled["run"].records(), spoiled["run"].steps()
    without_labels = [r.labels.reason for r in records if isinstance(r.labels, Unlabelled)]
    without_verdict = [r.verdict.reason for r in records if r.verdict.value is None]
    for kind, reasons in (("unlabelled", without_labels), ("unscored", without_verdict)):
        for reason in set(reasons):
            assert sum(row.get(f"reward_mix/{kind}/{reason}", 0) for row in steps) == reasons.count(reason)
    assert steps[-1]["reward_mix/cache/workers_off"] == 1
    assert steps[-1]["reward_mix/endpoints/pattern_rm/admitting"] == 1


def test_a_cache_that_cannot_be_written_is_left_out_of_use(spoiled):
    records = spoiled["run"].records()
    asked = [call for record in records for call in record.judge_calls]
    assert asked and all(call.answered_by != "disk" for call in asked)
    assert any(call.cache_off for call in asked)
