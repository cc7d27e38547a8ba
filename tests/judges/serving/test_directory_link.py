"""The link over real Ray actors: first addresses before the first rollout, later ones without a restart."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

from reward_workers.judges.serving.directory import JudgeDirectory, WorkerReport, host_name

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]

RUN = "/runs/one"


@pytest.fixture(scope="module")
def job() -> Iterator[tuple[Any, Any]]:
    """A host as the task runner is one, and a worker as verl's reward workers are: named, asynchronous, restarted."""
    import ray

    from reward_workers.judges.outage import Outages
    from reward_workers.judges.serving import directory_link
    from reward_workers.judges.serving.health import JudgeHealth, WorkerHealth

    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)

    class Host:
        def __init__(self) -> None:
            self.directory, self.reports = JudgeDirectory(), []

        def judge_report(self, report: WorkerReport) -> Any:
            self.reports.append(report)
            return self.directory.newer_than(report.version)

        def publish(self, addresses: Any) -> None:
            self.directory.publish(addresses)

        def heard(self) -> list[WorkerReport]:
            return list(self.reports)

    class Worker:
        def __init__(self) -> None:
            directory_link.ASK_EVERY_S = 0.2
            self.used: list[Any] = []
            self.outages = Outages()
            health = WorkerHealth({"fallback": JudgeHealth(endpoints=2, admitting=1, in_memory=7)})
            self.link = directory_link.DirectoryLink(RUN, self.used.append, self.outages, lambda: health)

        async def score(self) -> Any:
            await self.link.known()
            return self.used[-1]

        async def changes(self) -> int:
            return len(self.used)

    remote: Any = ray.remote
    host = remote(Host).options(name=host_name(RUN), max_concurrency=2, num_cpus=0).remote()
    ray.get(host.publish.remote({"fallback": ["http://a/v1"]}))
    worker = (
        remote(max_restarts=1, max_task_retries=-1, num_cpus=0)(Worker).options(name="reward_loop_worker_0").remote()
    )
    yield host, worker
    ray.shutdown()


def eventually(condition: Any) -> bool:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_addresses_reach_a_worker_and_the_one_that_takes_its_place(job: tuple[Any, Any]) -> None:
    import ray

    host, worker = job
    assert ray.get(worker.score.remote()) == {"fallback": ("http://a/v1",)}
    judge = ray.get(host.heard.remote())[0].health.judges["fallback"]
    assert (judge.endpoints, judge.admitting, judge.in_memory) == (2, 1, 7)
    ray.get(host.publish.remote({"fallback": ["http://b/v1"]}))
    assert eventually(lambda: ray.get(worker.score.remote()) == {"fallback": ("http://b/v1",)})
    assert ray.get(worker.changes.remote()) == 2  # questions without news change nothing
    ray.kill(worker, no_restart=False)
    # Somebody must ask the new one: it tells of itself with its first rollout.
    assert eventually(lambda: ray.get(worker.score.remote()) and restarted(host) == ["reward_loop_worker_0"])
    assert ray.get(worker.score.remote()) == {"fallback": ("http://b/v1",)}


def restarted(host: Any) -> list[str]:
    """Workers that told of a restart, once for each report."""
    import ray

    return [report.worker for report in ray.get(host.heard.remote()) if report.restarted]


def test_another_run_has_no_such_host(job: tuple[Any, Any]) -> None:
    from reward_workers.judges.outage import Outages
    from reward_workers.judges.serving.directory_link import DirectoryLink
    from reward_workers.judges.serving.health import WorkerHealth

    with pytest.raises(RuntimeError, match=r"/runs/other.*trainer\.main"):
        DirectoryLink("/runs/other", lambda _: None, Outages(), WorkerHealth)
