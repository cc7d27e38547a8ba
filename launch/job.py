"""One run as a Ray job: what is submitted, what became of it, and whether it is worth another start."""

from __future__ import annotations

import shlex
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import requests
from ray.job_submission import JobDetails, JobErrorType, JobStatus, JobSubmissionClient

from foundation.settings.terminal import EXIT_WRONG_INPUT
from launch.settings import Launch

EXIT_STOPPED = 130
RUN_KEY = "patternrl.run"
DIR_KEY = "patternrl.run_dir"
RETRY_S = 5.0


class ClusterLost(RuntimeError):
    """The cluster does not take a job, or did not answer for `launch.contact_timeout_s`."""


@dataclass(frozen=True, slots=True)
class JobSpec:
    """A run that can be submitted, any number of times.

    Attributes:
        run: its name; submissions are called ``<run>-1``, ``<run>-2`` and so on.
        run_dir: its folder, by which a later submission goes on from the last checkpoint.
        overrides: the command line of `trainer.main`.
        runtime_env: Ray's, with the working directory; not shown, because it may hold keys.
    """

    run: str
    run_dir: str
    overrides: tuple[str, ...]
    runtime_env: dict[str, Any] = field(repr=False)

    def entrypoint(self, launch: Launch) -> str:
        """The shell command on the cluster; `exec` so that signals and exit codes are those of Python."""
        command = [launch.python, "-m", "launch.job_start", f"{launch.gpu_wait_s:g}", *self.overrides]
        return f"exec {shlex.join(command)}"


@dataclass(frozen=True, slots=True)
class JobState:
    """What the job server says of a submission.

    Attributes:
        status: PENDING, RUNNING, SUCCEEDED, STOPPED or FAILED; LOST when the cluster knows no such job any more.
        exit_code: of the command; None while it runs, and where a signal or a lost node ended it without one.
        reason: first line of Ray's message where the command itself is not what failed.
    """

    submission_id: str
    status: str
    exit_code: int | None
    error_type: str | None
    reason: str

    @property
    def ended(self) -> bool:
        return self.status not in ("PENDING", "RUNNING")

    @property
    def code(self) -> int:
        """Exit code for a shell: that of the job, 128 + n after signal n, 130 after a stop, 1 where none is known."""
        if self.status == "SUCCEEDED":
            return 0
        if self.status == "STOPPED":
            return EXIT_STOPPED
        if self.exit_code is None:
            return 1
        return self.exit_code if self.exit_code >= 0 else 128 - self.exit_code

    @property
    def may_restart(self) -> bool:
        """Whether another start can help: killed, out of memory, preempted or failed; not a wrong input or a stop."""
        if self.status == "LOST":
            return True
        setup = self.error_type == JobErrorType.RUNTIME_ENV_SETUP_FAILURE.value
        return self.status == "FAILED" and self.exit_code != EXIT_WRONG_INPUT and not setup

    def __str__(self) -> str:
        code = "" if self.exit_code in (None, 0) else f", exit code {self.exit_code}"
        return f"{self.submission_id}: {self.status}{code}" + (f" ({self.reason})" if self.reason else "")


def submit(client: JobSubmissionClient, spec: JobSpec, launch: Launch) -> str:
    """Submit a run once; returns the submission id.

    Raises:
        ClusterLost: the job server did not take it.
    """
    try:
        taken = {details.submission_id for details in client.list_jobs()}
        number = next(n for n in range(1, len(taken) + 2) if f"{spec.run}-{n}" not in taken)
        return client.submit_job(
            entrypoint=spec.entrypoint(launch),
            submission_id=f"{spec.run}-{number}",
            runtime_env=spec.runtime_env,
            metadata={RUN_KEY: spec.run, DIR_KEY: spec.run_dir},
        )
    except (requests.exceptions.RequestException, ConnectionError, RuntimeError) as error:
        # The client raises RuntimeError for every status other than 200; its text may be a traceback of the server.
        reason = (str(error).strip().splitlines() or [type(error).__name__])[-1]
        raise ClusterLost(f"the cluster did not take {spec.run}: {reason}") from error


def look(
    client: JobSubmissionClient, submission_id: str, contact_timeout_s: float, say: Callable[[str], None]
) -> JobState:
    """The state of a submission; waits through a cluster that does not answer.

    Raises:
        ClusterLost: it did not answer for so long.
    """
    since = time.monotonic()
    told = False
    while True:
        try:
            return read_state(client.get_job_info(submission_id))
        except (requests.exceptions.RequestException, ConnectionError) as error:
            if time.monotonic() - since > contact_timeout_s:
                raise ClusterLost(f"the cluster did not answer for {contact_timeout_s:g} s") from error
            if not told:
                say(f"the cluster does not answer; asking again for {contact_timeout_s:g} s")
                told = True
            time.sleep(RETRY_S)
        except RuntimeError as error:
            if "404" in str(error):
                return JobState(submission_id, "LOST", None, None, "the cluster does not know this job any more")
            raise


def read_state(details: JobDetails) -> JobState:
    """A job's details as Ray gives them, in short."""
    error_type = None if details.error_type is None else str(getattr(details.error_type, "value", details.error_type))
    # For a command that failed, Ray repeats the exit code and the end of the output.
    failed = details.status == JobStatus.FAILED and error_type != JobErrorType.JOB_ENTRYPOINT_COMMAND_ERROR.value
    lines = (details.message or "").strip().splitlines()
    return JobState(
        submission_id=str(details.submission_id),
        status=details.status.value,
        exit_code=details.driver_exit_code,
        error_type=error_type,
        reason=lines[0] if failed and lines else "",
    )


def submissions(client: JobSubmissionClient) -> list[JobDetails]:
    """Jobs that this project submitted, the newest first."""
    ours = [details for details in client.list_jobs() if (details.metadata or {}).get(RUN_KEY)]
    return sorted(ours, key=lambda details: details.start_time or 0, reverse=True)


def find(jobs: Sequence[JobDetails], name: str) -> JobDetails | None:
    """The submission of that id, or the newest one of the run of that name."""
    exact = next((job for job in jobs if job.submission_id == name), None)
    return exact or next((job for job in jobs if (job.metadata or {}).get(RUN_KEY) == name), None)
