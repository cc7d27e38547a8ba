"""verl's replay buffer with a short poll and an end to waiting.

verl polls TransferQueue every two seconds (verl 0.9.1, trainer/ppo/v1/replay_buffer.py:144), which is a third of a
short step, and waits for ever for a rollout server that died. This one polls often while a step is short, and raises
when nothing has moved for `stall_timeout_s` or when rollout groups failed.
"""

from __future__ import annotations

import time
from typing import Any

from verl.trainer.ppo.v1.replay_buffer import ReplayBuffer


class PromptReplayBuffer(ReplayBuffer):
    """Settings come from `trainer.v1.sampler.sampler_kwargs`.

    poll_interval_s: pause between two looks at the queue.
    stall_timeout_s: raise when no group changed its state for this long.
    max_failed_groups: groups of one batch that may fail (an exception in generation or scoring) before the step does.
    """

    def __init__(self, *args: Any, sampler_kwargs: Any, **kwargs: Any):
        super().__init__(*args, sampler_kwargs=sampler_kwargs, **kwargs)
        self.poll_interval = float(sampler_kwargs["poll_interval_s"])
        self._stall_timeout_s = float(sampler_kwargs["stall_timeout_s"])
        self._max_failed_groups = int(sampler_kwargs["max_failed_groups"])
        self._last_state: tuple[int, ...] = ()
        self._last_change = time.monotonic()

    def sample(self, global_steps: int, partition_id: str, batch_size: int) -> Any:
        self._last_change = time.monotonic()
        return super().sample(global_steps=global_steps, partition_id=partition_id, batch_size=batch_size)

    def _sampleable_terminal_keys(self, partition_id: str, eviction_reasons: Any) -> set[str]:
        failed = len(self.failure_keys[partition_id])
        if failed > self._max_failed_groups:
            raise RuntimeError(
                f"{failed} rollout groups failed while generating or scoring (allowed: "
                f"trainer.v1.sampler.sampler_kwargs.max_failed_groups={self._max_failed_groups}). The first cause "
                "stands in the log of the agent loop worker; a dead rollout server shows as EngineDeadError there"
            )
        return super()._sampleable_terminal_keys(partition_id, eviction_reasons)

    def _wait_for_next_poll(self, partition_id: str, last_debug_time: float) -> float:
        state = tuple(
            len(keys[partition_id])
            for keys in (self.partitions, self.pending_keys, self.running_keys, self.finished_keys, self.failure_keys)
        )
        now = time.monotonic()
        if state != self._last_state:
            self._last_state, self._last_change = state, now
        elif now - self._last_change > self._stall_timeout_s:
            raise RuntimeError(
                f"no rollout has moved for {self._stall_timeout_s:.0f} s "
                f"(trainer.v1.sampler.sampler_kwargs.stall_timeout_s): {state[1]} groups pending, {state[2]} running, "
                f"{state[3]} finished. A rollout or judge server hangs or is gone"
            )
        return super()._wait_for_next_poll(partition_id, last_debug_time)
