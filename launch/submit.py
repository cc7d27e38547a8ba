"""Submit a run to a Ray cluster, follow it, and end with its exit code; with --multirun, a sweep of runs.

    python -m launch.submit experiment=pattern_rl_qwen3_vl_4b cluster=two_nodes_16gpu launch=my_cluster
    python -m launch.submit --multirun experiment=quickstart cluster=ray_cpu sweep.name=a reward_mix.cap=0.05,0.1

Everything that can be checked here is checked before anything is sent. Exit codes: that of the job; 2 a setting is
wrong and nothing was submitted; 130 stopped. Not here: the training, and clusters (`launch.render` writes manifests).
"""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Sequence

from rich.console import Console

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import FILE_WIDTH, refuse
from launch.cluster import connect
from launch.follow import run_to_end
from launch.job import EXIT_STOPPED, ClusterLost, submit
from launch.prepare import check_capacity, prepare_run, without_dry_run
from launch.settings import LaunchSettings, read_launch_settings, split_overrides


def parse(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python -m launch.submit",
        description="Submit a run to a Ray cluster, follow it, and end with its exit code.",
        epilog="Settings of the submission: configs/launch.yaml (launch.*, sweep.*); of a run: trainer.main --help",
    )
    parser.add_argument("overrides", nargs="*", help="group=option, key=value, launch.key=value, sweep.key=value")
    parser.add_argument("--no-wait", action="store_true", help="submit and return; nobody restarts the job then")
    parser.add_argument("-m", "--multirun", action="store_true", help="one job for each point of a sweep")
    parser.add_argument("--retry-failed", action="store_true", help="sweep: submit the failed points once more")
    parsed = parser.parse_args(list(arguments))
    if parsed.retry_failed and not parsed.multirun:
        parser.error("--retry-failed is for --multirun")
    if parsed.no_wait and parsed.multirun:
        parser.error("--no-wait is for one run: a sweep needs somebody who submits its next points")
    return parsed


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command line; returns the exit code."""
    parsed = parse(sys.argv[1:] if arguments is None else arguments)
    logging.disable(logging.WARNING)  # Ray's client tells of every ignore file that it reads
    console = Console(highlight=False, soft_wrap=True, width=None if sys.stdout.isatty() else FILE_WIDTH)
    ours, run = split_overrides(parsed.overrides)
    try:
        settings = read_launch_settings(ours)
        if parsed.multirun:
            from launch.sweeps.sweep import run_sweep

            return run_sweep(run, settings, console, retry_failed=parsed.retry_failed)
        return submit_run(run, settings, console, wait=not parsed.no_wait)
    except ConfigError as error:
        return refuse(error.problems, "nothing was submitted")
    except ClusterLost as error:
        console.print(f"error: {error}; the same command goes on from the last checkpoint", markup=False)
        return 1


def submit_run(overrides: Sequence[str], settings: LaunchSettings, console: Console, wait: bool) -> int:
    """Check, submit and follow one run."""
    overrides, only_plan = without_dry_run(overrides)
    prepared = prepare_run(overrides, settings.launch)
    prepared.print(console)
    if only_plan:
        return 0
    client = connect(settings.launch)
    check_capacity([prepared], settings.launch)

    def say(line: str) -> None:
        console.print(f"launch: {line}", markup=False)

    if not wait:
        name = submit(client, prepared.spec, settings.launch)
        say(f"submitted as {name}; {_commands(name)}")
        return 0
    try:
        return run_to_end(
            client, prepared.spec, settings.launch, say, lambda text: print(text, end="", flush=True)
        ).code
    except KeyboardInterrupt:
        say(f"not following any more. The job goes on, and nobody restarts it; {_commands(prepared.spec.run)}")
        return EXIT_STOPPED


def _commands(name: str) -> str:
    return f"python -m launch.logs {name}, launch.status, launch.stop {name}"


if __name__ == "__main__":
    sys.exit(main())
