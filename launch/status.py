"""The jobs that this project submitted to a cluster.

python -m launch.status [launch=my_cluster] [RUN or SUBMISSION ID]
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from datetime import datetime

from ray.job_submission import JobDetails
from rich.console import Console
from rich.table import Table

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import FILE_WIDTH, refuse
from launch.cluster import connect
from launch.job import DIR_KEY, RUN_KEY, find, read_state, submissions
from launch.settings import read_launch_settings, split_overrides


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the jobs, or one in detail. Exit codes: 0, 2 when there is no such job or no cluster."""
    overrides, names = split_arguments(sys.argv[1:] if arguments is None else arguments)
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH)
    try:
        jobs = submissions(connect(read_launch_settings(overrides).launch))
        for job in [the_job(jobs, name) for name in names]:
            _print_job(job, console)
    except ConfigError as error:
        return refuse(error.problems)
    if not names:
        console.print(_table(jobs) if jobs else "no jobs of this project on the cluster")
    return 0


def split_arguments(arguments: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of `launch.*`, and names of jobs.

    Raises:
        ConfigError: an override of another section.
    """
    overrides, others = split_overrides([text for text in arguments if "=" in text])
    if others:
        raise SystemExit(f"{others[0]}: only launch=... and launch.key=value have a meaning here")
    return overrides, [text for text in arguments if "=" not in text]


def the_job(jobs: Sequence[JobDetails], name: str) -> JobDetails:
    """The job of that run or submission id.

    Raises:
        ConfigError: there is none.
    """
    job = find(jobs, name)
    if job is None:
        known = ", ".join(str(other.submission_id) for other in jobs[:10]) or "none"
        raise ConfigError([f"{name}: no such run or submission on this cluster; the newest: {known}"])
    return job


def _table(jobs: Sequence[JobDetails]) -> Table:
    table = Table()
    for column in ("submission", "run", "status", "exit code", "started", "ended"):
        table.add_column(column, overflow="fold")
    for job in jobs:
        state = read_state(job)
        table.add_row(
            state.submission_id,
            (job.metadata or {})[RUN_KEY],
            state.status,
            "" if state.exit_code is None else str(state.exit_code),
            _time(job.start_time),
            _time(job.end_time),
        )
    return table


def _print_job(job: JobDetails, console: Console) -> None:
    metadata = job.metadata or {}
    console.print(
        f"{read_state(job)}\nrun        {metadata[RUN_KEY]}\nrun folder {metadata.get(DIR_KEY, 'unknown')}\n"
        f"command    {job.entrypoint}\nstarted    {_time(job.start_time)}\nended      {_time(job.end_time)}",
        markup=False,
    )


def _time(milliseconds: int | None) -> str:
    if not milliseconds:
        return ""
    return datetime.fromtimestamp(milliseconds / 1000).isoformat(" ", "seconds")


if __name__ == "__main__":
    sys.exit(main())
