"""GRPO groups for the gate study: drawn from rates, or read from the records of a run."""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.gate_noise import Group
from foundation.labels import LABELS
from foundation.runs.run_folder import read_jsonl
from reward_workers.mix import Mix

PAPER = Mix(weights={"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)
"""The paper's probability of an open gate."""
NEEDED = ("attempt", "step", "group", "verdict", "charged", "penalty")
"""Fields of a record that a group is made of."""


def draw_groups(
    n_groups: int, size: int, *, accuracy: float, rates: Mapping[str, float], concentration: float, seed: int
) -> list[Group]:
    """Groups of prompts that differ in how hard they are and in how much they provoke each pattern.

    Args:
        accuracy: mean share of right answers over prompts, 0..1 exclusive.
        rates: mean rate of each label over prompts, 0..1 exclusive.
        concentration: a prompt's own rate is drawn from Beta(concentration * mean, concentration * (1 - mean)): small
            values make rollouts of a prompt alike. Within a prompt, verdict and labels are independent.
    """
    rng = np.random.default_rng(seed)

    def own_rates(mean: float) -> np.ndarray:
        return rng.beta(concentration * mean, concentration * (1.0 - mean), n_groups)

    right = rng.random((n_groups, size)) < own_rates(accuracy)[:, None]
    labels = {label: rng.random((n_groups, size)) < own_rates(rates[label])[:, None] for label in LABELS}
    return [
        tuple(
            PAPER.penalty({label: bool(labels[label][g, i]) for label in LABELS}) if right[g, i] else None
            for i in range(size)
        )
        for g in range(n_groups)
    ]


@dataclass(frozen=True, slots=True)
class Recorded:
    """Groups out of a records file.

    Attributes:
        groups: their sizes are those of the run.
        imputed: share of the right rollouts whose labels nobody knew.
    """

    groups: list[Group]
    imputed: float


def read_groups(file: Path, seed: int) -> Recorded:
    """Groups of `records/train.jsonl`; those with an unscored rollout are left out.

    PatternRM is not asked behind a closed gate. The gate does not look at the text, so the labelled right rollouts of a
    group are a fair sample of all its right ones: what is unknown is drawn from them (from those of the whole file
    where a group has none).

    Raises:
        ValueError: the file holds no groups, or a record without the fields that this needs, named by line.
    """
    rows = read_jsonl(file)
    groups: dict[tuple[int, int, int], list[dict[str, Any]]] = defaultdict(list)
    for number, row in enumerate(rows, start=1):
        missing = [key for key in NEEDED if key not in row]
        if missing:
            raise ValueError(f"{file}:{number}: no {missing}: give the records/train.jsonl of a run of this version")
        groups[row["attempt"], row["step"], row["group"]].append(row)
    several = [group for group in groups.values() if len(group) > 1]
    scored = [group for group in several if all(row["verdict"]["value"] is not None for row in group)]
    if not scored:
        raise ValueError(
            f"{file} holds no group of two scored rollouts or more: give the records of a run that trained"
        )
    known_anywhere = [row["penalty"] for group in scored for row in group if _is_known(row)]
    rng = random.Random(seed)
    found: list[Group] = []
    right = imputed = 0
    for group in scored:
        known = [row["penalty"] for row in group if _is_known(row)] or known_anywhere
        penalties: list[float | None] = []
        for row in group:
            if row["verdict"]["value"] == 0:
                penalties.append(None)
                continue
            right += 1
            if row["charged"] is None:
                if not known:
                    raise ValueError(f"{file}: no right rollout has labels: give the records of a PatternRL run")
                imputed += 1
                penalties.append(rng.choice(known))
            else:
                penalties.append(row["penalty"])
        found.append(tuple(penalties))
    return Recorded(found, imputed / right if right else 0.0)


def _is_known(row: Mapping[str, Any]) -> bool:
    return row["verdict"]["value"] == 1 and row["charged"] is not None


def resized(groups: Sequence[Group], size: int, seed: int) -> list[Group]:
    """The groups at another size, by drawing rollouts of each with replacement; a group of that size stays as it is."""
    rng = random.Random(seed)
    return [group if len(group) == size else tuple(rng.choices(group, k=size)) for group in groups]
