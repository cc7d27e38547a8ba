"""A sweep: Hydra asks for points, each becomes a Ray job with a folder and a name of its own.

Hydra's sweeper (basic, or one that searches) calls the launcher `ray_jobs`, and that calls `PointRunner.run_points`
with a batch of points. All points of a batch are checked before the first of them is submitted.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import hydra
from filelock import FileLock, Timeout
from hydra.core.utils import JobReturn, JobStatus
from hydra.errors import HydraException
from omegaconf import DictConfig
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console

from foundation.settings.compose import CONFIG_DIR, CONFIG_NAME, ConfigError, explain, hydra_raises, register_resolvers
from launch.cluster import connect
from launch.job import EXIT_STOPPED
from launch.prepare import Compose, Prepared, check_capacity, override, prepare_run, without_dry_run
from launch.settings import LaunchSettings
from launch.sweeps.manifest import Manifest, Point
from launch.sweeps.objective import read_objective
from launch.sweeps.points import check_folders, fixed_keys, key_of, point_name, varied
from launch.sweeps.scheduler import Scheduler
from launch.sweeps.sweep_table import SweepView


def run_sweep(overrides: Sequence[str], settings: LaunchSettings, console: Console, retry_failed: bool) -> int:
    """Run the sweep of a command line; returns 0 when all points are finished, else 1 (130 after Ctrl-C).

    Raises:
        ConfigError: a point is wrong; no point of its batch was submitted.
    """
    register_resolvers()
    overrides, only_plan = without_dry_run(overrides)
    folder = Path(settings.sweep.dir).absolute()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise ConfigError(
            [f"sweep.dir={folder}: cannot be made here ({error}): set it to a folder of this machine"]
        ) from error
    runner = PointRunner(settings, folder, overrides, console, retry_failed, only_plan)
    app = hydra.main(version_base="1.3", config_path=str(CONFIG_DIR), config_name=CONFIG_NAME)(cast(Any, runner))
    command = ["--multirun", *overrides, "hydra/launcher=ray_jobs", override("hydra.sweep.dir", str(folder))]
    try:
        with hydra_raises(), _command_line(command), FileLock(folder / ".lock", timeout=0):
            app()
    except Timeout as error:
        raise ConfigError([f"sweep.dir={folder}: another process runs this sweep: wait for it or end it"]) from error
    except NoObjective as error:
        console.print(f"error: {error}; the search ends here", markup=False)
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError([explain(error)]) from error
    except KeyboardInterrupt:
        running = [point.submissions[-1] for point in runner.manifest.points.values() if point.state == "running"]
        console.print(
            f"launch: not watching any more. On the cluster go on: {', '.join(running) or 'none'}; the others are not "
            "submitted. The same command goes on; python -m launch.stop NAME stops one",
            markup=False,
        )
        return EXIT_STOPPED
    return runner.finish()


class NoObjective(RuntimeError):
    """A point of a search has no result, so the search cannot go on."""


class PointRunner:
    """Stands where Hydra expects the task function; it is asked for whole batches instead of single calls."""

    def __init__(
        self,
        settings: LaunchSettings,
        folder: Path,
        command_line: Sequence[str],
        console: Console,
        retry_failed: bool,
        only_plan: bool,
    ) -> None:
        self._settings = settings
        self._console = console
        self._retry_failed = retry_failed
        self._only_plan = only_plan
        self._fixed = fixed_keys(command_line)
        self._asked: dict[str, Point] = {}
        self.manifest = Manifest.open(folder, settings.sweep.name)

    def __call__(self, config: DictConfig) -> None:
        raise RuntimeError("points of a sweep run as jobs: hydra/launcher=ray_jobs")

    def run_points(self, batch: Sequence[Sequence[str]], compose: Compose) -> list[JobReturn]:
        """Check, submit and watch a batch of points.

        Args:
            batch: the overrides of each point.
            compose: composes the tree of some overrides.

        Returns:
            For each point what Hydra's sweepers read: the objective, or why there is none.
        """
        prepared = [self._prepare(point, compose) for point in batch]
        check_folders(
            [(str(varied(point, self._fixed)), p.spec.run_dir) for point, p in zip(batch, prepared, strict=True)]
        )
        points = self.manifest.take_up(
            [self._point(overrides, p) for overrides, p in zip(batch, prepared, strict=True)]
        )
        self._asked |= {point.name: point for point in points}
        if self._only_plan:
            self._print_plans(prepared)
            return [JobReturn(overrides=list(o), status=JobStatus.COMPLETED) for o in batch]
        client = connect(self._settings.launch)
        check_capacity(prepared, self._settings.launch)
        specs = {point.name: p.spec for point, p in zip(points, prepared, strict=True)}
        with SweepView(self.manifest, self._settings.sweep.max_concurrent, self._console) as view:
            scheduler = Scheduler(
                client, self._settings.launch, self._settings.sweep, self.manifest, view.say, view.refresh
            )
            scheduler.run(points, specs, self._retry_failed)
        return [self._return(point, overrides) for point, overrides in zip(points, batch, strict=True)]

    def finish(self) -> int:
        """Name what is not finished; returns the exit code."""
        if self._only_plan:
            return 0
        left = [point for point in self._asked.values() if point.state != "finished"]
        for point in left:
            self._console.print(
                f"{point.state}: {point.name} (exit code {point.exit_code}) {point.reason}\n"
                f"  python -m launch.logs {point.submissions[-1] if point.submissions else point.run}",
                markup=False,
            )
        done = len(self._asked) - len(left)
        self._console.print(
            f"{done} of {len(self._asked)} points finished; manifest {self.manifest.path}", markup=False
        )
        if any(point.state == "failed" for point in left):
            self._console.print("the same command with --retry-failed submits the failed ones again", markup=False)
        return 1 if left else 0

    def _prepare(self, overrides: Sequence[str], compose: Compose) -> Prepared:
        """The run of a point: its own name and folder, unless the command gives them, and the sweep's W&B group."""
        launch, sweep = self._settings.launch, self._settings.sweep
        slug = point_name(varied(overrides, self._fixed))
        run = list(overrides)
        keys = {key_of(text) for text in overrides}
        if "run.name" not in keys:
            run.append(override("run.name", f"{sweep.name}-{slug}"))
        if "run.dir" not in keys:
            folder = slug if "run.name" not in keys else "${run.name}"
            run.append(override("run.dir", f"{launch.runs_dir}/{sweep.name}/{folder}"))
        if "tracking.group" not in keys:
            run.append(override("tracking.group", sweep.name))
        try:
            return prepare_run(run, launch, compose)
        except ConfigError as error:
            raise ConfigError([f"point {slug}: {problem}" for problem in error.problems]) from error

    def _point(self, overrides: Sequence[str], prepared: Prepared) -> Point:
        values = varied(overrides, self._fixed)
        spec = prepared.spec
        return Point(point_name(values), values, list(spec.overrides), spec.run, spec.run_dir)

    def _print_plans(self, prepared: Sequence[Prepared]) -> None:
        prepared[0].print(self._console)
        for one in prepared:
            self._console.print(f"point       {one.spec.run}: {one.spec.run_dir}", markup=False)

    def _return(self, point: Point, overrides: Sequence[str]) -> JobReturn:
        wanted = self._settings.sweep.objective
        answer = JobReturn(overrides=list(overrides), status=JobStatus.COMPLETED)
        if not wanted:
            return answer
        if point.state != "finished":
            answer.status = JobStatus.FAILED
            answer.return_value = NoObjective(f"point {point.name} {point.state}: it has no objective")
        else:
            answer.return_value = read_objective(Path(point.run_dir), wanted)
        return answer


@contextmanager
def _command_line(arguments: Sequence[str]) -> Iterator[None]:
    """Hydra reads its command line from the process."""
    before = sys.argv
    sys.argv = [before[0], *arguments]
    try:
        yield
    finally:
        sys.argv = before
