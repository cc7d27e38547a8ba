"""Our verifier, math-verify and verl's scorers on the same rows: right, wrong, deferred, rows a second, latency.

    python -m benchmarks.verifier [CASES.jsonl ...] [--generated 10000] [--rounds 3] [--out results.json]

Without files the public cases of tests/data/verifier are used. Each scorer runs in a child process of its own, one
after the other, pinned to one core with everything that it starts; a row over the cap kills it and counts as a timeout.
With --rounds above 1 the fastest round is shown. Counting follows the verifier's policy: verdict 1 where the truth is
not 1 is a false positive, verdict 0 where the truth is not 0 a false negative, an unresolved verdict where the rules
must decide a deferral; `right` counts the rows that the rules must decide. Hostile and adversarial rows count in none
of the timings. `benchmarks.verifier_scorers` says which of verl's scorers are left out, and why.
"""

from __future__ import annotations

import argparse
import json
import os
import select
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from rich.console import Console
from rich.progress import Progress
from rich.table import Table

from benchmarks.verifier_cases import Case, generate, load
from benchmarks.verifier_chart_like import CHART_LIKE
from benchmarks.verifier_math_like import MATH_LIKE
from benchmarks.verifier_scorers import BATCH_SIZE, BATCHED, READ_MATHEMATICS, SCORERS

DATA = Path(__file__).resolve().parents[1] / "tests" / "data" / "verifier"
START_TIMEOUT_S = 300.0
WIDTH = 170
"""Columns of the tables where the output is no terminal."""
console = Console(highlight=False, width=None if sys.stdout.isatty() else WIDTH)


@dataclass(frozen=True, slots=True)
class Scored:
    """What a scorer said about one row.

    Attributes:
        value: 1, 0, or None (unresolved, or no answer within the cap).
        seconds: wall time of the call; the cap when it timed out.
        timed_out: over the cap, or the scorer's process died.
    """

    value: int | None
    seconds: float
    timed_out: bool = False


@dataclass(frozen=True, slots=True)
class Counts:
    """Totals of one scorer on one set of rows; `right` is out of `decidable`."""

    rows: int
    decidable: int
    right: int
    false_positives: int
    false_negatives: int
    deferred: int
    timeouts: int
    rows_per_s: float | None
    p50_ms: float | None
    p99_ms: float | None
    slowest_s: float


def score_file(name: str, path: Path, n_rows: int, cap_s: float, advance: Callable[[int], None]) -> list[Scored]:
    """Run one scorer over a file of rows; its child is killed at a row over the cap and goes on behind that row.

    Raises:
        RuntimeError: the scorer does not start.
    """
    found: list[Scored] = []
    while len(found) < n_rows:
        _run_child(name, path, found, n_rows, cap_s, advance)
        if len(found) < n_rows:
            found.append(Scored(None, cap_s, timed_out=True))
            advance(1)
    return found


def _run_child(
    name: str, path: Path, found: list[Scored], n_rows: int, cap_s: float, advance: Callable[[int], None]
) -> None:
    """Append what the child writes until it is done, dies, or misses the cap."""
    cpu = max(os.sched_getaffinity(0))
    command = [sys.executable, "-m", "benchmarks.verifier_scorers", name, str(path), str(len(found)), str(cpu)]
    with tempfile.TemporaryFile() as log:
        child = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=log, start_new_session=True)
        try:
            lines = _lines(child, cap_s * (BATCH_SIZE if name in BATCHED else 1))
            if next(lines, None) != "ready":
                log.seek(0)
                text = log.read()[-2000:].decode(errors="replace")
                raise RuntimeError(f"scorer {name} did not start within {START_TIMEOUT_S:.0f} s: {text}")
            for line in lines:
                _, value, seconds = json.loads(line)
                found.append(Scored(value, seconds))
                advance(1)
                if len(found) == n_rows:
                    return
        finally:
            os.killpg(child.pid, signal.SIGKILL)  # also what the scorer has started
            child.wait()
            if child.stdout is not None:
                child.stdout.close()


