"""verl's reward workers, but started again when they die.

verl 0.9.1 starts them without `max_restarts` (experimental/reward_loop/reward_loop.py:308): after the death of one, all
rollouts that go to it fail and the run ends. Here Ray starts the actor again, on another node where its own is gone,
and repeats the calls that were in flight. verl offers no place for this class, so `restarting_reward_workers` puts it
where `PPOTrainer._setup` looks it up (trainer/ppo/v1/trainer_base.py:347).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import ray
import verl
from verl.experimental.reward_loop.reward_loop import RewardLoopManager, RewardLoopWorker
from verl.trainer.ppo.v1 import trainer_base

from rollout_workers.upstream import require_verl

require_verl(verl.__version__, "trainer.grpo.reward_loop")


class _KeptConfig:
    """An actor class whose actors get the configuration from one object that is kept for as long as this lives.

    Ray stores a large argument of a constructor as an object and forgets it once the actor runs (2.60); the actor that
    takes its place then fails in its constructor.
    """

    def __init__(self, actor_class: Any, config: Any) -> None:
        self._actor_class = actor_class
        self._config = config

    def options(self, **options: Any) -> _KeptConfig:
        return _KeptConfig(self._actor_class.options(**options), self._config)

    def remote(self, config: Any, *arguments: Any) -> Any:
        return self._actor_class.remote(self._config, *arguments)


@contextmanager
def restarting_reward_workers(max_restarts: int) -> Iterator[None]:
    """While active, verl's trainer builds reward workers that Ray starts again, `max_restarts` times each."""

    class RestartingRewardLoop(RewardLoopManager):
        def _init_reward_loop_workers(self) -> None:
            # A call that was in flight is made again; one that raised is not.
            restarting: Any = ray.remote(max_restarts=max_restarts, max_task_retries=-1)
            self.reward_loop_workers_class = _KeptConfig(restarting(RewardLoopWorker), ray.put(self.config))
            super()._init_reward_loop_workers()

    stock = trainer_base.RewardLoopManager
    trainer_base.RewardLoopManager = RestartingRewardLoop
    try:
        yield
    finally:
        trainer_base.RewardLoopManager = stock
