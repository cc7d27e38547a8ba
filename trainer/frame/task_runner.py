"""What the Ray actor of every training job does around the training: progress, stop, watchdog, trackers, error report.

    class MyRunner(TaskRunner):
        def _train(self, job: Job) -> bool: ...

Imports neither torch nor verl: the driver needs the class only to start its actor.
"""

from __future__ import annotations

import traceback
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf

from foundation.runs.run_folder import RunFolder, write_json
from reward_workers.judges.serving.directory import host_name
from trainer.frame.progress import Progress
from trainer.frame.tracking import Trackers, build_trackers
from trainer.frame.watchdog import Watchdog


@dataclass(frozen=True, slots=True)
class Job:
    """One start of a run, as its task runner hands it to the training.

    Attributes:
        config: resolved; plain: the same as plain data.
        attempt: index of this start, 0 for the first.
    """

    config: DictConfig
    plain: dict[str, Any]
    folder: RunFolder
    attempt: int
    trackers: Trackers
    progress: Progress
    watchdog: Watchdog


class TaskRunner(ABC):
    """A named Ray actor that runs one job; a way of training says how in `_train`.

    It runs with more threads than one, so that `progress` and `request_stop` answer while `run` works.
    """

    def __init__(self) -> None:
        self._progress = Progress()
        self._stop_requested = False

    def progress(self, first: int) -> list[str]:
        """Lines for the terminal from index `first` on."""
        return self._progress.since(first)

    def request_stop(self) -> bool:
        """Stop at the end of the current step with a checkpoint.

        Returns:
            False when training has not begun, so that there is nothing to save and the job may be ended at once.
        """
        self._stop_requested = True
        return self._stop_training()

    def run(self, config: DictConfig) -> None:
        """Train to the end, or until asked to stop; an error leaves its report in the run folder and is raised."""
        OmegaConf.resolve(config)
        folder = RunFolder(Path(config.run.dir))
        try:
            self._run(config, folder)
        except BaseException:
            folder.error.write_text(traceback.format_exc())
            raise

    def _run(self, config: DictConfig, folder: RunFolder) -> None:
        state = folder.read_state()
        if state is None:
            raise RuntimeError(f"{folder.state} is missing: the run folder must be on storage that every node shares")
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
        watchdog = Watchdog(config.run.stall_timeout_s, folder.error)
        watchdog.start()
        trackers: Trackers | None = None
        succeeded = finished = False
        try:
            self._begin(plain, folder)
            trackers = build_trackers(plain, folder, state)
            attempt = len(state["starts"]) - 1
            finished = self._train(Job(config, plain, folder, attempt, trackers, self._progress, watchdog))
            succeeded = True
        finally:
            watchdog.beat("shutdown")
            if trackers is not None:
                trackers.finish(exit_code=0 if succeeded else 1)
            self._shut_down()
            watchdog.stop()
        if finished:
            state["finished"] = True
            write_json(folder.state, state)

    @abstractmethod
    def _begin(self, plain: dict[str, Any], folder: RunFolder) -> None:
        """Raise where this job cannot run beside what the cluster runs already; then begin what takes long.

        The trackers start after it: W&B takes seconds.
        """

    @abstractmethod
    def _train(self, job: Job) -> bool:
        """Start what the training needs, and train.

        Returns:
            Whether the run is complete; False for one that was asked to stop before its last step.
        """

    @abstractmethod
    def _stop_training(self) -> bool:
        """Pass a stop on to the training; False where there is none yet."""

    @abstractmethod
    def _shut_down(self) -> None:
        """End whatever `_begin` and `_train` started, also after an error."""


def actor_class(runner: type[TaskRunner], run_dir: str) -> Any:
    """The Ray actor class of a runner; named by its run folder, so that driver and reward workers find it."""
    import ray

    return ray.remote(runner).options(name=host_name(run_dir), max_concurrency=4, num_cpus=1)
