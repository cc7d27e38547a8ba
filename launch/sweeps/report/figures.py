"""The pictures of a sweep: accuracy against Trigger, the effect of each factor, calls and time."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from foundation.labels import TABLE
from launch.sweeps.report.load import RATES, SweepRuns
from launch.sweeps.report.statistics import Arm, Effect, pareto_front

COLOURS = plt.get_cmap("tab10")
TITLES = {"trigger": "Trigger", **{row.key: row.title for row in TABLE}}
DPI = 110
MANY = 12
"""Arms that a legend still names one by one."""


def draw_all(sweep: SweepRuns, arms: Sequence[Arm], found: Sequence[Effect], folder: Path) -> list[Path]:
    """Write the pictures that the runs allow; returns their paths."""
    drawn = []
    labelled = [arm for arm in arms if arm.mean("trigger") is not None]
    if labelled:
        drawn.append(_save(draw_pareto(labelled, sweep), folder / "pareto.png"))
    if found:
        drawn.append(_save(draw_effects(found), folder / "effects.png"))
    drawn.append(_save(draw_cost(arms), folder / "cost.png"))
    return drawn


def draw_pareto(arms: Sequence[Arm], sweep: SweepRuns) -> Figure:
    """One cross an arm (mean and standard deviation over seeds), a dot a run, the front as a line."""
    figure, axes = plt.subplots(figsize=(8, 6), layout="constrained")
    means = [(arm.mean("accuracy"), arm.mean("trigger")) for arm in arms]
    centres = [(a.value, t.value) for a, t in means if a is not None and t is not None]
    for i, (arm, (accuracy, trigger)) in enumerate(zip(arms, means, strict=True)):
        assert accuracy is not None and trigger is not None
        colour = COLOURS(i % 10)
        axes.scatter(
            [100 * run.figures["trigger"] for run in arm.runs],
            [100 * run.figures["accuracy"] for run in arm.runs],
            color=colour,
            alpha=0.4,
            s=18,
        )
        several = accuracy.n > 1
        axes.errorbar(
            100 * trigger.value,
            100 * accuracy.value,
            xerr=100 * trigger.spread if several else None,
            yerr=100 * accuracy.spread if several else None,
            fmt="o",
            color=colour,
            capsize=3,
            label=f"{arm.name} (n={accuracy.n})",
        )
    front = sorted((centres[i] for i in pareto_front(centres)), key=lambda point: point[1])
    if len(front) > 1:
        axes.plot(
            [100 * t for _, t in front], [100 * a for a, _ in front], color="black", lw=1, ls="--", label="Pareto front"
        )
    _draw_start(axes, arms)
    axes.set_xlabel(f"Trigger, held-out, % (labels of {sweep.judge}); lower is better")
    axes.set_ylabel("accuracy, held-out, %; higher is better")
    axes.set_title(f"{sweep.sweep}: mean and standard deviation over seeds")
    axes.grid(alpha=0.3)
    axes.legend(fontsize=8 if len(arms) <= MANY else 6)
    return figure


def _draw_start(axes: Axes, arms: Sequence[Arm]) -> None:
    starts = [run.start for arm in arms for run in arm.runs if "trigger" in run.start]
    if starts:
        axes.scatter(
            [100 * start["trigger"] for start in starts],
            [100 * start["accuracy"] for start in starts],
            marker="x",
            color="gray",
            label="before training",
        )


def draw_effects(found: Sequence[Effect]) -> Figure:
    """A row a factor, a column a figure: means over everything else, with the standard deviation."""
    factors = list(dict.fromkeys(effect.factor for effect in found))
    names = [name for name in RATES if any(effect.figure == name for effect in found)]
    figure, grid = plt.subplots(
        len(factors),
        len(names),
        figsize=(2.6 * len(names), 2.6 * len(factors)),
        squeeze=False,
        sharey="col",
        layout="constrained",
    )
    for row, factor in enumerate(factors):
        for column, name in enumerate(names):
            axes = grid[row][column]
            chosen = [effect for effect in found if (effect.factor, effect.figure) == (factor, name)]
            axes.errorbar(
                range(len(chosen)),
                [100 * effect.mean.value for effect in chosen],
                yerr=[100 * effect.mean.spread if effect.mean.n > 1 else 0.0 for effect in chosen],
                fmt="o-",
                capsize=3,
                color="tab:blue",
            )
            axes.set_xticks(range(len(chosen)), [effect.value for effect in chosen], fontsize=7)
            axes.margins(x=0.2)
            axes.grid(alpha=0.3)
            if row == 0:
                axes.set_title(f"{TITLES.get(name, name)}, %", fontsize=9)
            if column == 0:
                axes.set_ylabel(factor.replace("reward_mix.", ""), fontsize=8)
    return figure


def draw_cost(arms: Sequence[Arm]) -> Figure:
    """Questions to the judges in training, and seconds a step, of each arm."""
    figure, (calls, seconds) = plt.subplots(
        1, 2, figsize=(11, 1.5 + 0.4 * len(arms)), sharey=True, layout="constrained"
    )
    places = range(len(arms))
    judges = sorted({judge for arm in arms for run in arm.runs for judge in run.calls})
    height = 0.8 / max(1, len(judges))
    for i, judge in enumerate(judges):
        means = [arm.mean_calls(judge) for arm in arms]
        calls.barh(
            [place + (i - (len(judges) - 1) / 2) * height for place in places],
            [0 if mean is None else mean.value for mean in means],
            height=height,
            label=judge,
        )
    times = [arm.mean_seconds() for arm in arms]
    seconds.barh(places, [0 if mean is None else mean.value for mean in times], color="tab:gray", height=0.6)
    calls.set_yticks(places, [arm.name for arm in arms], fontsize=8)
    calls.invert_yaxis()
    calls.set_xlabel("rollouts that a judge was asked for, training")
    seconds.set_xlabel("seconds a step")
    if judges:
        calls.legend(fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0), ncols=len(judges))
    for axes in (calls, seconds):
        axes.grid(alpha=0.3, axis="x")
    return figure


def _save(figure: Figure, path: Path) -> Path:
    figure.savefig(path, dpi=DPI)
    plt.close(figure)
    return path
