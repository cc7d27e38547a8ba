"""What `benchmarks.soak` keeps busy: reward workers without Ray, or a whole quickstart job with all of its actors."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

from benchmarks.local_judge import local_judge
from benchmarks.service_arms import scorer
from benchmarks.simulated_rollouts import endless
from foundation.runs.scored_rollout import ScoredRollout
from reward_workers.judges import questions
from reward_workers.verifier.symbolic import pool as symbolic

Scored = Callable[[], tuple[int, int]]
"""Rollouts scored so far, and those of them that stayed unscored; RuntimeError when a process of the subject ended."""
IN_FLIGHT = 64
KEPT = 1024
"""Results that a worker remembers here, less than in a job: full within the warm-up on a busy machine too."""
START_S = 600.0
END_S = 180.0


# ---- reward workers ----


@contextlib.contextmanager
def reward_workers(n: int, folder: Path) -> Iterator[Scored]:
    """Processes with the real parts of a reward worker, asking `benchmarks.local_judge`."""
    outputs = [folder / f"worker-{number}.jsonl" for number in range(n)]
    processes: list[subprocess.Popen[bytes]] = []

    def scored() -> tuple[int, int]:
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"a reward worker ended with code {process.returncode}")
        last = [json.loads(lines[-1]) for output in outputs if (lines := output.read_text().splitlines())]
        return sum(line[0] for line in last), sum(line[1] for line in last)

    with local_judge(0.0) as root:
        for number, output in enumerate(outputs):
            command = [sys.executable, "-m", "benchmarks.soak_subjects", root, str(folder / "cache"), str(number)]
            with output.open("w") as file:
                processes.append(subprocess.Popen(command, stdout=file))
        try:
            yield scored
        finally:
            for process in processes:
                process.terminate()
            for process in processes:
                process.wait()


async def work(root: str, cache: Path, seed: int) -> None:
    """Score until the process is ended; a line on stdout each second says how many were scored."""
    questions.KEPT_RESULTS = symbolic.MAX_KNOWN = KEPT
    made = scorer(root, concurrency=IN_FLIGHT, cache=cache, gate__probability=1.0)
    rollouts = endless(seed)
    scored = unscored = 0
    said = time.monotonic()

    async def lane() -> None:
        nonlocal scored, unscored, said
        while True:
            record = await made.score(next(rollouts))
            scored += 1
            unscored += record.reward is None
            if time.monotonic() - said > 1.0:
                said = time.monotonic()
                print(json.dumps([scored, unscored]), flush=True)

    await asyncio.gather(*(lane() for _ in range(IN_FLIGHT)))


# ---- a job ----


@contextlib.contextmanager
def quickstart_job(folder: Path) -> Iterator[Scored]:
    """The quickstart without an end, from its first step on; Ctrl-C ends it.

    Raises:
        RuntimeError: it did not start, or did not end with exit code 130.
    """
    run, log = folder / "run", folder / "job.log"
    command = [sys.executable, "-m", "trainer.main", "experiment=quickstart", f"run.dir={run}", "run.name=soak"]
    command += ["trainer.total_training_steps=1000000", "trainer.total_epochs=1000000", "trainer.save_freq=50"]
    command += ["trainer.val_before_train=false", "trainer.test_freq=-1", "tracking=none"]
    with log.open("w") as file:
        job = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT, start_new_session=True)
    records = RecordCounter(run / "records" / "train.jsonl")

    def scored() -> tuple[int, int]:
        if job.poll() is not None:
            raise RuntimeError(f"the job ended with code {job.returncode}:\n{log.read_text()[-3000:]}")
        return records.count()

    try:
        started = time.monotonic()
        while not scored()[0]:
            if time.monotonic() - started > START_S:
                raise RuntimeError(f"no step of the job after {START_S:.0f} s:\n{log.read_text()[-3000:]}")
            time.sleep(1.0)
        yield scored
        os.killpg(job.pid, signal.SIGINT)
        if job.wait(END_S) != 130:
            raise RuntimeError(f"the job ended with code {job.returncode}:\n{log.read_text()[-3000:]}")
    finally:
        if job.poll() is None:
            job.kill()
            job.wait()


class RecordCounter:
    """Counts the lines of a growing file of records, each of them once."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._offset = self._scored = self._unscored = 0

    def count(self) -> tuple[int, int]:
        if self._path.exists():
            with self._path.open("rb") as file:
                file.seek(self._offset)
                for line in file:
                    if not line.endswith(b"\n"):
                        break  # it is being written
                    self._offset += len(line)
                    self._scored += 1
                    self._unscored += ScoredRollout.from_json(line.decode()).reward is None
        return self._scored, self._unscored


def main() -> None:
    parser = argparse.ArgumentParser(description="One reward worker of benchmarks.soak.")
    parser.add_argument("root", help="address of the judge")
    parser.add_argument("cache", type=Path, help="folder of the judge cache")
    parser.add_argument("seed", type=int)
    options = parser.parse_args()
    asyncio.run(work(options.root, options.cache, options.seed))


if __name__ == "__main__":
    main()