def _lines(child: subprocess.Popen[bytes], cap_s: float) -> Iterator[str]:
    """Whole lines of the child; ends when it ends or is silent for longer than the cap."""
    if child.stdout is None:
        raise AssertionError("the child has a pipe as stdout")
    descriptor, rest, limit = child.stdout.fileno(), b"", START_TIMEOUT_S
    while select.select([descriptor], [], [], limit)[0]:
        chunk = os.read(descriptor, 1 << 16)
        if not chunk:
            return
        *whole, rest = (rest + chunk).split(b"\n")
        limit = cap_s
        yield from (line.decode() for line in whole)


def count(cases: Sequence[Case], scored: Sequence[Scored], batched: bool = False) -> Counts:
    """Count by the policy; timings over the rows that are timed and came back.

    Args:
        batched: rows were scored together, so that one row has no latency of its own.
    """
    pairs = list(zip(cases, scored, strict=True))
    decidable = [(case, s) for case, s in pairs if case.expected in (0, 1)]
    seconds = sorted(s.seconds for case, s in pairs if case.timed and not s.timed_out)
    return Counts(
        rows=len(pairs),
        decidable=len(decidable),
        right=sum(s.value == case.expected for case, s in decidable),
        false_positives=sum(s.value == 1 and case.truth != 1 for case, s in pairs),
        false_negatives=sum(s.value == 0 and case.truth != 0 for case, s in pairs),
        deferred=sum(s.value is None and not s.timed_out for case, s in decidable),
        timeouts=sum(s.timed_out for _, s in pairs),
        rows_per_s=len(seconds) / sum(seconds) if seconds else None,
        p50_ms=None if batched or not seconds else 1000 * statistics.median(seconds),
        p99_ms=None if batched or not seconds else 1000 * seconds[min(len(seconds) - 1, len(seconds) * 99 // 100)],
        slowest_s=max(s.seconds for _, s in pairs),
    )


def comparison(title: str, results: dict[str, Counts]) -> Table:
    """One row a scorer."""
    table = Table(title=title)
    for column in ("scorer", "right", "false pos.", "false neg.", "deferred", "timeouts", "rows/s", "p50 ms", "p99 ms"):
        table.add_column(column, justify="left" if column == "scorer" else "right")
    for name, c in results.items():
        figures = (c.false_positives, c.false_negatives, c.deferred, c.timeouts)
        rate = "-" if c.rows_per_s is None else f"{c.rows_per_s:,.0f}"
        table.add_row(name, f"{c.right}/{c.decidable}", *map(str, figures), rate, _ms(c.p50_ms), _ms(c.p99_ms))
    return table


def hostile_table(title: str, results: dict[str, Counts]) -> Table:
    """One row a scorer: none of these answers is right, and each must come back soon."""
    table = Table(title=title)
    for column in ("scorer", "rows", "said right", "over the cap", "slowest s"):
        table.add_column(column, justify="left" if column == "scorer" else "right")
    for name, c in results.items():
        table.add_row(name, str(c.rows), str(c.false_positives), str(c.timeouts), f"{c.slowest_s:.3f}")
    return table


def by_type(title: str, results: dict[str, dict[str, Counts]]) -> Table:
    """Rows a second and errors of each answer type, for each scorer; `results` is scorer -> type -> counts."""
    table = Table(title=title, caption="rows a second (false positives + false negatives / rows)")
    table.add_column("answer type")
    for name in results:
        table.add_column(name, justify="right")
    for kind in next(iter(results.values())):
        table.add_row(kind, *(_rate_and_errors(counts[kind]) for counts in results.values()))
    return table


def _rate_and_errors(c: Counts) -> str:
    rate = "-" if c.rows_per_s is None else f"{c.rows_per_s:,.0f}"
    return f"{rate} ({c.false_positives + c.false_negatives}/{c.rows})"


def _ms(value: float | None) -> str:
    return "-" if value is None else f"{value:.3f}"


def split_by_type(cases: Sequence[Case], scored: Sequence[Scored], batched: bool) -> dict[str, Counts]:
    """Counts of each answer type."""
    kinds = sorted({case.answer_type or "none" for case in cases})
    found = {}
    for kind in kinds:
        chosen = [index for index, case in enumerate(cases) if (case.answer_type or "none") == kind]
        found[kind] = count([cases[i] for i in chosen], [scored[i] for i in chosen], batched)
    return found


def compare(
    title: str, cases: list[Case], scorers: Sequence[str], cap_s: float, rounds: int
) -> dict[str, dict[str, Counts]]:
    """Run all scorers over the rows and print both tables; returns scorer -> answer type ('all' too) -> counts."""
    results: dict[str, dict[str, Counts]] = {}
    with tempfile.TemporaryDirectory() as folder, Progress(console=console, transient=True) as progress:
        path = Path(folder) / "cases.jsonl"
        path.write_text("".join(json.dumps(asdict(case)) + "\n" for case in cases))
        for name in scorers:
            task = progress.add_task(f"{title}: {name}", total=rounds * len(cases))
            passes = [
                score_file(name, path, len(cases), cap_s, lambda n, task=task: progress.advance(task, n))  # type: ignore[misc]
                for _ in range(rounds)
            ]
            fastest = min(passes, key=lambda scored: sum(s.seconds for s in scored))
            batched = name in BATCHED
            results[name] = {"all": count(cases, fastest, batched), **split_by_type(cases, fastest, batched)}
    totals = {name: counts["all"] for name, counts in results.items()}
    console.print(comparison(title, totals) if any(case.timed for case in cases) else hostile_table(title, totals))
    types = {
        name: {kind: c for kind, c in counts.items() if kind != "all"}
        for name, counts in results.items()
        if name in READ_MATHEMATICS
    }
    if types and len(next(iter(types.values()))) > 1:
        console.print(by_type(f"{title}, by answer type", types))
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("cases", nargs="*", type=Path, help="rows with response, reference, expected and truth")
    parser.add_argument("--generated", type=int, default=0, help="also this many MATH-like and chart-like rows each")
    parser.add_argument("--seed", type=int, default=0, help="seed of the generated rows")
    parser.add_argument("--hostile", type=Path, nargs="?", const=DATA / "hostile.jsonl", help="also hostile rows")
    parser.add_argument("--scorers", nargs="+", choices=SCORERS, default=list(SCORERS), metavar="SCORER")
    parser.add_argument("--cap", type=float, default=15.0, help="seconds that one row may take")
    parser.add_argument("--rounds", type=int, default=1, help="passes over the rows; the fastest is shown")
    parser.add_argument("--out", type=Path, help="also write all counts to this JSON file")
    options = parser.parse_args()
    for name in ("cap", "rounds"):
        if getattr(options, name) <= 0:
            parser.error(f"--{name} {getattr(options, name)} must be above 0")
    if options.generated < 0:
        parser.error(f"--generated {options.generated} must be 0 or more")
    try:
        sets = {str(path): load(path) for path in options.cases or [DATA / "cases_public.jsonl"]}
        hostile = {str(options.hostile): load(options.hostile, hostile=True)} if options.hostile else {}
    except (OSError, ValueError) as error:
        parser.error(str(error))
    if options.generated:
        sets |= {
            f"{family.name}-like, {options.generated} rows, seed {options.seed}": list(
                generate(family, options.generated, options.seed)
            )
            for family in (MATH_LIKE, CHART_LIKE)
        }
    started = time.perf_counter()
    results = {
        title: compare(Path(title).name, cases, options.scorers, options.cap, options.rounds)
        for title, cases in sets.items()
    }
    for title, cases in hostile.items():
        results[title] = compare(Path(title).name, cases, options.scorers, options.cap, 1)
    console.print(f"{time.perf_counter() - started:.0f} s in all, Python {sys.version.split()[0]}")
    if options.out:
        content = {
            title: {scorer: {kind: asdict(c) for kind, c in kinds.items()} for scorer, kinds in scorers.items()}
            for title, scorers in results.items()
        }
        options.out.write_text(json.dumps(content, indent=2))


if __name__ == "__main__":
    main()
