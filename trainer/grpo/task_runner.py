"""The Ray actor that owns a job: judges, verl's trainer, agent loops, and the end of all of them.

This module imports neither torch nor verl: the driver needs the class only to start its actor, and the actor starts
the judges before it imports what trains the policy.
"""

from __future__ import annotations

import traceback
from concurrent.futures import Executor, ThreadPoolExecutor
from pathlib import Path
from typing import Any, cast

import ray
from omegaconf import DictConfig, OmegaConf, open_dict

from foundation.runs.run_folder import RunFolder, write_json
from reward_workers.judges.serving.directory import Addresses, JudgeDirectory, WorkerReport, host_name
from reward_workers.judges.serving.fleet import JudgeFleet
from trainer.frame.judge_notices import JudgeNotices
from trainer.frame.progress import Progress
from trainer.frame.queue_owner import require_free_queue
from trainer.frame.service_metrics import ServiceMetrics
from trainer.frame.tracking import Trackers, build_trackers
from trainer.frame.watchdog import Watchdog


class JudgeLost(RuntimeError):
    """All replicas of a judge that this job serves are given up; a checkpoint was written first."""


class TaskRunner:
    """What verl's task runner does (0.9.1, trainer/main_ppo.py:93), with judges, our trainer, progress and a stop.

    It runs with more threads than one, so that `progress`, `judge_report` and `request_stop` answer while `run` works.
    Its name is `host_name(run.dir)`: the driver and the reward workers find it by that.
    """

    def __init__(self) -> None:
        self._progress = Progress()
        self._stop_requested = False
        self._fitting = False
        self._trainer: Any = None
        self._directory = JudgeDirectory()
        self._service = ServiceMetrics()

    def judge_report(self, report: WorkerReport) -> tuple[int, Addresses] | None:
        """What a reward worker asks every two seconds; the reward workers are started by `run`."""
        self._notices.heard(report)
        self._service.heard(report)
        return self._directory.newer_than(report.version)

    def progress(self, first: int) -> list[str]:
        return self._progress.since(first)

    def request_stop(self) -> bool:
        """Stop at the end of the current step with a checkpoint.

        Returns:
            False when training has not begun, so that there is nothing to save and the job may be ended at once.
        """
        self._stop_requested = True
        if self._trainer is None or not self._fitting:
            return False
        self._trainer.request_stop()
        return True

    def run(self, config: DictConfig) -> None:
        OmegaConf.resolve(config)
        folder = RunFolder(Path(config.run.dir))
        try:
            self._run(config, folder)
        except BaseException:
            folder.error.write_text(traceback.format_exc())
            raise

    def _run(self, config: DictConfig, folder: RunFolder) -> None:
        with open_dict(config):
            config.transfer_queue.enable = True
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
        state = folder.read_state()
        if state is None:
            raise RuntimeError(f"{folder.state} is missing: the run folder must be on storage that every node shares")
        require_free_queue()
        mix = plain["reward_mix"]
        self._notices = JudgeNotices(self._progress.say, max_wait_s=mix["max_wait_s"], on_unscored=mix["on_unscored"])
        watchdog = Watchdog(config.run.stall_timeout_s, folder.error)
        watchdog.start()
        fleet = JudgeFleet(plain["judges"], folder.judges, say=self._progress.say, publish=self._directory.publish)
        trackers: Trackers | None = None
        succeeded = False
        try:
            watchdog.beat("start of the judges")
            with ThreadPoolExecutor(2, "start of the job") as beside:
                judges = beside.submit(fleet.launch)
                trackers = build_trackers(plain, folder, state)
                trainer_class = _import_trainer(config, beside)
                for name, base_urls in judges.result().items():
                    config.judges[name].base_urls = base_urls
            self._progress.say("loading the policy and its rollout servers")
            watchdog.beat("start of the policy")
            self._trainer = trainer = trainer_class(config=config)
            trainer.attach(
                folder=folder,
                trackers=trackers,
                progress=self._progress,
                watchdog=watchdog,
                judge_lost=fleet.lost,
                service_metrics=lambda: self._service.metrics(fleet.health()),
                attempt=len(state["starts"]) - 1,
            )
            trainer.init()
            from trainer.grpo.agent_loops import start_agent_loops

            agent_loops = start_agent_loops(config, trainer)
            self._progress.say("policy ready; waiting for the judges")
            fleet.wait_ready()
            fleet.watch()
            self._fitting = True
            if self._stop_requested:
                return
            trainer.fit(agent_loops)
            if trainer.ended_by:
                raise JudgeLost(trainer.ended_by)
            succeeded = True
        finally:
            self._fitting = False
            watchdog.beat("shutdown")
            if trackers is not None:
                trackers.finish(exit_code=0 if succeeded else 1)
            fleet.stop()
            _close_queue()
            watchdog.stop()
        if trainer.global_steps > trainer.total_training_steps and not self._stop_requested:
            state["finished"] = True
            write_json(folder.state, state)


def _import_trainer(config: DictConfig, beside: Executor) -> Any:
    """The trainer's class; TransferQueue, whose two actors also import torch, starts beside the import of verl."""
    import transfer_queue as tq

    queue = beside.submit(tq.init, config.transfer_queue)
    from verl.utils.logging_utils import configure_verl_logging

    from trainer.grpo.pattern_trainer import make_trainer_cls

    configure_verl_logging()
    queue.result()
    return make_trainer_cls(config.trainer.v1.trainer_mode)


def _close_queue() -> None:
    """Nothing where it was not started."""
    import transfer_queue as tq

    tq.close()


def task_runner_class(run_dir: str) -> Any:
    """The actor class for `verl.trainer.main_ppo.run_ppo`; named, so that driver and reward workers find it."""
    return ray.remote(TaskRunner).options(name=host_name(run_dir), max_concurrency=4, num_cpus=1)
