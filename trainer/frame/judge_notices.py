"""Tells the person at the terminal that a judge is silent, how long it is waited for, and what happens then."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from dataclasses import dataclass, field

from reward_workers.judges.outage import Outage
from reward_workers.judges.serving.directory import WorkerReport

REPEAT_EVERY_S = 30.0
FORGET_AFTER_S = 15.0
"""A worker that has not reported for so long is gone; its outages are not current."""

CONSEQUENCES = {
    "drop_group": "is unscored and its group teaches nothing (on_unscored=drop_group)",
    "abort": "is unscored, a checkpoint is written and the run ends (on_unscored=abort)",
    "count_as_incorrect": "counts as incorrect (on_unscored=count_as_incorrect)",
}


@dataclass(slots=True)
class _Silence:
    """A judge that is silent for at least one worker."""

    said_at: float
    silent_s: float


@dataclass(slots=True)
class _Worker:
    heard_at: float
    outages: dict[str, Outage] = field(default_factory=dict)


class JudgeNotices:
    """Turns the reports of all reward workers into lines; `heard` may be called from any thread.

    Args:
        say: prints a line on the terminal of the run.
        max_wait_s, on_unscored: as in `reward_mix`.
    """

    def __init__(
        self,
        say: Callable[[str], None],
        *,
        max_wait_s: float,
        on_unscored: str,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._say = say
        self._max_wait_s = max_wait_s
        self._consequence = CONSEQUENCES[on_unscored]
        self._clock = clock
        self._workers: dict[str, _Worker] = {}
        self._silent: dict[str, _Silence] = {}
        self._lock = threading.Lock()

    def heard(self, report: WorkerReport) -> None:
        with self._lock:
            now = self._clock()
            if report.restarted:
                self._say(f"reward worker {report.worker} died and was started again; its rollouts are scored again")
            self._workers[report.worker] = _Worker(now, {outage.judge: outage for outage in report.outages})
            self._workers = {name: w for name, w in self._workers.items() if now - w.heard_at <= FORGET_AFTER_S}
            current = {judge for worker in self._workers.values() for judge in worker.outages}
            for judge in current:
                self._tell_outage(judge, now)
            for judge in set(self._silent) - current:
                silence = self._silent.pop(judge)
                total_s = silence.silent_s + now - silence.said_at
                self._say(f"judge {judge}: no rollout waits for it any more (it was silent for about {total_s:.0f} s)")

    def _tell_outage(self, judge: str, now: float) -> None:
        silence = self._silent.get(judge)
        if silence is not None and now - silence.said_at < REPEAT_EVERY_S:
            return
        outages = [worker.outages[judge] for worker in self._workers.values() if judge in worker.outages]
        longest = max(outages, key=lambda outage: outage.silent_s)
        self._silent[judge] = _Silence(said_at=now, silent_s=longest.silent_s)
        waiting = sum(outage.waiting for outage in outages)
        # A rollout without labels is scored; one without a verdict is not.
        then = "has no penalty" if judge == "pattern_rm" else self._consequence
        self._say(
            f"JUDGE SILENT: {judge} has answered nothing for {longest.silent_s:.0f} s ({longest.reason}); rollouts "
            f"that wait: {waiting}, each for {self._max_wait_s:g} s at most (reward_mix.max_wait_s), then it {then}"
        )
