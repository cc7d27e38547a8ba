"""The driver: run folder, Ray, the job, its progress on the terminal, and an orderly end.

Ctrl-C and SIGTERM let the current step finish, write a checkpoint, stop the judges and Ray; a second one ends at once
(the last checkpoint stays). The same command continues from the last checkpoint.
"""

from __future__ import annotations

import logging
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from foundation.runs.run_folder import RunFolder, open_run_folder
from foundation.settings.terminal import refuse
from trainer.frame.ray_environment import ray_environment
from trainer.frame.task_runner import TaskRunner, actor_class

console = Console(highlight=False, soft_wrap=True)
POLL_S = 0.5


def run_training(config: DictConfig, runner: Callable[[], type[TaskRunner]]) -> int:
    """Run or resume the job of a checked configuration.

    Args:
        runner: gives the class of a way of training, such as `GrpoTaskRunner`; asked once the messages of verl and Ray
            are muted, and may import them.

    Returns:
        Exit code: 0 finished, 1 failed, 2 the run folder is another run's, 130 stopped by the user (resumable).
    """
    plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
    try:
        folder, state = open_run_folder(Path(config.run.dir).absolute(), plain)
    except ValueError as error:
        return refuse([str(error)])
    config.run.dir = str(folder.path)
    OmegaConf.save(config, folder.path / "config.yaml", resolve=True)
    total = config.trainer.total_training_steps
    if state.get("finished") and total is not None and (folder.last_checkpoint() or 0) >= total:
        console.print(
            f"{folder.path} holds a finished run of {total} steps. Set run.name=<new name> for another one, or raise "
            "trainer.total_training_steps to train on."
        )
        return _summarise(folder)
    resumed = folder.last_checkpoint()
    console.print(f"run folder {folder.path}" + (f", resuming after step {resumed}" if resumed else ""))
    outcome = _run_job(config, folder, runner)
    if outcome == 0:
        return _summarise(folder)
    if outcome == 130:
        step = folder.last_checkpoint()
        kept = f"checkpoint of step {step} kept; start the same command to go on" if step else "nothing to resume from"
        console.print(f"stopped: {kept}")
    return outcome


def _run_job(config: DictConfig, folder: RunFolder, runner: Callable[[], type[TaskRunner]]) -> int:
    # The terminal is for the run's own lines; verl tells each process which of its engines are not installed.
    logging.disable(logging.INFO)
    warnings.filterwarnings("ignore", message=".*engine is not available", category=UserWarning)
    import ray

    runner_class = actor_class(runner(), config.run.dir)
    console.print("starting Ray")
    _init_ray(config, folder)
    stop = _StopOnSignal()
    printer = _ProgressPrinter(config.run.dir)
    failure: list[BaseException] = []

    def job() -> None:
        try:
            _run_on_ray(config, runner_class)
        except BaseException as error:  # noqa: BLE001 - handed to the main thread, which reports it
            failure.append(error)

    thread = threading.Thread(target=job, name="ray job", daemon=True)
    with stop:
        thread.start()
        try:
            while thread.is_alive():
                thread.join(POLL_S)
                printer.poll()
                if stop.count == 1 and not stop.passed_on:
                    console.print(
                        "stopping: the current step ends first, then a checkpoint is written (again: at once)"
                    )
                    stop.passed_on = True
                    if not printer.request_stop():
                        break
                elif stop.count > 1:
                    break
            printer.poll()
        finally:
            ray.shutdown()
    if stop.count:
        return 130
    if failure:
        _report(failure[0], folder)
        return 1
    return 0


def _init_ray(config: DictConfig, folder: RunFolder) -> None:
    """Start or join Ray as verl's `run_ppo` would (0.9.1, trainer/main_ppo.py:58), but from the main thread.

    Leaves a link to the logs of this node's workers in the run folder.
    """
    import ray

    settings = cast(dict[str, Any], OmegaConf.to_container(config.ray_kwargs.ray_init, resolve=True))
    settings["runtime_env"] = ray_environment(config)
    ray.init(**settings, logging_level=logging.ERROR)
    logs = Path(ray._private.worker._global_node.get_session_dir_path()) / "logs"
    folder.worker_logs.unlink(missing_ok=True)
    folder.worker_logs.symlink_to(logs)


def _run_on_ray(config: DictConfig, runner_class: Any) -> None:
    """Start the task runner and wait for its end.

    What verl's `run_ppo` (0.9.1, trainer/main_ppo.py:35) does, without importing verl, which would take ten seconds of
    a laptop's core before anything of the job has started. Profiling by Nsight is left to `run_ppo`.
    """
    import ray

    if config.global_profiler.tool == "nsys":
        from verl.trainer.main_ppo import run_ppo

        run_ppo(config, runner_class)
        return
    ray.get(runner_class.remote().run.remote(config))
    timeline = config.ray_kwargs.get("timeline_json_file")
    if timeline:
        ray.timeline(filename=timeline)


class _StopOnSignal:
    """Counts SIGINT and SIGTERM while active; Ray's own handlers would end the process in the middle of a step."""

    def __init__(self) -> None:
        self.count = 0
        self.passed_on = False

    def __enter__(self) -> _StopOnSignal:
        self._previous = {number: signal.signal(number, self._note) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def _note(self, number: int, frame: Any) -> None:
        self.count += 1

    def __exit__(self, *exception: Any) -> None:
        for number, handler in self._previous.items():
            signal.signal(number, handler)


class _ProgressPrinter:
    """Fetches the task runner's progress lines and prints them."""

    def __init__(self, run_dir: str) -> None:
        self._run_dir = run_dir
        self._printed = 0
        self._runner: Any = None

    def poll(self) -> None:
        import ray

        runner = self._find_runner()
        if runner is None:
            return
        try:
            lines = ray.get(runner.progress.remote(self._printed), timeout=5)
        except (ray.exceptions.RayError, TimeoutError):
            return  # the runner is busy or gone; the job thread reports the latter
        for line in lines:
            console.print(line)
        self._printed += len(lines)

    def request_stop(self) -> bool:
        """Whether the task runner will stop by itself with a checkpoint."""
        import ray

        runner = self._find_runner()
        if runner is None:
            return False
        try:
            return bool(ray.get(runner.request_stop.remote(), timeout=10))
        except (ray.exceptions.RayError, TimeoutError):
            return False

    def _find_runner(self) -> Any:
        import ray

        from reward_workers.judges.serving.directory import host_name

        if self._runner is None and ray.is_initialized():
            try:
                self._runner = ray.get_actor(host_name(self._run_dir))
            except ValueError:
                return None  # not started yet
        return self._runner


def _report(error: BaseException, folder: RunFolder) -> None:
    deadline = time.monotonic() + 2
    while not folder.error.exists() and time.monotonic() < deadline:
        time.sleep(0.1)
    reason = folder.error.read_text().strip() if folder.error.exists() else str(error)
    shown = "\n".join(reason.splitlines()[-12:])
    Console(stderr=True, highlight=False, soft_wrap=True).print(
        f"training failed:\n{shown}\n\nfull report: {folder.error}\nworker logs: {folder.worker_logs}\n"
        f"judge logs:  {folder.judges}",
        markup=False,
    )


def _summarise(folder: RunFolder) -> int:
    from foundation.runs.summary import summarise

    summarise(folder, console)
    return 0


if __name__ == "__main__":
    sys.exit("start a run with: python -m trainer.main experiment=quickstart")
