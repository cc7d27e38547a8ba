"""The picture of a run: reward, accuracy, Trigger, labels, length and time over the steps."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.ticker import MaxNLocator

from foundation.labels import LABELS
from foundation.runs.label_metrics import SOURCES

LABEL_COLOURS = dict(zip(LABELS, ("tab:red", "tab:orange", "tab:purple", "tab:brown"), strict=True))
LABEL_NAMES = {"cot": "leaked CoT", "rep": "repetition", "con": "contradiction", "pr": "performative"}


def draw_curves(path: Path, summary: dict[str, Any], steps: Sequence[dict[str, Any]]) -> None:
    """Write a PNG of six panels: training values as lines, held-out values as points with 95 % intervals."""
    train = [row for row in steps if "reward_mix/accuracy" in row]
    figure, panels = plt.subplots(2, 3, figsize=(15, 8), layout="constrained")
    figure.suptitle(f"{summary['run']}: {summary['steps']} GRPO steps")
    reward, accuracy, trigger, labels, length, seconds = panels.flat
    _line(reward, train, "reward_mix/reward/mean", "combined reward", "training", "tab:blue")
    _line(accuracy, train, "reward_mix/accuracy", "accuracy", "training", "tab:blue")
    _points(accuracy, summary["heldout"], lambda figures: figures["accuracy"], "held-out", "black")
    _line(trigger, train, "reward_mix/trigger", "Trigger", "training, right answers (PatternRM)", "tab:red")
    _line(trigger, train, "reward_mix/rules/trigger", None, "training, all answers (rules)", "tab:orange")
    for judge, colour, name in (
        ("oracle", "black", "held-out, toy oracle"),
        ("pattern_rm", "tab:green", "held-out, PatternRM"),
        ("rules", "tab:orange", "held-out, rules"),
    ):
        judged = [figures for figures in summary["heldout"] if judge in figures]
        _points(trigger, judged, lambda figures, judge=judge: figures[judge]["trigger"], name, colour)
    judge, name = next(
        (source for source in SOURCES if any(source[0] in figures for figures in summary["heldout"])), SOURCES[0]
    )
    for label in LABELS:
        judged = [figures for figures in summary["heldout"] if judge in figures]
        _points(
            labels,
            judged,
            lambda figures, label=label: figures[judge][label],
            LABEL_NAMES[label],
            LABEL_COLOURS[label],
            joined=True,
        )
    labels.set_title(f"label rates, held-out ({name})")
    _line(length, train, "reward_mix/n_tokens/mean", "response length (tokens)", "training", "tab:blue")
    _line(seconds, train[1:], "timing_s/step", "seconds a step (without the first)", "whole step", "tab:gray")
    for key, name, colour in (("gen", "generate and score", "tab:blue"), ("update_actor", "update", "tab:orange")):
        _line(seconds, train[1:], f"timing_s/{key}", None, name, colour)
    for panel in (accuracy, trigger, labels):
        panel.set_ylim(0, 1)
    for panel in (reward, length, seconds):
        panel.set_ylim(0, panel.get_ylim()[1] * 1.1)
    for panel in panels.flat:
        panel.set_xlabel("step")
        panel.set_xlim(-0.02 * summary["steps"], 1.02 * summary["steps"])
        panel.xaxis.set_major_locator(MaxNLocator(integer=True))
        panel.grid(alpha=0.3)
        if panel.get_legend_handles_labels()[0]:
            panel.legend(fontsize=8)
    figure.savefig(path, dpi=110)
    plt.close(figure)


def _line(axes: Axes, rows: Sequence[dict[str, Any]], key: str, title: str | None, name: str, colour: str) -> None:
    present = [row for row in rows if key in row]
    if title is not None:
        axes.set_title(title)
    if present:
        axes.plot([row["step"] for row in present], [row[key] for row in present], color=colour, label=name)


def _points(
    axes: Axes, passes: Sequence[dict[str, Any]], value: Any, name: str, colour: str, joined: bool = False
) -> None:
    if not passes:
        return
    rates = [value(figures) for figures in passes]
    spread = [
        [rate["value"] - rate["low"] for rate in rates],
        [rate["high"] - rate["value"] for rate in rates],
    ]
    axes.errorbar(
        [figures["step"] for figures in passes],
        [rate["value"] for rate in rates],
        yerr=spread,
        fmt="o-" if joined else "o",
        color=colour,
        capsize=3,
        label=name,
    )
