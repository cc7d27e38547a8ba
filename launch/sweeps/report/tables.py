"""The tables of a sweep, as rows of text for the terminal, the HTML file and CSV."""

from __future__ import annotations

import csv
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from launch.sweeps.report.load import DEFAULT, RATES, Run
from launch.sweeps.report.statistics import Arm, Difference, Effect, Mean, pareto_front


@dataclass(frozen=True, slots=True)
class TextTable:
    title: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    def only(self, columns: Sequence[str], title: str) -> TextTable:
        """The same rows with some of the columns."""
        places = [self.columns.index(column) for column in columns]
        return TextTable(title, tuple(columns), tuple(tuple(row[i] for i in places) for row in self.rows))


def arm_table(arms: Sequence[Arm], judge: str) -> TextTable:
    """Mean and standard deviation over seeds of every arm; a star marks the Pareto front."""
    judged = sorted({judge for arm in arms for run in arm.runs for judge in run.calls})
    labelled = [arm for arm in arms if arm.mean("trigger") is not None]
    centres = [(_value(arm, "accuracy"), _value(arm, "trigger")) for arm in labelled]
    front = {labelled[i].name for i in pareto_front(centres)}
    rows = []
    for arm in arms:
        accuracy = arm.mean("accuracy")
        cells = [("* " if arm.name in front else "") + arm.name, str(0 if accuracy is None else accuracy.n)]
        cells += [show(arm.mean(figure), 100, 1) for figure in RATES]
        cells.append(show(arm.mean("tokens"), 1, 1))
        cells += [show(arm.mean_calls(judge), 1, 0) for judge in judged]
        cells.append(show(arm.mean_seconds(), 1, 2))
        rows.append(tuple(cells))
    names = ("arm", "seeds", *RATES, "tokens", *(f"calls {judge}" for judge in judged), "s/step")
    title = f"held-out, mean ± standard deviation over seeds, rates in % (labels of {judge}); * Pareto front"
    return TextTable(title, names, tuple(rows))


def difference_table(differences: Sequence[Difference]) -> TextTable:
    """Differences to the first arm in percentage points, and whether seeds alone could make them."""
    rows = []
    for d in differences:
        interval = "" if d.clear is None else f"[{100 * d.low:+.1f}, {100 * d.high:+.1f}]"
        rows.append((d.arm, d.figure, f"{100 * d.value:+.1f}", interval, d.verdict))
    base = differences[0].base if differences else ""
    title = f"differences to {base}, percentage points, 95 % interval over seeds (Welch; each for itself)"
    return TextTable(title, ("arm", "figure", "difference", "interval", "verdict"), tuple(rows))


def effect_table(found: Sequence[Effect]) -> TextTable:
    """Means at each value of each factor, over everything else."""
    names = tuple(name for name in RATES if any(effect.figure == name for effect in found))
    cells = {(e.factor, e.value, e.figure): e.mean for e in found}
    places = list(dict.fromkeys((e.factor, e.value) for e in found))
    rows = tuple((f, v, *(show(cells.get((f, v, name)), 100, 1) for name in names)) for f, v in places)
    return TextTable(
        "effect of each setting, mean ± standard deviation over all else, %", ("setting", "value", *names), rows
    )


def run_table(runs: Sequence[Run], factors: Sequence[str]) -> TextTable:
    """Every run with its figures; rates 0..1, for further work."""
    judged = sorted({judge for run in runs for judge in run.calls})
    rows = tuple(
        (
            run.name,
            *(run.factors.get(factor, DEFAULT) for factor in factors),
            run.seed or "",
            *(_plain(run.figures.get(figure)) for figure in (*RATES, "tokens")),
            *(str(run.calls.get(judge, "")) for judge in judged),
            _plain(run.seconds),
        )
        for run in runs
    )
    columns = ("run", *factors, "seed", *RATES, "tokens", *(f"calls_{judge}" for judge in judged), "seconds")
    return TextTable("runs", columns, rows)


def write_csv(table: TextTable, path: Path) -> None:
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = csv.writer(file)
        writer.writerow(table.columns)
        writer.writerows(table.rows)


def show(mean: Mean | None, scale: float, digits: int) -> str:
    """`51.2 ± 3.1`; without a spread for one seed.

    >>> show(Mean(0.5, 0.031, 0.4, 0.6, 3), 100, 1), show(None, 1, 1)
    ('50.0 ± 3.1', '')
    """
    if mean is None:
        return ""
    text = f"{scale * mean.value:,.{digits}f}"
    return text if mean.n == 1 else f"{text} ± {scale * mean.spread:,.{digits}f}"


def _value(arm: Arm, figure: str) -> float:
    mean = arm.mean(figure)
    assert mean is not None
    return mean.value


def _plain(value: float | None) -> str:
    return "" if value is None else f"{value:.6g}"
