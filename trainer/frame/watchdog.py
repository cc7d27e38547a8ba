"""Ends a run that stopped making progress.

verl waits without a deadline in places where a dead vLLM worker never answers (the weight sync, for one). The watchdog
is a thread of the task runner: when no phase has begun for `timeout_s`, it leaves the reason in the run folder and ends
the process, which ends the job with an error instead of a hang.
"""

from __future__ import annotations

import faulthandler
import os
import threading
import time
from pathlib import Path

EXIT_CODE = 70


class Watchdog:
    """Call `beat(phase)` whenever a phase begins.

    Args:
        timeout_s: longest time that one phase may take, in seconds.
        report: file that the reason and the stacks of all threads are written to.
    """

    def __init__(self, timeout_s: float, report: Path):
        self._timeout_s = timeout_s
        self._report = report
        self._phase, self._since = "start", time.monotonic()
        self._stopped = threading.Event()

    def start(self) -> None:
        threading.Thread(target=self._watch, name="watchdog", daemon=True).start()

    def beat(self, phase: str) -> None:
        self._phase, self._since = phase, time.monotonic()

    def stop(self) -> None:
        self._stopped.set()

    def _watch(self) -> None:
        while not self._stopped.wait(min(1.0, self._timeout_s / 4)):
            if time.monotonic() - self._since > self._timeout_s:
                self._end()

    def _end(self) -> None:
        with self._report.open("w") as file:
            file.write(
                f"The run made no progress for {self._timeout_s:.0f} s (run.stall_timeout_s) in phase "
                f"'{self._phase}' and was ended. The last checkpoint is complete: start the same command again to go "
                "on.\n\nStacks of the task runner:\n"
            )
            faulthandler.dump_traceback(file, all_threads=True)
        os._exit(EXIT_CODE)
