"""The tables of a report as text cells, in the order of the page (paper, Tables 3 and 7)."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from evaluation.report import judge_tables
from evaluation.report.cells import (
    MISSING,
    Cell,
    Line,
    Table,
    count_cell,
    difference_cell,
    head_cells,
    number_cell,
    rate_cell,
    text_cell,
)
from evaluation.report.content import MEASURE_NAMES, Report
from foundation.runs.mode_rates import MEASURES, Row, extremes
from foundation.runs.statistics import Difference, Rate


def all_tables(report: Report) -> list[Table]:
    """Every table for which the report has something."""
    makers = (
        _main,
        _differences,
        _categories,
        _denominators,
        judge_tables.corrected,
        judge_tables.truth,
        judge_tables.agreement,
        judge_tables.aggregates,
        judge_tables.policies,
        judge_tables.benchmarks,
    )
    return [table for maker in makers if (table := maker(report)) is not None and table.lines]


def _marked(rows: Sequence[Row], row: Row, pick: Callable[[Row], Rate | None], higher_is_better: bool) -> Cell:
    def value(candidate: Row) -> float | None:
        rate = pick(candidate)
        return None if rate is None else rate.value

    found = extremes(rows, value, higher_is_better).get(row.mode)
    mark = ""
    if found is not None and value(row) is not None:
        mark = {found[0]: "best", found[1]: "worst"}.get(value(row) or 0.0, "")
    return rate_cell(pick(row), mark)


def _measure(name: str) -> Callable[[Row], Rate | None]:
    return lambda row: row.rates.get(name)


def _family(name: str) -> Callable[[Row], Rate | None]:
    return lambda row: row.families.get(name)


def _category(name: str) -> Callable[[Row], Rate | None]:
    return lambda row: row.categories.get(name)


def _main(report: Report) -> Table:
    families = list(report.taxonomy)
    differences = {(pair.model, pair.source): pair for pair in report.pairs}
    lines = []
    for row in report.rows:
        pair = differences.get((row.model, row.source))
        gaps = (difference_cell(pair.d_acc), difference_cell(pair.d_pat)) if pair else (Cell(MISSING), Cell(MISSING))
        rates = [
            _marked(report.rows, row, _measure(measure), higher_is_better=measure == "acc") for measure in MEASURES
        ]
        by_family = [_marked(report.rows, row, _family(family), higher_is_better=False) for family in families]
        lines.append(Line((*head_cells(row), *gaps, *rates, *by_family), row.model, row.mode))
    return Table(
        "main",
        "Accuracy and response patterns",
        "Per cent. ΔAcc = Acc(thinking) - Acc(non-thinking); ΔPat = Trigger(non-thinking) - Trigger(thinking). "
        "Trigger: one pattern at least. Family columns are Trigger. Best and worst of each mode are marked; hover for "
        "interval and denominator.",
        ("Model", "Mode", "ΔAcc", "ΔPat", *(MEASURE_NAMES[m] for m in MEASURES), *families),
        tuple(lines),
    )


def _differences(report: Report) -> Table:
    lines = []
    for pair in report.pairs:
        if pair.d_pat.n is None and pair.d_acc.n is None:
            continue  # published: no interval, no test
        cells = [text_cell(pair.model)]
        for difference in (pair.d_acc, pair.d_pat):
            cells += [difference_cell(difference), _interval(difference), _p(difference), count_cell(difference.n or 0)]
        cells.append(number_cell(None if pair.d_pat.value is None else abs(pair.d_pat.value)))
        lines.append(Line(tuple(cells), pair.model))
    columns = ("95 % interval", "McNemar p", "pairs")
    return Table(
        "differences",
        "Paired differences",
        "Points, over prompts that both modes decided. Intervals: percentile bootstrap over prompts. p: McNemar's "
        "exact test.",
        ("Model", "ΔAcc", *columns, "ΔPat", *columns, "|ΔPat|"),
        tuple(lines),
    )


def _interval(difference: Difference) -> Cell:
    if difference.low is None or difference.high is None:
        return Cell(MISSING)
    return Cell(f"{difference.low:+.2f} to {difference.high:+.2f}")


def _p(difference: Difference) -> Cell:
    if difference.p_value is None:
        return Cell(MISSING)
    text = "< 0.0001" if difference.p_value < 1e-4 else f"{difference.p_value:.4f}"
    return Cell(text, number=difference.p_value)


def _categories(report: Report) -> Table:
    categories = {c: title for family in report.taxonomy.values() for c, title in family.items()}
    lines = [
        Line(
            (
                *head_cells(row),
                *(_marked(report.rows, row, _category(c), higher_is_better=False) for c in categories),
            ),
            row.model,
            row.mode,
        )
        for row in report.rows
    ]
    return Table(
        "categories",
        "Trigger by category",
        "Per cent of the responses of a category with one pattern at least.",
        ("Model", "Mode", *categories.values()),
        tuple(lines),
    )


def _denominators(report: Report) -> Table:
    names = {
        "asked": "asked",
        "answered": "answered",
        "empty": "nothing visible",
        "failed": "failed",
        "truncated": "cut at the limit",
        "without_verdict": "no verdict",
        "without_labels": "no labels",
    }
    lines = []
    for row in report.rows:
        if row.counts:
            flags = ", ".join(f"{name} {n:,}" for name, n in row.flags.items()) or MISSING
            cells = (*head_cells(row), *(count_cell(row.counts[key]) for key in names), text_cell(flags))
            lines.append(Line(cells, row.model, row.mode))
    return Table(
        "denominators",
        "Denominators",
        "Responses. What failed, showed nothing or could not be judged is in no rate; it is counted here.",
        ("Model", "Mode", *names.values(), "flags of the channel splitter"),
        tuple(lines),
    )
