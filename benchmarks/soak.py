"""Scores at full speed for a long time and watches every process: memory, file descriptors, children, and their slopes.

    python -m benchmarks.soak --minutes 30 [--judge vllm] [--workers 2] [--out soak.json]

Each reward worker is a process with the real parts of one: the scorer that `build_scorer` makes, its verifier with the
symbolic child process, the judge clients and the cache on disk. It scores different rollouts without end, so that
nothing is answered from memory but what should be; one in ten needs the symbolic stage, one in four the fallback.
The judge is `benchmarks.local_judge`, or with `--judge vllm` the toy judges behind `vllm serve`. No Ray, no verl.

Memory is the proportional set size (shared pages count once). Slopes are least squares over the samples after a quarter
of the time, while which caches fill; the results kept in memory are bounded by number, so that they fill early.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import subprocess
import sys
import tempfile
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import psutil
from rich.console import Console
from rich.table import Table

from benchmarks.local_judge import local_judge
from benchmarks.service_arms import scorer
from benchmarks.simulated_rollouts import endless
from reward_workers.judges.server_process import ServerProcess, vllm_command

ROOT = Path(__file__).resolve().parents[1]
SAMPLE_EVERY_S = 10.0
IN_FLIGHT = 64
console = Console(highlight=False)


@dataclass(frozen=True, slots=True)
class Sample:
    """One process at one moment. `children`: its live descendants; `zombies`: ended ones that nobody waited for."""

    at_s: float
    pss_bytes: int
    fds: int
    threads: int
    children: int
    zombies: int


# ---- a reward worker ----


async def work(roots: dict[str, str], seed: int, cache: Path) -> None:
    """Score until the process is ended; a line on stdout each second says how many were scored."""
    made = scorer(roots, concurrency=IN_FLIGHT, cache=cache, gate__probability=1.0)
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


# ---- the watcher ----


@contextlib.contextmanager
def judges(kind: str, folder: Path) -> Iterator[dict[str, str]]:
    """Roots of both judges."""
    if kind == "local":
        with local_judge(0.0) as root:
            yield {"fallback": root, "pattern_rm": root}
        return
    served = {"fallback": ("answer_judge", "answer-judge"), "pattern_rm": ("pattern_rm", "pattern-rm")}
    servers = {
        judge: ServerProcess(
            [
                *vllm_command(str(ROOT / "assets/toy" / model), name, tensor_parallel_size=1, max_model_len=512),
                "--dtype=float32",
                "--enforce-eager",
            ],
            env={"VLLM_CPU_KVCACHE_SPACE": "1", "VLLM_CPU_OMP_THREADS_BIND": "nobind", "OMP_NUM_THREADS": "1"},
            host="127.0.0.1",
            log_path=folder / f"{judge}.log",
            ready_timeout_s=300,
            max_restarts=0,
            hung_after_s=60,
        )
        for judge, (model, name) in served.items()
    }
    try:
        for judge, server in servers.items():
            status = server.wait_ready(300)
            if status.state != "ready":
                raise RuntimeError(f"{judge}: {status.failure}")
        yield {judge: server.root for judge, server in servers.items()}
    finally:
        for server in servers.values():
            server.stop()


@contextlib.contextmanager
def reward_workers(n: int, roots: dict[str, str], folder: Path) -> Iterator[list[Path]]:
    """Worker processes; gives the files that hold what they scored."""
    outputs = [folder / f"worker-{number}.jsonl" for number in range(n)]
    processes = []
    for number, output in enumerate(outputs):
        command = [sys.executable, "-m", "benchmarks.soak", "--work", json.dumps(roots), "--seed", str(number)]
        with output.open("w") as file:
            processes.append(subprocess.Popen([*command, "--cache", str(folder / "cache")], stdout=file))
    try:
        yield outputs
        for process in processes:
            if process.poll() is not None:
                raise RuntimeError(f"a reward worker ended with code {process.returncode}")
    finally:
        for process in processes:
            process.terminate()
        for process in processes:
            process.wait()


def look(started: float) -> dict[str, Sample]:
    """All processes below this one, by pid and the end of their command line."""
    seen = {}
    for process in psutil.Process().children(recursive=True):
        with contextlib.suppress(psutil.NoSuchProcess, psutil.AccessDenied):  # ended since it was listed
            if process.status() == psutil.STATUS_ZOMBIE:
                continue
            below = process.children(recursive=True)
            zombies = sum(child.status() == psutil.STATUS_ZOMBIE for child in below)
            seen[_name(process)] = Sample(
                at_s=time.monotonic() - started,
                pss_bytes=process.memory_full_info().pss,
                fds=process.num_fds(),
                threads=process.num_threads(),
                children=len(below) - zombies,
                zombies=zombies,
            )
    return seen


def _name(process: psutil.Process) -> str:
    words = " ".join(process.cmdline())
    for text, name in (
        ("benchmarks.soak", "reward worker"),
        ("symbolic_worker", "symbolic child"),
        ("benchmarks.local_judge", "local judge"),
        ("vllm", "vllm"),
    ):
        if text in words:
            return f"{name} {process.pid}"
    return f"{process.name()} {process.pid}"


def scored_so_far(outputs: list[Path]) -> tuple[int, int]:
    """Rollouts scored, and those of them that stayed unscored, over all workers."""
    totals = [0, 0]
    for output in outputs:
        lines = output.read_text().splitlines()
        if lines:
            totals = [total + value for total, value in zip(totals, json.loads(lines[-1]), strict=True)]
    return totals[0], totals[1]


def slope_per_hour(samples: list[Sample], key: str, after_s: float) -> float | None:
    """Least squares over the samples of a process after the warm-up; None with fewer than three."""
    points = [(s.at_s / 3600, float(getattr(s, key))) for s in samples if s.at_s >= after_s]
    if len(points) < 3:
        return None
    hours, values = np.array(points).T
    return float(np.polyfit(hours, values, 1)[0])


def summary(history: dict[str, list[Sample]], minutes: float) -> Table:
    table = Table(title=f"processes over {minutes:g} minutes; slopes after the first quarter")
    for column in (
        "process",
        "seen s",
        "MB first",
        "MB last",
        "MB max",
        "MB/h",
        "fds first/last/max",
        "threads",
        "children",
        "zombies",
    ):
        table.add_column(column, justify="left" if column == "process" else "right")
    for name, samples in history.items():
        megabytes = [s.pss_bytes / 1e6 for s in samples]
        slope = slope_per_hour(samples, "pss_bytes", minutes * 15)
        fds = [s.fds for s in samples]
        table.add_row(
            name,
            f"{samples[-1].at_s - samples[0].at_s:.0f}",
            f"{megabytes[0]:.1f}",
            f"{megabytes[-1]:.1f}",
            f"{max(megabytes):.1f}",
            "-" if slope is None else f"{slope / 1e6:+.2f}",
            f"{fds[0]}/{fds[-1]}/{max(fds)}",
            f"{samples[0].threads}/{samples[-1].threads}",
            f"{samples[0].children}/{samples[-1].children}",
            str(max(s.zombies for s in samples)),
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--minutes", type=float, default=30.0)
    parser.add_argument("--judge", choices=("local", "vllm"), default="local")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--out", type=Path, help="also write all samples to this JSON file")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    parser.add_argument("--seed", type=int, default=0, help=argparse.SUPPRESS)
    parser.add_argument("--cache", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        asyncio.run(work(json.loads(options.work), options.seed, options.cache))
        return
    history: dict[str, list[Sample]] = defaultdict(list)
    with tempfile.TemporaryDirectory(prefix="soak_") as temporary:
        folder = Path(temporary)
        with judges(options.judge, folder) as roots, reward_workers(options.workers, roots, folder) as outputs:
            started = time.monotonic()
            while time.monotonic() - started < options.minutes * 60:
                time.sleep(SAMPLE_EVERY_S)
                for name, sample in look(started).items():
                    history[name].append(sample)
                elapsed = time.monotonic() - started
                scored, unscored = scored_so_far(outputs)
                cache_mb = sum(file.stat().st_size for file in (folder / "cache").rglob("*") if file.is_file()) / 1e6
                console.print(
                    f"{elapsed:6.0f} s  {scored:,} scored ({scored / elapsed:,.0f}/s), {unscored} unscored, "
                    f"{len(history)} processes so far, cache {cache_mb:.1f} MB"
                )
    console.print(summary(history, options.minutes))
    left = [process.cmdline() for process in psutil.Process().children(recursive=True)]
    console.print(f"processes left at the end: {len(left)}")
    if options.out:
        options.out.write_text(json.dumps({name: [asdict(s) for s in ss] for name, ss in history.items()}) + "\n")


if __name__ == "__main__":
    main()
