"""Settings, and a job server in memory with the calls of Ray's client that `launch` uses."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass, field
from typing import Any

import pytest
from ray.job_submission import JobDetails, JobStatus, JobType

from launch.settings import LaunchSettings, read_launch_settings


@dataclass
class FakeJobs:
    """Jobs end as `script` says: for each submission, in order, the (status, exit code) pairs that it goes through."""

    script: list[list[tuple[str, int | None]]]
    submitted: list[dict[str, Any]] = field(default_factory=list)
    stopped: list[str] = field(default_factory=list)
    most_at_once: int = 0
    _left: dict[str, list[tuple[str, int | None]]] = field(default_factory=dict)

    def submit_job(self, *, entrypoint: str, submission_id: str, runtime_env: Any, metadata: dict[str, str]) -> str:
        self._left[submission_id] = list(self.script[len(self.submitted)])
        self.submitted.append({"id": submission_id, "entrypoint": entrypoint, "env": runtime_env, "metadata": metadata})
        running = sum(states[0][0] in ("PENDING", "RUNNING") for states in self._left.values())
        self.most_at_once = max(self.most_at_once, running)
        return submission_id

    def list_jobs(self) -> list[JobDetails]:
        return [self._details(job["id"]) for job in self.submitted]

    def get_job_info(self, submission_id: str) -> JobDetails:
        if submission_id not in self._left:
            raise RuntimeError("Request failed with status code 404: not found.")
        details = self._details(submission_id)
        if len(self._left[submission_id]) > 1:
            self._left[submission_id].pop(0)
        return details

    def stop_job(self, submission_id: str) -> bool:
        self.stopped.append(submission_id)
        self._left[submission_id] = [("STOPPED", None)]
        return True

    async def tail_job_logs(self, submission_id: str) -> AsyncIterator[str]:
        yield f"output of {submission_id}\n"

    def _details(self, submission_id: str) -> JobDetails:
        status, code = self._left[submission_id][0]
        job = next(job for job in self.submitted if job["id"] == submission_id)
        return JobDetails(
            type=JobType.SUBMISSION,
            submission_id=submission_id,
            status=JobStatus(status),
            driver_exit_code=code,
            message=f"ended with {code}",
            entrypoint=job["entrypoint"],
            metadata=job["metadata"],
            start_time=self.submitted.index(job),
        )


@pytest.fixture
def fake_jobs() -> Callable[..., FakeJobs]:
    return lambda *script: FakeJobs(list(script))


@pytest.fixture
def launch_settings(monkeypatch: pytest.MonkeyPatch) -> Callable[..., LaunchSettings]:
    for variable in ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS", "PATTERNRL_RUNS"):
        monkeypatch.delenv(variable, raising=False)
    quick = ("launch.restart_pause_s=0", "sweep.poll_s=0.01")
    return lambda *overrides: read_launch_settings([*quick, *overrides])
