"""What a soak makes of its samples: trends with their intervals, and a verdict on each process.

The verdict on a quantity is *flat* where its 95 % interval rules out a growth of `LIMIT_PER_HOUR`, *grows* where the
interval does not and lies above 0, and *undecided* otherwise: the soak was too short for what the quantity does.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
import psutil
from rich.table import Table
from scipy import stats

Key = Literal["uss_bytes", "fds", "threads", "children"]
BLOCKS = 10
"""Means of so many stretches of time are fitted: neighbouring samples are alike, which makes an interval too short."""
LIMIT_PER_HOUR: dict[Key, float] = {"uss_bytes": 50e6, "fds": 60.0, "threads": 12.0, "children": 12.0}
"""What leaks by the rollout or by the step is above it: 50 MB and 60 descriptors an hour are 1.2 GB and 1,440 a day.
Bounded memories that take long to fill are below it: 10 MB of results in a reward worker."""
SHORT: dict[Key, str] = {"uss_bytes": "memory", "fds": "descriptors", "threads": "threads", "children": "children"}
ALL = "all processes"
Verdict = Literal["flat", "grows", "undecided"]


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment; of all together, `children` is their number.

    Attributes:
        at_s: since the begin of the soak.
        uss_bytes: unique set size, the memory that the end of the process would free.
        children: its live descendants.
        zombies: ended descendants that nobody waited for.
    """

    at_s: float
    uss_bytes: int
    fds: int
    threads: int
    children: int
    zombies: int


@dataclass(frozen=True, slots=True)
class Trend:
    """Of one quantity after the warm-up.

    Attributes:
        begin, end: medians of the first and of the last third.
        per_hour: least squares through the block means; `low` and `high` bound its 95 % interval.
    """

    begin: float
    end: float
    per_hour: float
    low: float
    high: float

    def verdict(self, key: Key) -> Verdict:
        if self.high < LIMIT_PER_HOUR[key]:
            return "flat"
        return "grows" if self.low > 0 else "undecided"


def look(started: float) -> dict[int, tuple[str, Sample]]:
    """All processes below this one by process id, with a name; under 0 all of them together."""
    seen: dict[int, tuple[str, Sample]] = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # ended since it was listed
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            below = process.children(recursive=True)
            zombies = sum(child.status() == psutil.STATUS_ZOMBIE for child in below)
            seen[process.pid] = (
                process_name(process.cmdline(), process.name()),
                Sample(
                    at_s=time.monotonic() - started,
                    uss_bytes=process.memory_full_info().uss,
                    fds=process.num_fds(),
                    threads=process.num_threads(),
                    children=len(below) - zombies,
                    zombies=zombies,
                ),
            )
    samples = [sample for _, sample in seen.values()]
    together = Sample(
        at_s=time.monotonic() - started,
        uss_bytes=sum(s.uss_bytes for s in samples),
        fds=sum(s.fds for s in samples),
        threads=sum(s.threads for s in samples),
        children=len(samples),
        zombies=max((s.zombies for s in samples), default=0),
    )
    return {0: (ALL, together), **seen}


def process_name(command: Sequence[str], name: str) -> str:
    """What a process is, by its command line: an actor by its class, a program of ours by its purpose."""
    words = " ".join(command)
    if words.startswith("ray::"):
        return words[len("ray::") :].split(".")[0].split(" ")[0]
    for text, known in (
        ("benchmarks.soak_subjects", "reward worker"),
        ("symbolic.child_program", "symbolic child"),
        ("benchmarks.local_judge", "local judge"),
        ("trainer.main", "driver"),
        ("vllm.entrypoints", "vllm serve"),
    ):
        if text in words:
            return known
    return name


def trend(samples: Sequence[Sample], key: Key, after_s: float) -> Trend | None:
    """Of the samples of a process after the warm-up; None with fewer than two for each block."""
    points = [(s.at_s / 3600, float(getattr(s, key))) for s in samples if s.at_s >= after_s]
    if len(points) < 2 * BLOCKS:
        return None
    hours, values = np.array(points).T
    third = len(values) // 3
    means = [[part.mean() for part in np.array_split(axis, BLOCKS)] for axis in (hours, values)]
    line = stats.linregress(*means)
    # scipy gives no standard error for values that are all the same.
    half = float(stats.t.ppf(0.975, BLOCKS - 2)) * (line.stderr if np.ptp(means[1]) else 0.0)
    return Trend(
        begin=float(np.median(values[:third])),
        end=float(np.median(values[-third:])),
        per_hour=float(line.slope),
        low=float(line.slope - half),
        high=float(line.slope + half),
    )


def complaints(samples: Sequence[Sample], after_s: float, keys: Sequence[Key] = tuple(SHORT)) -> list[str]:
    """What is not flat in a process, in words; empty where all is."""
    trends = {key: trend(samples, key, after_s) for key in keys}
    verdicts = {key: found.verdict(key) for key, found in trends.items() if found is not None}
    said = {"grows": "grow", "undecided": "undecided, soak longer"}
    found = [f"{SHORT[key]} {said[verdict]}" for key, verdict in verdicts.items() if verdict != "flat"]
    # A child that has just ended is one for a moment.
    stale = len(samples) > 1 and min(sample.zombies for sample in samples[-2:]) > 0
    return found + (["ended children are not waited for"] if stale else [])


def summary(history: dict[int, list[Sample]], names: dict[int, str], after_s: float) -> tuple[Table, list[str]]:
    """The table of the processes that lived from the warm-up to the end, and all complaints.

    Of all processes together only the number is judged: it finds those that come and stay. Their memory is a sum over
    processes that come and go.
    """
    table = Table(title=f"after the first {after_s / 60:.1f} minutes: medians of the first and the last third")
    for column in ("process", "MB", "MB/h [95 %]", "descriptors (max)", "threads", "children", "zombies", "verdict"):
        table.add_column(column, justify="left" if column in ("process", "verdict") else "right")
    end_s = history[0][-1].at_s
    found: list[str] = []
    if trend(history[0], "uss_bytes", after_s) is None:
        found.append(f"no verdict: fewer than {2 * BLOCKS} samples after the warm-up, soak longer")
    for pid, samples in sorted(history.items(), key=lambda entry: names[entry[0]]):
        memory = trend(samples, "uss_bytes", after_s)
        if memory is None or samples[0].at_s > after_s or samples[-1].at_s < end_s - 60:
            continue
        name = names[pid] if pid == 0 else f"{names[pid]} {pid}"
        wrong = complaints(samples, after_s, ("children",) if pid == 0 else tuple(SHORT))
        found += [f"{name}: {text}" for text in wrong]
        table.add_row(
            name,
            f"{memory.begin / 1e6:,.1f} -> {memory.end / 1e6:,.1f}",
            f"{memory.per_hour / 1e6:+.1f} [{memory.low / 1e6:+.1f}, {memory.high / 1e6:+.1f}]",
            f"{_ends(samples, 'fds', after_s)} ({max(s.fds for s in samples)})",
            _ends(samples, "threads", after_s),
            _ends(samples, "children", after_s),
            str(samples[-1].zombies),
            ", ".join(wrong) or ("number flat" if pid == 0 else "flat"),
        )
    return table, found


def _ends(samples: Sequence[Sample], key: Key, after_s: float) -> str:
    found = trend(samples, key, after_s)
    return "-" if found is None else f"{found.begin:g} -> {found.end:g}"
