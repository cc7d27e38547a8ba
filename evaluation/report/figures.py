"""The figures of a report as PNG files: gap bars, composition, series, radar, lengths (Figures 1, 3 to 6)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from evaluation.pattern_eval.lengths import LengthPoint, LengthRelation
from evaluation.report.content import Report
from foundation.responses.families import MODE_NAMES, MODES, Mode
from foundation.runs.mode_rates import Row
from foundation.runs.statistics import Rate

MODE_COLOURS: dict[Mode, str] = {"nt": "#d95f02", "t": "#1b6ca8"}
FAMILY_COLOURS = ("#4c78a8", "#f2a33a", "#54a24b", "#b279a2", "#9d755d", "#72b7b2")
MAX_POLYGONS = 8
MAX_NAMED_POINTS = 10
_DPI = 120


def draw_all(report: Report, folder: Path) -> list[tuple[Path, str]]:
    """Draw what the results allow; returns (file, caption) in the order of the page."""
    folder.mkdir(parents=True, exist_ok=True)
    drawn: list[tuple[Path, str]] = []

    def draw(name: str, caption: str, figure: Figure | None) -> None:
        if figure is not None:
            path = folder / f"{name}.png"
            # Without the version of the library in its metadata the same results make the same file.
            figure.savefig(path, dpi=_DPI, metadata={"Software": None})
            plt.close(figure)
            drawn.append((path, caption))

    draw("trigger_bars", "Trigger of both modes; the gap in points stands beside each pair.", trigger_bars(report))
    draw("composition", "Prompts by family and category.", composition(report))
    for number, (name, models) in enumerate(report.series.items()):
        caption = f"{name}: accuracy and Trigger of both modes, with the gap between the modes in points."
        draw(f"series_{number}", caption, series(name, models, report.rows))
    draw("radar", "Trigger in non-thinking mode by category, one polygon a model.", radar(report))
    if report.lengths is not None and report.lengths.points:
        draw("length_points", _points_caption(report.lengths), length_points(report.lengths))
        draw("length_bins", _bins_caption(report.lengths), length_bins(report.lengths))
    return drawn


def trigger_bars(report: Report) -> Figure | None:
    """Figure 1a: Trigger of both modes for each flagship, models with the widest gap first."""
    rows = {(row.model, row.mode): row for row in report.rows if _value(row.rates["trigger"]) is not None}
    models = [m for m in dict.fromkeys(row.model for row in report.rows) if any((m, mode) in rows for mode in MODES)]
    chosen = [model for model in models if model in report.flagships] or models
    if not chosen:
        return None
    gaps = {pair.model: pair.d_pat.value for pair in report.pairs if pair.d_pat.value is not None}
    chosen.sort(key=lambda model: -gaps.get(model, -math.inf))
    figure, axes = plt.subplots(figsize=(8.5, 1.2 + 0.42 * len(chosen)), layout="constrained")
    for offset, mode in zip((-0.19, 0.19), MODES, strict=True):
        at = [(i + offset, rows[model, mode]) for i, model in enumerate(chosen) if (model, mode) in rows]
        rates = [row.rates["trigger"] for _, row in at]
        axes.barh(
            [y for y, _ in at],
            [_shown(rate) for rate in rates],
            height=0.36,
            color=MODE_COLOURS[mode],
            label=MODE_NAMES[mode],
            xerr=_errors(rates),
            error_kw={"elinewidth": 0.9, "ecolor": "#333333", "capsize": 2},
        )
    reach = max(_top(rows[key].rates["trigger"]) for key in rows if key[0] in chosen)
    for i, model in enumerate(chosen):
        gap = gaps.get(model)
        if gap is not None:
            top = max(_top(rows[model, mode].rates["trigger"]) for mode in MODES if (model, mode) in rows)
            axes.text(top + 0.015 * reach, i, f"{gap:+.1f}", va="center", fontsize=9, color="#333333")
    axes.set_yticks(range(len(chosen)), chosen)
    axes.invert_yaxis()
    axes.set_xlim(0, min(112.0, 1.14 * reach) or 1)
    axes.set_xlabel("Trigger (%)")
    _finish(axes, grid="x")
    axes.legend(loc="lower right", bbox_to_anchor=(1, 1), ncols=2, frameon=False)
    return figure


def composition(report: Report) -> Figure | None:
    """Figure 1b: how many prompts each family and category has."""
    entries = [
        (family, report.taxonomy.get(family, {}).get(category, category), n)
        for family, categories in report.composition.items()
        for category, n in categories.items()
    ]
    if not entries:
        return None
    total = sum(n for _, _, n in entries)
    families = list(report.composition)
    colours = {family: FAMILY_COLOURS[i % len(FAMILY_COLOURS)] for i, family in enumerate(families)}
    figure, axes = plt.subplots(figsize=(8.5, 1.0 + 0.34 * len(entries)), layout="constrained")
    axes.barh(
        range(len(entries)),
        [n for _, _, n in entries],
        color=[colours[family] for family, _, _ in entries],
        height=0.7,
    )
    widest = max(n for _, _, n in entries)
    for i, (_, _, n) in enumerate(entries):
        axes.text(n + 0.01 * widest, i, f"{n:,}  ({100 * n / total:.1f} %)", va="center", fontsize=9)
    axes.set_yticks(range(len(entries)), [title for _, title, _ in entries])
    axes.invert_yaxis()
    axes.set_xlim(0, 1.22 * widest)
    axes.set_xlabel(f"prompts (of {total:,})")
    handles = [plt.Rectangle((0, 0), 1, 1, color=colours[family]) for family in families]
    sums = {family: sum(report.composition[family].values()) for family in families}
    axes.legend(handles, [f"{f}  {sums[f]:,}" for f in families], loc="lower right", frameon=False)
    _finish(axes, grid="x")
    return figure


def series(name: str, models: Sequence[str], rows: Sequence[Row]) -> Figure | None:
    """Figure 3: accuracy and Trigger along a series of sizes or training steps; None with fewer than two of them."""
    by_key = {(row.model, row.mode): row for row in rows}
    present = [model for model in models if any((model, mode) in by_key for mode in MODES)]
    if len(present) < 2:
        return None
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
    for axes, measure, title in ((panels[0], "acc", "Acc (%)"), (panels[1], "trigger", "Trigger (%)")):
        for mode in MODES:
            at = [(i, by_key[m, mode].rates[measure]) for i, m in enumerate(present) if (m, mode) in by_key]
            known = [(i, rate) for i, rate in at if rate.value is not None]
            if known:
                axes.errorbar(
                    [i for i, _ in known],
                    [_shown(rate) for _, rate in known],
                    yerr=_errors([rate for _, rate in known]),
                    fmt="o-",
                    capsize=3,
                    color=MODE_COLOURS[mode],
                    label=MODE_NAMES[mode],
                )
        for i, model in enumerate(present):
            values = [by_key[model, mode].rates[measure].value if (model, mode) in by_key else None for mode in MODES]
            nt, t = values
            if nt is not None and t is not None:
                axes.plot([i, i], [nt, t], color="#999999", linewidth=0.8, linestyle=":", zorder=0)
                shown = t - nt if measure == "acc" else nt - t
                axes.annotate(f"{shown:+.1f}", (i, (nt + t) / 2), xytext=(5, 0), textcoords="offset points", fontsize=8)
        axes.set_xticks(range(len(present)), present, rotation=25, ha="right")
        axes.set_ylim(0, max(10.0, axes.get_ylim()[1] * 1.05))
        axes.margins(x=0.08)
        axes.set_title(title)
        _finish(axes, grid="y")
    if panels[0].get_legend_handles_labels()[0]:
        panels[0].legend(frameon=False)
    figure.suptitle(name)
    return figure


def radar(report: Report) -> Figure | None:
    """Figure 4: non-thinking Trigger by category; None with fewer than three categories."""
    categories = [(c, title) for family in report.taxonomy.values() for c, title in family.items()]
    rows = [
        r for r in report.rows if r.mode == "nt" and all(_value(r.categories.get(c)) is not None for c, _ in categories)
    ]
    chosen = [row for row in rows if row.model in report.flagships] or rows
    if len(categories) < 3 or not chosen:
        return None
    left_out = len(chosen) - MAX_POLYGONS
    chosen = chosen[:MAX_POLYGONS]
    angles = [2 * math.pi * i / len(categories) for i in range(len(categories))]
    figure = plt.figure(figsize=(10, 6))
    axes = figure.add_axes((0.12, 0.1, 0.5, 0.8), projection="polar")
    axes.set_theta_offset(math.pi / 2)
    axes.set_theta_direction(-1)
    palette = plt.get_cmap("tab10")
    for i, row in enumerate(chosen):
        values = [_shown(row.categories[c]) for c, _ in categories]
        axes.plot([*angles, angles[0]], [*values, values[0]], color=palette(i), linewidth=1.7, label=row.model)
        axes.fill([*angles, angles[0]], [*values, values[0]], color=palette(i), alpha=0.03)
    axes.set_xticks(angles, [title for _, title in categories], fontsize=9)
    for angle, text in zip(angles, axes.get_xticklabels(), strict=True):
        text.set_horizontalalignment("center" if math.isclose(math.sin(angle), 0, abs_tol=0.1) else _side(angle))
    axes.set_ylim(0, None)
    axes.set_rlabel_position(180 / len(categories))
    axes.tick_params(axis="y", labelsize=8, labelcolor="#666666")
    axes.tick_params(axis="x", pad=4)
    axes.spines["polar"].set_color("#cccccc")
    axes.grid(color="#dddddd")
    title = f"{left_out} further models not drawn" if left_out > 0 else None
    figure.legend(
        loc="upper left", bbox_to_anchor=(0.74, 0.92), frameon=False, fontsize=9, title=title, title_fontsize=9
    )
    return figure


def length_points(relation: LengthRelation) -> Figure:
    """Figure 5: mean length against Trigger; right and wrong answers of a model are joined."""
    figure, panels = plt.subplots(1, 2, figsize=(11, 4.6), layout="constrained", sharey=True)
    for axes, mode in zip(panels, MODES, strict=True):
        points = [p for p in relation.points if p.mode == mode and p.trigger.value is not None]
        for model in dict.fromkeys(p.model for p in points):
            mine = [p for p in points if p.model == model]
            axes.plot([p.mean_length for p in mine], [_shown(p.trigger) for p in mine], color="#bbbbbb", linewidth=1)
        for correct, marker in ((True, "o"), (False, "X")):
            group = [p for p in points if p.correct == correct]
            _scatter(axes, group, MODE_COLOURS[mode], marker, "correct" if correct else "incorrect")
        if len({p.model for p in points}) <= MAX_NAMED_POINTS:
            for p in points:
                axes.annotate(
                    p.model, (p.mean_length, _shown(p.trigger)), xytext=(6, 4), textcoords="offset points", fontsize=8
                )
        r = relation.r[mode]
        axes.set_title(f"{MODE_NAMES[mode]}" + (f", Pearson r = {r:.2f}" if r is not None else ""))
        axes.set_xlabel(f"mean length ({relation.unit})")
        axes.margins(0.15)
        _finish(axes, grid="both")
        if points:
            axes.legend(frameon=False)
    panels[0].set_ylabel("Trigger (%)")
    panels[0].set_ylim(bottom=min(0.0, panels[0].get_ylim()[0]))
    return figure


def length_bins(relation: LengthRelation) -> Figure:
    """Figure 6: Trigger by length bin for the four groups of mode and correctness."""
    figure, axes = plt.subplots(figsize=(8.5, 4.6), layout="constrained")
    groups = [(mode, correct) for mode in MODES for correct in (False, True)]
    for number, (mode, correct) in enumerate(groups):
        aside = 0.06 * (number - (len(groups) - 1) / 2)  # so that intervals do not cover each other
        bins = [b for b in relation.bins if b.mode == mode and b.correct == correct]
        if bins:
            axes.errorbar(
                [b.index + 1 + aside for b in bins],
                [_shown(b.trigger) for b in bins],
                yerr=_errors([b.trigger for b in bins]),
                fmt="o--" if correct else "X-",
                capsize=3,
                color=MODE_COLOURS[mode],
                alpha=0.9,
                label=f"{'correct' if correct else 'incorrect'}, {MODE_NAMES[mode]}",
            )
    last = max((b.index for b in relation.bins), default=0) + 1
    axes.set_xticks(range(1, last + 1))
    axes.set_xlabel(f"length bin, shortest to longest ({relation.unit})")
    axes.set_ylabel("Trigger (%)")
    axes.set_ylim(0, 100)
    _finish(axes, grid="y")
    axes.legend(frameon=False)
    return figure


def _points_caption(relation: LengthRelation) -> str:
    return (
        f"Length and Trigger of each model's right and wrong answers (length in {relation.unit}; means over "
        "responses). r is taken over the points of a mode."
    )


def _bins_caption(relation: LengthRelation) -> str:
    pooled = "all responses together" if relation.pooling == "all" else "each group by itself"
    return f"Trigger by length bin; bins of equal size by rank over {pooled}, length in {relation.unit}."


def _scatter(axes: Axes, points: Sequence[LengthPoint], colour: str, marker: str, name: str) -> None:
    if points:
        axes.scatter(
            [p.mean_length for p in points],
            [_shown(p.trigger) for p in points],
            color=colour,
            marker=marker,
            s=48,
            edgecolors="white",
            linewidths=0.6,
            zorder=3,
            label=name,
        )


def _side(angle: float) -> str:
    """Horizontal alignment that keeps a label outside of the circle; angles run clockwise from the top."""
    return "left" if math.sin(angle) > 0 else "right"


def _value(rate: Rate | None) -> float | None:
    return None if rate is None else rate.value


def _shown(rate: Rate) -> float:
    if rate.value is None:
        raise ValueError("a rate without a value cannot be drawn")
    return rate.value


def _top(rate: Rate) -> float:
    return _shown(rate) if rate.high is None else rate.high


def _errors(rates: Sequence[Rate]) -> list[list[float]] | None:
    """Lengths of the error bars below and above; None where no rate has an interval."""
    if all(rate.low is None for rate in rates):
        return None
    below = [0.0 if rate.low is None else max(0.0, _shown(rate) - rate.low) for rate in rates]
    above = [0.0 if rate.high is None else max(0.0, rate.high - _shown(rate)) for rate in rates]
    return [below, above]


def _finish(axes: Axes, grid: Literal["both", "x", "y"]) -> None:
    axes.grid(axis=grid, color="#e4e4e4", linewidth=0.8)
    axes.set_axisbelow(True)
    for side in ("top", "right"):
        axes.spines[side].set_visible(False)
