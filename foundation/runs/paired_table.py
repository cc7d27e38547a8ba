"""The paired evaluations of a run in its summary: the first and the last one, both modes, and their differences."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from rich.table import Table

from foundation.responses.families import MODE_NAMES, MODES
from foundation.runs.paired_figures import METRIC_NAMES, paired_figures
from foundation.runs.scored_rollout import ScoredRollout

ROWS = {"acc": "accuracy", "trigger": "Trigger", **{m: f"  {m}" for m in METRIC_NAMES if m not in ("acc", "trigger")}}


def paired_steps(records: Sequence[ScoredRollout], seed: int) -> list[dict[str, Any]]:
    """The figures of every evaluated step, in order, for `summary.json`.

    Args:
        records: of `records/pattern_eval.jsonl`, the last attempt of each step.
        seed: of the bootstrap.
    """
    steps = sorted({record.step for record in records})
    return [paired_figures([r for r in records if r.step == step], seed).as_dict() for step in steps]


def paired_table(first: Mapping[str, Any], last: Mapping[str, Any]) -> Table:
    """Two steps of `paired_steps` side by side."""
    table = Table(title="PatternEval, rates in % and differences in points with 95 % intervals")
    for column in ("", "mode", f"step {first['step']}", f"step {last['step']}", "change"):
        table.add_column(column, justify="left" if column in ("", "mode") else "right")
    for mode in (mode for mode in MODES if mode in first["modes"] and mode in last["modes"]):
        before, after = first["modes"][mode], last["modes"][mode]
        for measure, name in ROWS.items():
            cells = _cells(before["rates"][measure], after["rates"][measure])
            if cells is not None:
                table.add_row(name, MODE_NAMES[mode], *cells)
        table.add_row(
            "tokens",
            MODE_NAMES[mode],
            f"{before['tokens']:.1f}",
            f"{after['tokens']:.1f}",
            f"{after['tokens'] - before['tokens']:+.1f}",
        )
    for key, name in (("delta_acc", "ΔAcc"), ("delta_pat", "ΔPat")):
        cells = _cells(first[key], last[key], sign="+")
        if cells is not None:
            table.add_row(name, "", *cells)
    return table


def _cells(
    before: Mapping[str, Any] | None, after: Mapping[str, Any] | None, sign: str = ""
) -> tuple[str, str, str] | None:
    """Two figures and their difference; None where one of them has no denominator."""
    if before is None or after is None or before["value"] is None or after["value"] is None:
        return None

    def shown(figure: Mapping[str, Any]) -> str:
        text = f"{figure['value']:{sign}.1f}"
        return text if figure["low"] is None else f"{text} [{figure['low']:{sign}.1f}, {figure['high']:{sign}.1f}]"

    return shown(before), shown(after), f"{after['value'] - before['value']:+.1f}"
