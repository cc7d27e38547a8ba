"""Cells, lines and tables of a report, before anybody decides how they look."""

from __future__ import annotations

from dataclasses import dataclass

from foundation.responses.families import MODE_NAMES
from foundation.runs.mode_rates import Row
from foundation.runs.statistics import Difference, Rate

MISSING = "–"


@dataclass(frozen=True, slots=True)
class Cell:
    """`text` as shown; `hint` appears on hover; `mark`: "best", "worst" or empty; `number` sorts a column."""

    text: str
    hint: str = ""
    mark: str = ""
    number: float | None = None


@dataclass(frozen=True, slots=True)
class Line:
    """A row of a table, with what the filters of the page look at."""

    cells: tuple[Cell, ...]
    model: str = ""
    mode: str = ""


@dataclass(frozen=True, slots=True)
class Table:
    name: str
    title: str
    note: str
    columns: tuple[str, ...]
    lines: tuple[Line, ...]


def shown(value: float | None, digits: int = 2) -> str:
    """A number of a table; a dash where there is none."""
    return MISSING if value is None else f"{value:.{digits}f}"


def rate_cell(rate: Rate | None, mark: str = "") -> Cell:
    """A rate with its interval and denominator as the hint."""
    if rate is None or rate.value is None:
        return Cell(MISSING, "" if rate is None or rate.n is None else "no response with this decision")
    hint = ""
    if rate.low is not None and rate.high is not None:
        hint = f"{rate.k:,} of {rate.n:,}; 95 % interval {rate.low:.2f} to {rate.high:.2f}"
    return Cell(shown(rate.value), hint, mark, rate.value)


def difference_cell(difference: Difference) -> Cell:
    if difference.value is None:
        return Cell(MISSING)
    hint = "" if difference.n is None else f"over {difference.n:,} prompts that both modes decided"
    return Cell(f"{difference.value:+.2f}", hint, number=difference.value)


def text_cell(value: str) -> Cell:
    return Cell(value)


def number_cell(value: float | None, digits: int = 2) -> Cell:
    return Cell(shown(value, digits), number=value)


def count_cell(value: int) -> Cell:
    return Cell(f"{value:,}", number=value)


def interval_cell(rate: Rate | None) -> Cell:
    if rate is None or rate.value is None:
        return Cell(MISSING)
    if rate.low is None or rate.high is None:
        return number_cell(rate.value)
    return Cell(f"{rate.value:.1f} [{rate.low:.1f}, {rate.high:.1f}]", number=rate.value)


def head_cells(row: Row) -> tuple[Cell, Cell]:
    name = row.model if row.source == "measured" else f"{row.model} ({row.source})"
    return text_cell(name), text_cell(MODE_NAMES[row.mode])
