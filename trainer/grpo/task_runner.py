"""The Ray actor that owns a job: judges, verl's trainer, agent loops, and the end of all of them."""

from __future__ import annotations

import traceback
from pathlib import Path
from typing import Any, cast

import ray
from omegaconf import DictConfig, OmegaConf, open_dict
from verl.trainer.main_ppo import TaskRunnerV1
from verl.utils.logging_utils import configure_verl_logging

from foundation.runs.run_folder import RunFolder, write_json
from reward_workers.judges.serving.directory import Addresses, JudgeDirectory, WorkerReport, host_name
from reward_workers.judges.serving.fleet import JudgeFleet
from trainer.frame.judge_notices import JudgeNotices
from trainer.frame.progress import Progress
from trainer.frame.queue_owner import require_free_queue
from trainer.frame.service_metrics import ServiceMetrics
from trainer.frame.tracking import build_trackers
from trainer.frame.watchdog import Watchdog
from trainer.grpo.pattern_trainer import make_trainer_cls

_VerlTaskRunner: Any = TaskRunnerV1.__ray_metadata__.modified_class


class JudgeLost(RuntimeError):
    """All replicas of a judge that this job serves are given up; a checkpoint was written first."""


class TaskRunner(_VerlTaskRunner):
    """verl's task runner (0.9.1, trainer/main_ppo.py:93) with judges, our trainer, progress and a stop.

    It runs with more threads than one, so that `progress`, `judge_report` and `request_stop` answer while `run` works.
    Its name is `host_name(run.dir)`: the driver and the reward workers find it by that.
    """

    def __init__(self) -> None:
        super().__init__()
        self._progress = Progress()
        self._stop_requested = False
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
        if self.trainer is None or not self._fitting:
            return False
        self.trainer.request_stop()
        return True

    _fitting = False

    def run(self, config: DictConfig) -> None:
        configure_verl_logging()
        OmegaConf.resolve(config)
        folder = RunFolder(Path(config.run.dir))
        try:
            self._run(config, folder)
        except BaseException:
            folder.error.write_text(traceback.format_exc())
            raise

    def _run(self, config: DictConfig, folder: RunFolder) -> None:
        import transfer_queue as tq

        with open_dict(config):
            config.transfer_queue.enable = True
        self.config = config
        plain = cast(dict[str, Any], OmegaConf.to_container(config, resolve=True))
        state = folder.read_state()
        if state is None:
            raise RuntimeError(f"{folder.state} is missing: the run folder must be on storage that every node shares")
        require_free_queue()
        mix = plain["reward_mix"]
        self._notices = JudgeNotices(self._progress.say, max_wait_s=mix["max_wait_s"], on_unscored=mix["on_unscored"])
        watchdog = Watchdog(config.run.stall_timeout_s, folder.error)
        watchdog.start()
        trackers = build_trackers(plain, folder, state)
        fleet = JudgeFleet(plain["judges"], folder.judges, say=self._progress.say, publish=self._directory.publish)
        succeeded = False
        tq.init(config.transfer_queue)
        try:
            watchdog.beat("start of the judges")
            for name, base_urls in fleet.launch().items():
                config.judges[name].base_urls = base_urls
            self._progress.say("loading the policy and its rollout servers")
            watchdog.beat("start of the policy")
            self.trainer = make_trainer_cls(config.trainer.v1.trainer_mode)(config=config)
            self.trainer.attach(
                folder=folder,
                trackers=trackers,
                progress=self._progress,
                watchdog=watchdog,
                judge_lost=fleet.lost,
                service_metrics=lambda: self._service.metrics(fleet.health()),
                attempt=len(state["starts"]) - 1,
            )
            self.trainer.init()
            self.init_agent_loop_manager()
            self._progress.say("policy ready; waiting for the judges")
            fleet.wait_ready()
            fleet.watch()
            self._fitting = True
            if self._stop_requested:
                return
            self.trainer.fit(self.agent_loop_manager)
            if self.trainer.ended_by:
                raise JudgeLost(self.trainer.ended_by)
            succeeded = True
        finally:
            self._fitting = False
            watchdog.beat("shutdown")
            trackers.finish(exit_code=0 if succeeded else 1)
            fleet.stop()
            tq.close()
            watchdog.stop()
        if self.trainer.global_steps > self.trainer.total_training_steps and not self._stop_requested:
            state["finished"] = True
            write_json(folder.state, state)


def task_runner_class(run_dir: str) -> Any:
    """The actor class for `verl.trainer.main_ppo.run_ppo`; named, so that driver and reward workers find it."""
    return ray.remote(TaskRunner).options(name=host_name(run_dir), max_concurrency=4, num_cpus=1)
