"""The report on a terminal: the main table, the notices, and where the files are."""

from __future__ import annotations

from pathlib import Path

from rich.console import Console
from rich.table import Table

from evaluation.report.content import CONDITIONAL, Report
from evaluation.report.tables import all_tables

SHOWN = ("main", "differences", "denominators", "truth", "corrected", "aggregates")
LONGEST = 20
"""Rows of a table that a terminal shows."""


def print_report(console: Console, report: Report, page: Path) -> None:
    """Print the tables of a run."""
    console.print(f"\n{report.title}\n{CONDITIONAL}", markup=False)
    for table in all_tables(report):
        if table.name not in SHOWN:
            continue
        # What a correction is worth must stand beside it here too.
        shown = Table(title=table.title, caption=table.note if table.name == "corrected" else None)
        for i, column in enumerate(table.columns):
            shown.add_column(column, justify="left" if i == 0 else "right")
        for line in table.lines[:LONGEST]:
            shown.add_row(*(cell.text for cell in line.cells))
        console.print(shown)
        if len(table.lines) > LONGEST:
            console.print(f"... and {len(table.lines) - LONGEST} more rows on the page")
    for notice in report.notices:
        console.print(f"notice: {notice}", markup=False)
    console.print(f"page     {page}\ndata     {page.with_name('results.json')}\nfigures  {page.parent / 'figures'}")
