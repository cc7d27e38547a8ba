"""What a sweeper that searches is told of a finished run: figures of its last held-out evaluation."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from foundation.labels import LABELS
from foundation.runs.label_metrics import SOURCES
from foundation.runs.run_folder import RunFolder
from foundation.settings.compose import ConfigError

NAMES = ("accuracy", "tokens", "trigger", *LABELS)


def read_objective(run_dir: Path, names: Sequence[str]) -> float | tuple[float, ...]:
    """The named figures of a run: one number, or several for a search with several objectives.

    Raises:
        ConfigError: the run folder is not on this machine, or it has no such figure.
    """
    path = RunFolder(run_dir).summary
    if not path.exists():
        raise ConfigError(
            [f"sweep.objective: {path} is not on this machine: a search needs launch.runs_dir on storage that it sees"]
        )
    summary = json.loads(path.read_text())
    if not summary["heldout"]:
        raise ConfigError([f"sweep.objective: {path} has no held-out evaluation: set trainer.test_freq"])
    values = tuple(figure(summary["heldout"][-1], name) for name in names)
    return values[0] if len(values) == 1 else values


def figure(heldout: Mapping[str, Any], name: str) -> float:
    """One figure of a held-out evaluation: accuracy, tokens, or a rate by the best judge that labelled it.

    Raises:
        ConfigError: there is none of that name.
    """
    if name == "accuracy":
        return float(heldout["accuracy"]["value"])
    if name == "tokens":
        return float(heldout["tokens"])
    if name not in NAMES:
        raise ConfigError([f"sweep.objective={name}: choose among {', '.join(NAMES)}"])
    judge = judge_of(heldout)
    if judge is None:
        raise ConfigError([f"sweep.objective={name}: nobody labelled the held-out responses"])
    return float(heldout[judge][name]["value"])


def judge_of(heldout: Mapping[str, Any]) -> str | None:
    """Whose labels count: the oracle's where the corpus has one, else PatternRM's, else the rules'."""
    return next((judge for judge, _ in SOURCES if judge in heldout), None)
