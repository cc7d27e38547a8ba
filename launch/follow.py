"""Follow a job: print its output as it comes, wait for its end, and start the run again where that can help."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable

import aiohttp
from ray.job_submission import JobSubmissionClient

from launch.job import JobSpec, JobState, look, submit
from launch.settings import Launch

POLL_S = 1.0
Say = Callable[[str], None]
Write = Callable[[str], None]


def run_to_end(client: JobSubmissionClient, spec: JobSpec, launch: Launch, say: Say, write: Write) -> JobState:
    """Submit a run, follow it, and submit it again after a failure that another start can mend.

    Args:
        say: gets lines of the launcher.
        write: gets the output of the job.

    Returns:
        The state that the last submission ended in.
    """
    for restarts_left in range(launch.max_restarts, -1, -1):
        submission_id = submit(client, spec, launch)
        say(f"submitted as {submission_id}")
        state = follow(client, submission_id, launch, say, write)
        say(str(state))
        if not state.may_restart or not restarts_left:
            break
        say(f"starting the run again from its last checkpoint in {launch.restart_pause_s:g} s ({restarts_left} left)")
        time.sleep(launch.restart_pause_s)
    return state


def follow(client: JobSubmissionClient, submission_id: str, launch: Launch, say: Say, write: Write) -> JobState:
    """Pass on the output of a job until it ends; returns the state that it ended in.

    A job that does not start within `launch.start_timeout_s` is stopped.
    """
    state = _wait_for_start(client, submission_id, launch, say)
    printed = 0
    while True:
        printed = asyncio.run(_tail(client, submission_id, printed, write))
        state = look(client, submission_id, launch.contact_timeout_s, say)
        if state.ended:
            return state
        time.sleep(POLL_S)


def _wait_for_start(client: JobSubmissionClient, submission_id: str, launch: Launch, say: Say) -> JobState:
    deadline = time.monotonic() + launch.start_timeout_s
    while True:
        state = look(client, submission_id, launch.contact_timeout_s, say)
        if state.status != "PENDING":
            return state
        if time.monotonic() > deadline:
            say(
                f"{submission_id} did not start within launch.start_timeout_s={launch.start_timeout_s:g} s and is "
                "stopped; see what the cluster waits for: ray status on its head node"
            )
            client.stop_job(submission_id)
            deadline = float("inf")
        time.sleep(POLL_S)


async def _tail(client: JobSubmissionClient, submission_id: str, printed: int, write: Write) -> int:
    """Pass on output after the first `printed` characters until the stream ends; returns how many there are now.

    A stream that breaks is no failure: the caller looks at the job and comes back.
    """
    seen = 0
    try:
        async for text in client.tail_job_logs(submission_id):
            seen += len(text)
            if seen > printed:
                write(text[-(seen - printed) :])
                printed = seen
    except (aiohttp.ClientError, RuntimeError, ConnectionError):
        return printed
    return printed
