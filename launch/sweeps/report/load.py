"""The finished runs of a sweep, one record each, from the manifest and the summaries of the run folders."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from foundation.labels import LABELS
from foundation.runs.label_metrics import SOURCES
from foundation.runs.run_folder import RunFolder
from launch.sweeps.manifest import Manifest, Point

SEED = "seed"
DEFAULT = "default"
RATES = ("accuracy", "trigger", *LABELS)


@dataclass(frozen=True, slots=True)
class Run:
    """One finished run.

    Attributes:
        name: of its point.
        factors: what the sweep varied, without the seed: key -> value as it was written.
        seed: None where the sweep did not vary it.
        figures: accuracy, trigger and label rates (0..1), tokens; of the last held-out evaluation.
        start: the same of the evaluation before the first step; empty without one.
        calls: questions to each judge in training.
        seconds: mean of a step; None where the run was too short to tell.
    """

    name: str
    factors: dict[str, str]
    seed: str | None
    figures: dict[str, float]
    start: dict[str, float]
    calls: dict[str, int]
    seconds: float | None


@dataclass(frozen=True, slots=True)
class SweepRuns:
    """The runs of a sweep; `left_out` says which points have no result, and why.

    `judge` is who labelled the held-out responses of every run, in words: rates of two judges cannot be compared.
    """

    sweep: str
    runs: tuple[Run, ...]
    judge: str
    left_out: tuple[str, ...]

    @property
    def factors(self) -> dict[str, list[str]]:
        """What differs between the runs: key -> values in the order of their appearance, numbers by size.

        A run of a command that did not vary a key has the value `DEFAULT` there.
        """
        keys = dict.fromkeys(key for run in self.runs for key in run.factors)
        values = {key: list(dict.fromkeys(run.factors.get(key, DEFAULT) for run in self.runs)) for key in keys}
        return {key: sort_values(known) for key, known in values.items() if len(known) > 1}


def load_sweep(manifest: Manifest, runs_dir: Path | None = None) -> SweepRuns:
    """Read the results of a sweep.

    Args:
        runs_dir: where the run folders lie when they are not where they were written (a copy).
    """
    found: list[tuple[Point, dict[str, Any]]] = []
    left_out = []
    for point in manifest.points.values():
        folder = RunFolder(Path(point.run_dir) if runs_dir is None else runs_dir / Path(point.run_dir).name)
        if point.state != "finished":
            left_out.append(f"{point.name}: {point.state}" + (f" ({point.reason})" if point.reason else ""))
        elif not folder.summary.exists():
            left_out.append(f"{point.name}: {folder.summary} is not on this machine")
        else:
            summary = json.loads(folder.summary.read_text())
            if summary["heldout"]:
                found.append((point, summary))
            else:
                left_out.append(f"{point.name}: no held-out evaluation (trainer.test_freq)")
    judge = common_judge([summary for _, summary in found])
    runs = tuple(read_run(point.name, point.values, summary, judge) for point, summary in found)
    return SweepRuns(manifest.sweep, runs, dict(SOURCES).get(judge or "", "nobody"), tuple(left_out))


def common_judge(summaries: Sequence[Mapping[str, Any]]) -> str | None:
    """The most trusted judge that labelled the last held-out evaluation of every run."""
    return next(
        (judge for judge, _ in SOURCES if summaries and all(judge in s["heldout"][-1] for s in summaries)), None
    )


def read_run(name: str, values: Mapping[str, str], summary: Mapping[str, Any], judge: str | None) -> Run:
    """A run from what varied and its `summary.json`, with the rates by one judge."""
    last = summary["heldout"][-1]
    before = summary["heldout"][0] if len(summary["heldout"]) > 1 else None
    return Run(
        name=name,
        factors={key: value for key, value in values.items() if key != SEED},
        seed=values.get(SEED),
        figures=_figures(last, judge),
        start={} if before is None else _figures(before, judge),
        calls={judge: counts["asked"] for judge, counts in summary["calls"].items()},
        seconds=summary["seconds_per_step"].get("step"),
    )


def _figures(heldout: Mapping[str, Any], judge: str | None) -> dict[str, float]:
    figures = {"accuracy": heldout["accuracy"]["value"], "tokens": heldout["tokens"]}
    if judge is not None and judge in heldout:
        figures |= {name: heldout[judge][name]["value"] for name in ("trigger", *LABELS)}
    return {name: float(value) for name, value in figures.items()}


def sort_values(values: list[str]) -> list[str]:
    """Numbers by size, everything else as it came.

    >>> sort_values(["0.1", "0.02"]), sort_values(["pattern_rl", "base_rl"])
    (['0.02', '0.1'], ['pattern_rl', 'base_rl'])
    """
    try:
        return sorted(values, key=float)
    except ValueError:
        return values
