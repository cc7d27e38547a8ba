"""Verdicts of a file of cases.

    python -m reward_workers.verifier CASES.jsonl --out VERDICTS.jsonl [--workers N] [--explain] [--overwrite]

CASES.jsonl holds one object a line: {id, response, reference, answer_type?, options?}. VERDICTS.jsonl gets, in the same
order, {id, verdict: 1 | 0 | "unresolved", stage, reason, extracted, seconds}, with `anls` for answer type doc_text and
`explanation` with --explain. A start that was ended goes on where it was. No judge is asked.

Exit codes: 0 done, 1 done but for malformed rows (each is reported), 2 nothing can be done, 130 ended by the user.
"""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from rich.console import Console
from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

from reward_workers.verifier.batch.case_file import CaseFile, Stopped
from reward_workers.verifier.batch.verdict_file import VerdictFile

EXIT_MALFORMED, EXIT_WRONG_INPUT, EXIT_STOPPED = 1, 2, 130


def main(argv: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    cores = len(os.sched_getaffinity(0))
    parser = argparse.ArgumentParser(
        prog="python -m reward_workers.verifier",
        description="Decide whether boxed answers equal their references: 1, 0 or unresolved.",
        epilog="Exit codes: 0 done, 1 some rows were malformed, 2 wrong input, 130 ended by the user (rows are kept).",
    )
    columns = "{id, response, reference, answer_type?, options?}"
    parser.add_argument("cases", type=Path, metavar="CASES.jsonl", help=f"one JSON object a line: {columns}")
    parser.add_argument("--out", type=Path, required=True, metavar="VERDICTS.jsonl", help="one row a case, in order")
    parser.add_argument("--workers", type=int, default=cores, metavar="N", help="processes (default: one a core)")
    parser.add_argument("--explain", action="store_true", help="add to each row a sentence that says why")
    parser.add_argument("--overwrite", action="store_true", help="do not go on after rows of an earlier start")
    options = parser.parse_args(argv)
    if options.workers < 1:
        parser.error(f"--workers {options.workers}: give 1 or more")
    errors = Console(stderr=True, highlight=False, soft_wrap=True)
    try:
        return _run(options, errors)
    except Stopped:
        errors.print("stopped: the rows so far are kept, and the same command goes on after them")
        return EXIT_STOPPED
    except OSError as error:
        errors.print(f"error: {error.filename or options.out}: {error.strerror}", markup=False)
    except ValueError as error:
        errors.print(f"error: {error}", markup=False)
    return EXIT_WRONG_INPUT


def _run(options: argparse.Namespace, errors: Console) -> int:
    cases: Path = options.cases
    size = cases.stat().st_size
    out = VerdictFile(options.out, cases, overwrite=options.overwrite, with_explanation=options.explain)
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        TextColumn("{task.fields[rows]:,} rows"),
        TimeRemainingColumn(),
        console=errors,
    )
    bar = progress.add_task("verdicts", total=size, rows=0)
    run = CaseFile(
        cases,
        out,
        workers=options.workers,
        with_explanation=options.explain,
        report=lambda number, why: errors.print(f"{cases} line {number}: {why}", markup=False),
        advance=lambda end, rows: progress.update(bar, completed=end, rows=rows),
    )
    with progress:
        run.run()
        progress.update(bar, completed=size, rows=run.tally.rows)
    _print_end(run, options)
    return EXIT_MALFORMED if run.malformed else 0


def _print_end(run: CaseFile, options: argparse.Namespace) -> None:
    console = Console(highlight=False, soft_wrap=True)
    console.print(run.tally.table())
    decided = run.tally.rows - run.earlier
    if run.earlier:
        console.print(f"{run.earlier:,} rows were there from an earlier start (--overwrite decides them anew)")
    console.print(
        f"{decided:,} rows in {run.seconds:.2f} s: {decided / run.seconds:,.0f} rows a second "
        f"({options.workers} process{'es' if options.workers > 1 else ''})"
    )
    if run.tally.anls_rows:
        mean = run.tally.anls_sum / run.tally.anls_rows
        console.print(f"mean ANLS of type doc_text: {mean:.3f} (rows: {run.tally.anls_rows:,})")
    if run.malformed:
        console.print(f"{run.malformed:,} malformed rows have no verdict: see the lines above")
    console.print(f"verdicts in {options.out}", markup=False)


if __name__ == "__main__":
    sys.exit(main())
