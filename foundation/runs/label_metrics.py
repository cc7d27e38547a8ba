"""Labels, weights and penalty of the records of one step (plain functions: no torch, no ray, no verl)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from foundation.labels import LABELS

Record = dict[str, Any]
"""One rollout as it stands in the JSONL: `foundation.runs.records.RewardRecord.as_dict()` and its texts."""

SOURCES = (("oracle", "toy oracle"), ("pattern_rm", "PatternRM"), ("rules", "rules"))
"""Who labels held-out responses: key in the summary, name for people; the most trusted first."""


def label_metrics(records: Sequence[Record]) -> dict[str, float]:
    """Label rates of both sources, how far they agree, and what the penalty charges.

    Returns:
        labelled                     share of rollouts that PatternRM labelled
        label/<l>, trigger           rates among those; trigger: one label at least
        label/without_probability    share of those where a label came without its probability (it then counts 0 or 1)
        rules/label/<l>, rules/trigger   rates among all rollouts with text: a rule saw the pattern
        rules/abstained/<l>          share of those where the rules did not decide
        agreement/<l>/{n,share,kappa}    rollouts that both decided, share of equal labels, Cohen's kappa
        charged/<l>, penalty/mean    among rollouts whose charged labels are known, before gate and clip
        penalty/applied_mean         over all rollouts: what the penalty took from the rewards
        weight/<l>                   weights in force
        A rate without a denominator is left out.
    """
    labelled = [record["labels"] for record in records if is_labelled(record)]
    ruled = [record["rule_labels"] for record in records if record["rule_labels"] is not None]
    charged = [record for record in records if record["charged"] is not None]
    metrics = {"labelled": len(labelled) / len(records)}
    if labelled:
        metrics |= {f"label/{label}": _mean(vector[label] for vector in labelled) for label in LABELS}
        metrics["trigger"] = _mean(is_triggered(vector) for vector in labelled)
        metrics["label/without_probability"] = _mean(
            any(vector[f"p_{label}"] is None for label in LABELS) for vector in labelled
        )
    if ruled:
        metrics |= {f"rules/label/{label}": _mean(bool(vector[label]) for vector in ruled) for label in LABELS}
        metrics |= {f"rules/abstained/{label}": _mean(vector[label] is None for vector in ruled) for label in LABELS}
        metrics["rules/trigger"] = _mean(is_triggered(vector) for vector in ruled)
    for label, figures in agreement(records).items():
        metrics |= {f"agreement/{label}/{name}": value for name, value in figures.items()}
    if charged:
        metrics |= {f"charged/{label}": _mean(record["charged"][label] for record in charged) for label in LABELS}
        metrics["penalty/mean"] = _mean(record["penalty"] for record in charged)
    metrics["penalty/applied_mean"] = _mean(r["penalty"] * r["z"] * (r["verdict"]["value"] == 1) for r in records)
    return metrics | {f"weight/{label}": _mean(record["weights"][label] for record in records) for label in LABELS}


def agreement(records: Iterable[Record]) -> dict[str, dict[str, float]]:
    """How far PatternRM and the rules agree on each label, where both decided; a label that never was is left out.

    kappa is Cohen's, (p_o - p_e) / (1 - p_e); left out where p_e is 1 (both sources always say the same one thing).
    """
    pairs: dict[str, list[tuple[bool, bool]]] = {label: [] for label in LABELS}
    for record in records:
        rules = record["rule_labels"]
        if rules is not None and is_labelled(record):
            for label in LABELS:
                if rules[label] is not None:
                    pairs[label].append((bool(record["labels"][label]), rules[label]))
    found = {}
    for label, decided in pairs.items():
        if not decided:
            continue
        judged, ruled = np.array(decided, dtype=float).T
        observed = float(np.mean(judged == ruled))
        by_chance = float(judged.mean() * ruled.mean() + (1 - judged.mean()) * (1 - ruled.mean()))
        found[label] = {"n": float(len(decided)), "share": observed}
        if by_chance < 1:
            found[label]["kappa"] = (observed - by_chance) / (1 - by_chance)
    return found


def is_labelled(record: Record) -> bool:
    """Whether PatternRM's label vector came back; a failed call leaves a reason instead."""
    return record["labels"] is not None and "cot" in record["labels"]


def is_triggered(vector: dict[str, Any]) -> bool:
    """Whether a label vector holds one label at least."""
    return any(vector[label] for label in LABELS)


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
