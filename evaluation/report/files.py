"""Writes a report: page.html, figures/*.png, results.json, rows.csv, responses.csv."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import asdict
from io import StringIO
from pathlib import Path
from typing import Any

from evaluation.report.content import CONDITIONAL, Report
from evaluation.report.figures import draw_all
from evaluation.report.page import render_page
from foundation.labels import LABELS
from foundation.runs.evaluation_records import Response
from foundation.runs.mode_rates import Row
from foundation.runs.run_folder import write_whole

PAGE = "page.html"


def write_report(report: Report, folder: Path, *, examples_per_label: int, text_budget_mb: float) -> Path:
    """Write all files of a report into a folder; returns the page.

    An earlier report in the folder is replaced file by file, each of them whole.
    """
    folder.mkdir(parents=True, exist_ok=True)
    figures = draw_all(report, folder / "figures")
    _write(folder / "results.json", json.dumps(results(report), indent=1, ensure_ascii=False) + "\n")
    _write(folder / "rows.csv", _rows_csv(report))
    if report.responses:
        _write(folder / "responses.csv", _responses_csv(report.responses))
    page = render_page(report, figures, examples_per_label=examples_per_label, text_budget_mb=text_budget_mb)
    _write(folder / PAGE, page)
    return folder / PAGE


def results(report: Report) -> dict[str, Any]:
    """All figures as plain data; rates in per cent with interval and denominator, missing cells null."""
    return {
        "label": CONDITIONAL,
        "title": report.title,
        "facts": dict(report.facts),
        "notices": list(report.notices),
        "rows": [asdict(row) for row in report.rows],
        "pairs": [asdict(pair) for pair in report.pairs],
        "aggregates": asdict(report.aggregates),
        "lengths": None if report.lengths is None else asdict(report.lengths),
        "agreement": None if report.agreement is None else asdict(report.agreement),
        "truth": [asdict(judged) for judged in report.truth],
        "corrected": [asdict(entry) for entry in report.corrected],
    }


def _rows_csv(report: Report) -> str:
    """One line a rate: model, mode, source, kind (measure, family, category), name, value, interval, k, n."""
    lines: list[Sequence[Any]] = []
    for row in report.rows:
        for kind, rates in _kinds(row):
            for name, rate in rates.items():
                lines.append(
                    (row.model, row.mode, row.source, kind, name, rate.value, rate.low, rate.high, rate.k, rate.n)
                )
    header = ("model", "mode", "source", "kind", "name", "value", "low", "high", "k", "n")
    return _csv(header, lines)


def _kinds(row: Row) -> tuple[tuple[str, Any], ...]:
    return ("measure", row.rates), ("family", row.families), ("category", row.categories)


def _responses_csv(responses: Sequence[Response]) -> str:
    header = (
        *("model", "mode", "prompt_id", "family", "category", "outcome", "finish_reason", "flags"),
        *("correct", "correct_by", *LABELS, "label_reason", "n_tokens", "n_chars", "question", "reference", "visible"),
    )
    lines = (
        (
            *(r.model, r.mode, r.prompt_id, r.family, r.category, r.outcome, r.finish_reason, " ".join(r.flags)),
            *(r.correct, r.correct_by),
            *(None if r.labels is None else int(r.labels[label]) for label in LABELS),
            *(r.label_reason, r.n_tokens, r.n_chars, _literal(r.question), _literal(r.reference), _literal(r.visible)),
        )
        for r in responses
    )
    return _csv(header, lines)


def _literal(text: str) -> str:
    """Text that a spreadsheet shows instead of calculating: model output may begin like a formula."""
    return f"'{text}" if text[:1] in "=+-@\t\r" and text else text


def _csv(header: Sequence[str], lines: Iterable[Sequence[Any]]) -> str:
    out = StringIO()
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(header)
    writer.writerows(lines)
    return out.getvalue()


def _write(path: Path, text: str) -> None:
    """Half a surrogate pair, which UTF-8 cannot hold, becomes a question mark."""
    write_whole(path, text.encode(errors="replace"))
