"""Jobs of the quickstart in small: the real stack, started as a user starts it."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psutil
import pytest

from foundation.runs.scored_rollout import ScoredRollout, read_all_rollouts

SMALL = (
    "experiment=quickstart",
    "data.train_batch_size=4",
    "actor_rollout_ref.actor.ppo_mini_batch_size=4",
    "actor_rollout_ref.rollout.n=4",
    "data.val_max_samples=16",
    "trainer.max_actor_ckpt_to_keep=4",
)
START_S = 300.0
"""From the command to the first step, on two busy cores."""
STEP_S = 90.0


@dataclass
class Job:
    """One process of `python -m trainer.main`; its output goes to a file that grows while it runs."""

    folder: Path
    overrides: tuple[str, ...]
    process: Any = field(init=False)

    def __post_init__(self) -> None:
        self.log = self.folder.parent / f"{self.folder.name}-{time.time_ns()}.log"
        command = [sys.executable, "-m", "trainer.main", *SMALL, f"run.dir={self.folder}", *self.overrides]
        environment = {**os.environ, "PYTHONUNBUFFERED": "1"}
        with self.log.open("w") as file:
            # A session of its own, as a terminal gives one: signals reach this job only.
            self.process = subprocess.Popen(
                command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True, env=environment
            )

    @property
    def output(self) -> str:
        return self.log.read_text(errors="replace")

    def wait_until(self, condition: Callable[[], bool], timeout_s: float, what: str = "the condition") -> None:
        """Wait for something that the job brings about; the test fails when the job ends first."""
        deadline = time.monotonic() + timeout_s
        while not condition():
            if self.process.poll() is not None and not condition():
                pytest.fail(f"the job ended with {self.process.returncode} before {what}:\n{self.output[-6000:]}")
            if time.monotonic() > deadline:
                self.kill()
                pytest.fail(f"no {what} after {timeout_s} s:\n{self.output[-6000:]}")
            time.sleep(0.2)

    def wait_for(self, text: str, timeout_s: float) -> None:
        self.wait_until(lambda: text in self.output, timeout_s, repr(text))

    def wait_for_more(self, mark: int, text: str, n: int, timeout_s: float) -> None:
        """Wait until the output holds a text `n` times after a position of it."""
        self.wait_until(lambda: self.output[mark:].count(text) >= n, timeout_s, f"{n} x {text!r}")

    def steps_while(self, harm: Callable[[], None], until: str, timeout_s: float) -> int:
        """Do some harm; the steps that were finished from then until the output holds a text once more."""
        mark, before = len(self.output), self.last_step()
        harm()
        self.wait_for_more(mark, until, 1, timeout_s)
        return self.last_step() - before

    def last_step(self) -> int:
        """The last training step that the output tells of, 0 before the first."""
        return max((int(step) for step in re.findall(r"step +(\d+)/\d+ ", self.output)), default=0)

    def wait_for_steps(self, n: int) -> None:
        """Wait for so many further steps."""
        last = self.last_step() + n
        self.wait_until(lambda: self.last_step() >= last, START_S + n * STEP_S, f"step {last}")

    def wait(self, timeout_s: float) -> int:
        try:
            return self.process.wait(timeout_s)
        except subprocess.TimeoutExpired:
            self.kill()
            pytest.fail(f"the job still runs after {timeout_s} s:\n{self.output[-6000:]}")

    def interrupt(self) -> None:
        """Ctrl-C: the terminal sends it to the whole process group."""
        os.killpg(self.process.pid, signal.SIGINT)

    def descendants(self) -> list[psutil.Process]:
        return psutil.Process(self.process.pid).children(recursive=True)

    def kill(self) -> None:
        """SIGKILL to the driver alone, as the kernel's out-of-memory killer would."""
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()


@dataclass(frozen=True)
class Run:
    """What a job left in its run folder."""

    folder: Path

    def records(self, split: str = "train") -> list[ScoredRollout]:
        """Every rollout that was kept, those of repeated steps too."""
        path = self.folder / "records" / f"{split}.jsonl"
        assert path.exists(), path
        return read_all_rollouts(path)

    def metrics(self) -> list[dict[str, Any]]:
        return [json.loads(line) for line in (self.folder / "metrics.jsonl").read_text().splitlines()]

    def steps(self) -> list[dict[str, Any]]:
        """The metrics of the training steps, without those of a validation alone."""
        return [row for row in self.metrics() if "reward_mix/accuracy" in row]

    def judge(self, name: str) -> dict[str, Any]:
        return json.loads((self.folder / "judges" / f"{name}.json").read_text())


def below(process: psutil.Process, text: str) -> list[psutil.Process]:
    """Descendants of a process whose command line holds a text."""
    return [p for p in process.children(recursive=True) if text in " ".join(p.cmdline())]


def wait_until_gone(processes: list[psutil.Process], timeout_s: float = 30.0) -> list[psutil.Process]:
    """Processes that still run after the timeout; zombies count as gone."""
    deadline = time.monotonic() + timeout_s
    while True:
        alive = [p for p in processes if p.is_running() and p.status() != psutil.STATUS_ZOMBIE]
        if not alive or time.monotonic() > deadline:
            return alive
        time.sleep(0.5)
