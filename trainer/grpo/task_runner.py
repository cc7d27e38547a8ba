"""The task runner of GRPO: judges, verl's trainer, agent loops, and the end of all of them.

Imports neither torch nor verl: the actor starts the judges before it imports what trains the policy.
"""

from __future__ import annotations

from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

from omegaconf import DictConfig, open_dict

from foundation.runs.run_folder import RunFolder
from reward_workers.judges.serving.directory import Addresses, JudgeDirectory, WorkerReport
from reward_workers.judges.serving.fleet import JudgeFleet
from trainer.frame.judge_notices import JudgeNotices
from trainer.frame.queue_owner import require_free_queue
from trainer.frame.service_metrics import ServiceMetrics
from trainer.frame.task_runner import Job, TaskRunner


class JudgeLost(RuntimeError):
    """All replicas of a judge that this job serves are given up; a checkpoint was written first."""


class GrpoTaskRunner(TaskRunner):
    """What verl's own task runner does (0.9.1, trainer/main_ppo.py:93), with judges, our trainer and a stop."""

    def __init__(self) -> None:
        super().__init__()
        self._fitting = False
        self._trainer: Any = None
        self._fleet: JudgeFleet | None = None
        self._beside = ThreadPoolExecutor(2, "start of the job")
        self._queue: Future[Any] | None = None
        self._directory = JudgeDirectory()
        self._service = ServiceMetrics()

    def judge_report(self, report: WorkerReport) -> tuple[int, Addresses] | None:
        """What a reward worker asks every two seconds; the reward workers are started by `run`."""
        self._notices.heard(report)
        self._service.heard(report)
        return self._directory.newer_than(report.version)

    def _stop_training(self) -> bool:
        if self._trainer is None or not self._fitting:
            return False
        self._trainer.request_stop()
        return True

    def _begin(self, plain: dict[str, Any], folder: RunFolder) -> None:
        require_free_queue()
        mix, say = plain["reward_mix"], self._progress.say
        self._notices = JudgeNotices(say, max_wait_s=mix["max_wait_s"], on_unscored=mix["on_unscored"])
        self._fleet = JudgeFleet(plain["judges"], folder.judges, say=say, publish=self._directory.publish)
        self._judges = self._beside.submit(self._fleet.launch)

    def _train(self, job: Job) -> bool:
        config, say, fleet = job.config, job.progress.say, self._fleet
        assert fleet is not None, "_begin comes first"
        with open_dict(config):
            config.transfer_queue.enable = True
        job.watchdog.beat("start of the judges")
        trainer_class = self._import_trainer(config)
        for name, base_urls in self._judges.result().items():
            config.judges[name].base_urls = base_urls
        say("loading the policy and its rollout servers")
        job.watchdog.beat("start of the policy")
        self._trainer = trainer = trainer_class(config=config)
        trainer.attach(
            folder=job.folder,
            trackers=job.trackers,
            progress=job.progress,
            watchdog=job.watchdog,
            judge_lost=fleet.lost,
            service_metrics=lambda: self._service.metrics(fleet.health()),
            attempt=job.attempt,
        )
        trainer.init()
        from trainer.grpo.agent_loops import start_agent_loops

        agent_loops = start_agent_loops(config, trainer)
        say("policy ready; waiting for the judges")
        fleet.wait_ready()
        fleet.watch()
        self._fitting = True
        if self._stop_requested:
            return False
        trainer.fit(agent_loops)
        if trainer.ended_by:
            raise JudgeLost(trainer.ended_by)
        return trainer.global_steps > trainer.total_training_steps and not self._stop_requested

    def _import_trainer(self, config: DictConfig) -> Any:
        """The trainer's class; TransferQueue, whose two actors also import torch, starts beside the import of verl."""
        import transfer_queue as tq

        self._queue = self._beside.submit(tq.init, config.transfer_queue)
        from verl.utils.logging_utils import configure_verl_logging

        from trainer.grpo.pattern_trainer import make_trainer_cls

        configure_verl_logging()
        self._queue.result()
        return make_trainer_cls(config.trainer.v1.trainer_mode)

    def _shut_down(self) -> None:
        self._fitting = False
        self._beside.shutdown()
        if self._fleet is not None:
            self._fleet.stop()
        if self._queue is not None:
            import transfer_queue as tq

            tq.close()
