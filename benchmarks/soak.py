"""Scores at full speed for a long time and says of every process whether memory, descriptors or children grow.

    python -m benchmarks.soak --minutes 30 [--workers 2] [--out soak.json]
    python -m benchmarks.soak --minutes 30 --subject job

`--subject workers`: processes with the real parts of a reward worker (the scorer of `build_scorer`, its verifier with
the symbolic child, the judge clients, the cache on disk), which score different rollouts without end against
`benchmarks.local_judge`; one in ten needs the symbolic stage, one in four the fallback judge. No Ray, no verl: this is
the reward service at its limit. `--subject job`: the quickstart with every actor of a job, Ray, verl and vLLM included.

Memory is the unique set size. The first third is warm-up, in which caches fill; what is kept in memory is bounded by
number, and `--subject workers` makes these bounds small, so that they are reached. Of the rest, the slope with its 95 %
interval is judged for each process: memory, descriptors, threads, children (`benchmarks.soak_figures`). Exit code 1
when something grows, cannot be decided in this time, stays unscored, or is left running.
"""

from __future__ import annotations

import argparse
import json
import sys
import tempfile
import time
from collections import defaultdict
from dataclasses import asdict
from pathlib import Path

import psutil
from rich.console import Console

from benchmarks.soak_figures import Sample, look, summary
from benchmarks.soak_subjects import Scored, quickstart_job, reward_workers

SAMPLES_A_RUN = 180
SHORTEST_PAUSE_S = 2.0
"""Between two looks: one takes some tenths of a second of CPU time."""
WARM_UP_SHARE = 1 / 3
console = Console(highlight=False, soft_wrap=True, width=150)


def watch(scored: Scored, folder: Path, seconds: float) -> tuple[dict[int, list[Sample]], dict[int, str], int]:
    """Sample all processes below this one.

    Returns:
        The samples and the name of each process by its id, and how many rollouts stayed unscored.
    """
    history: dict[int, list[Sample]] = defaultdict(list)
    names: dict[int, str] = {}
    every_s = max(SHORTEST_PAUSE_S, seconds / SAMPLES_A_RUN)
    first, unscored = scored()
    started = said = time.monotonic()
    while time.monotonic() - started < seconds:
        time.sleep(every_s)
        for pid, (name, sample) in look(started).items():
            history[pid].append(sample)
            names[pid] = name
        now, unscored = scored()
        if time.monotonic() - said > seconds / 20:
            said = time.monotonic()
            alive = history[0][-1]
            console.print(
                f"{alive.at_s:6.0f} s  {now - first:,} scored ({(now - first) / (said - started):,.0f}/s), {unscored} "
                f"unscored, {alive.children} processes, {alive.uss_bytes / 1e6:,.0f} MB, {alive.fds} descriptors, "
                f"cache {_megabytes(folder):.1f} MB"
            )
    return history, names, unscored


def _megabytes(folder: Path) -> float:
    """Size of the judge caches below a folder."""
    return sum(file.stat().st_size for file in folder.rglob("cache.db*")) / 1e6


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--subject", choices=("workers", "job"), default="workers")
    parser.add_argument("--workers", type=int, default=2, help="reward workers, for --subject workers")
    parser.add_argument("--out", type=Path, help="also write all samples to this JSON file")
    options = parser.parse_args()
    seconds = options.minutes * 60
    with tempfile.TemporaryDirectory(prefix="soak_") as temporary:
        folder = Path(temporary)
        subject = quickstart_job(folder) if options.subject == "job" else reward_workers(options.workers, folder)
        with subject as scored:
            history, names, unscored = watch(scored, folder, seconds)
    table, found = summary(history, names, WARM_UP_SHARE * seconds)
    console.print(table)
    left = [" ".join(process.cmdline()) for process in psutil.Process().children(recursive=True)]
    found += [f"left running: {command}" for command in left]
    if unscored:
        found.append(f"{unscored} rollouts stayed unscored")
    brief = len(history) - table.row_count
    console.print(f"{brief} further processes came or went; left running at the end: {len(left)}; unscored: {unscored}")
    console.print("verdict: " + ("; ".join(found) if found else "flat, nothing left"))
    if options.out:
        rows = {f"{names[pid]} {pid}": [asdict(sample) for sample in samples] for pid, samples in history.items()}
        options.out.write_text(json.dumps(rows) + "\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
