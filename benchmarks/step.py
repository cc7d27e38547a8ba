"""Seconds of a quickstart step by phase: PatternRL against BaseRL and against stock verl, on this machine.

    python -m benchmarks.step [--steps 16] [--warm-up 4] [--rounds 2] [--arms pattern_rl base_rl stock]

Each arm is a whole job of its own (real Ray, verl, vLLM, judges), with a learning rate of 0, so that every arm
generates with the same policy and the lengths of responses stay comparable. Arms take turns, round by round, so that a
slow minute of the machine does not fall on one arm. Prints medians over the steps after the warm-up, ratios, and the
peak memory of all processes of the job (proportional set size, so that shared pages count once).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

PHASES = ("step", "gen", "old_log_prob", "adv", "update_actor", "update_weights")
COMMON = (
    "actor_rollout_ref.actor.optim.lr=0.0",
    "trainer.val_before_train=false",
    "trainer.test_freq=-1",
    "trainer.save_freq=-1",
)
SAMPLE_EVERY_S = 10.0
console = Console(highlight=False)


def run_arm(arm: str, steps: int, folder: Path) -> tuple[list[dict[str, float]], int]:
    """Run one job; returns the timings of each step in seconds and the peak memory in bytes.

    Raises:
        RuntimeError: the job failed; its log is named.
    """
    settings = [*COMMON, f"trainer.total_training_steps={steps}"]
    if arm == "stock":
        metrics = folder / "metrics.jsonl"
        command = [sys.executable, "-m", "benchmarks.stock_verl", str(metrics), *settings]
    else:
        metrics = folder / "run" / "metrics.jsonl"
        ours = ["experiment=quickstart", f"reward_mix={arm}", f"run.name=step_{arm}", f"run.dir={folder / 'run'}"]
        command = [sys.executable, "-m", "trainer.main", *ours, "tracking=none", *settings]
    log = folder / "log.txt"
    with log.open("w") as file:
        process = subprocess.Popen(command, stdout=file, stderr=subprocess.STDOUT)
        peak = 0
        while process.poll() is None:
            peak = max(peak, memory_of_tree(process.pid))
            time.sleep(SAMPLE_EVERY_S)
    rows = [json.loads(line) for line in metrics.read_text().splitlines()] if metrics.exists() else []
    rows = [row.get("data", row) for row in rows]  # verl's file logger nests the metrics
    timings = [
        {p: row[f"timing_s/{p}"] for p in PHASES if f"timing_s/{p}" in row} for row in rows if "timing_s/step" in row
    ]
    if len(timings) < steps:
        raise RuntimeError(f"arm {arm}: {len(timings)} of {steps} steps, exit code {process.returncode}; log: {log}")
    return timings, peak


def memory_of_tree(pid: int) -> int:
    """Proportional set size of a process and all its descendants, in bytes."""
    total = 0
    try:
        processes = [psutil.Process(pid), *psutil.Process(pid).children(recursive=True)]
    except psutil.NoSuchProcess:
        return 0
    for process in processes:
        try:
            total += process.memory_full_info().pss
        except (psutil.NoSuchProcess, psutil.AccessDenied):
            continue  # ended since it was listed
    return total


def table(results: dict[str, list[dict[str, float]]], peaks: dict[str, int]) -> Table:
    """Medians by arm and phase; ratios to the first arm."""
    arms = list(results)
    shown = Table(title="median seconds of a step by phase")
    for column in ("phase", *arms, *(f"{arms[0]} / {arm}" for arm in arms[1:])):
        shown.add_column(column, justify="right")
    for phase in PHASES:
        medians = {arm: _median(results[arm], phase) for arm in arms}
        ratios = [_ratio(medians[arms[0]], medians[arm]) for arm in arms[1:]]
        shown.add_row(phase, *(f"{m:.2f}" if m is not None else "-" for m in medians.values()), *ratios)
    shown.add_row("steps", *(str(len(results[arm])) for arm in arms), *[""] * (len(arms) - 1))
    shown.add_row("peak GB", *(f"{peaks[arm] / 1e9:.1f}" for arm in arms), *[""] * (len(arms) - 1))
    return shown


def _median(steps: list[dict[str, float]], phase: str) -> float | None:
    values = [step[phase] for step in steps if phase in step]
    return statistics.median(values) if values else None


def _ratio(one: float | None, other: float | None) -> str:
    return f"{one / other:.2f}" if one and other else ""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--steps", type=int, default=16, help="GRPO steps a job")
    parser.add_argument("--warm-up", type=int, default=4, help="first steps of each job that do not count")
    parser.add_argument("--rounds", type=int, default=2, help="jobs an arm")
    parser.add_argument("--arms", nargs="+", default=["pattern_rl", "base_rl", "stock"])
    parser.add_argument("--out", type=Path, help="also write all timings to this JSON file")
    options = parser.parse_args()
    if options.warm_up >= options.steps:
        parser.error(f"--warm-up {options.warm_up} leaves none of {options.steps} steps: raise --steps")
    results: dict[str, list[dict[str, float]]] = defaultdict(list)
    peaks: dict[str, int] = defaultdict(int)
    for round_number in range(1, options.rounds + 1):
        for arm in options.arms:
            folder = Path(tempfile.mkdtemp(prefix=f"step_{arm}_"))
            console.print(f"round {round_number}/{options.rounds}: {arm} ({folder})")
            try:
                timings, peak = run_arm(arm, options.steps, folder)
            except RuntimeError:
                if results:
                    console.print(table(dict(results), peaks))  # what other arms measured is kept
                raise
            results[arm] += timings[options.warm_up :]
            peaks[arm] = max(peaks[arm], peak)
    console.print(table(dict(results), peaks))
    if options.out:
        content: dict[str, Any] = {"timings_s": dict(results), "peak_bytes": dict(peaks)}
        options.out.write_text(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
