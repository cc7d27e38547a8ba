"""What a sweep showed: tables on the terminal, CSV, pictures and one HTML file in SWEEP_DIR/report/.

    python -m launch.sweep_report outputs/my_sweep [--runs COPY_OF_THE_RUN_FOLDERS]

Says of each difference whether it is larger than what seeds alone make.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.table import Table

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import EXIT_WRONG_INPUT, FILE_WIDTH
from launch.sweeps.manifest import FILE, Manifest
from launch.sweeps.report.html import write_html
from launch.sweeps.report.load import RATES, SweepRuns, load_sweep
from launch.sweeps.report.statistics import Arm, Difference, arms_of, difference, effects
from launch.sweeps.report.tables import TextTable, arm_table, difference_table, effect_table, run_table, write_csv


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m launch.sweep_report", description="Report of a sweep.")
    parser.add_argument("sweep_dir", type=Path, help="folder of a sweep: it holds manifest.json")
    parser.add_argument("--runs", type=Path, help="where the run folders lie, if not where they were written")
    parsed = parser.parse_args(sys.argv[1:] if arguments is None else list(arguments))
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    try:
        sweep = load_sweep(Manifest.read(parsed.sweep_dir / FILE), parsed.runs)
        if not sweep.runs:
            raise ConfigError([f"{parsed.sweep_dir}: no point has a result yet", *sweep.left_out])
    except ConfigError as error:
        for problem in error.problems:
            print(f"error: {problem}", file=sys.stderr)
        return EXIT_WRONG_INPUT
    write_report(sweep, parsed.sweep_dir / "report", console)
    return 0


def write_report(sweep: SweepRuns, folder: Path, console: Console) -> None:
    """Print the tables and write every file of the report."""
    from launch.sweeps.report.figures import draw_all

    folder.mkdir(parents=True, exist_ok=True)
    arms = arms_of(sweep.runs, sweep.factors)
    found = effects(sweep.runs, sweep.factors, RATES)
    differences = [d for arm in arms[1:] for name in RATES if (d := difference(arm, arms[0], name)) is not None]
    whole = arm_table(arms, sweep.judge)
    printed = rates_and_cost(whole)
    tables = [*printed]
    if differences:
        tables.append(difference_table(differences))
    if found:
        tables.append(effect_table(found))
    runs = run_table(sweep.runs, list(sweep.factors))
    for table, name in ((runs, "runs.csv"), (whole, "arms.csv")):
        write_csv(table, folder / name)
    sentences = summary_lines(arms, differences)
    for table in printed:
        console.print(as_rich(table))
    for line in (*sentences, *(f"left out: {line}" for line in sweep.left_out)):
        console.print(line, markup=False)
    pictures = draw_all(sweep, arms, found, folder)
    write_html(folder / "report.html", sweep, len(arms), sentences, [*tables, runs], pictures)
    console.print(f"\nreport  {folder / 'report.html'}", markup=False)


def summary_lines(arms: Sequence[Arm], differences: Sequence[Difference]) -> list[str]:
    """What can be said of accuracy and Trigger, a sentence an arm."""
    if not differences:
        return ["One arm: nothing to compare."]
    lines = []
    for arm in arms[1:]:
        told = [
            f"{d.figure} {100 * d.value:+.1f} points ({d.verdict})"
            for d in differences
            if d.arm == arm.name and d.figure in ("accuracy", "trigger")
        ]
        lines.append(f"{arm.name} against {arms[0].name}: {', '.join(told)}.")
    return lines


def rates_and_cost(arms: TextTable) -> tuple[TextTable, TextTable]:
    """The table of the arms in two: all columns in a row would leave no room for the arms' names."""
    rates = ("arm", "seeds", *RATES)
    cost = ("arm", *(column for column in arms.columns if column not in rates))
    title = "tokens of a held-out rollout; training rollouts that a judge was asked for"
    return arms.only(rates, arms.title), arms.only(cost, title)


def as_rich(table: TextTable) -> Table:
    """The first column gives way where the terminal is narrow, the numbers do not."""
    shown = Table(title=table.title, title_justify="left")
    for i, column in enumerate(table.columns):
        shown.add_column(column, justify="left" if i == 0 else "right", no_wrap=i > 0, overflow="fold")
    for row in table.rows:
        shown.add_row(*row)
    return shown


if __name__ == "__main__":
    sys.exit(main())
