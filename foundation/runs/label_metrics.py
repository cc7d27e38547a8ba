"""Labels, weights and penalty of the records of one step (plain functions: no torch, no ray, no verl)."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from foundation.labels import LABELS, trigger
from foundation.runs.records import Labels
from foundation.runs.scored_rollout import ScoredRollout

SOURCES = (("oracle", "toy oracle"), ("pattern_rm", "PatternRM"), ("rules", "rules"))
"""Who labels held-out responses: key in the summary, name for people; the most trusted first."""


def label_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
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
    labelled = [record.labels for record in records if isinstance(record.labels, Labels)]
    ruled = [record.rule_labels.seen for record in records if record.rule_labels is not None]
    charged = [(record.charged, record.penalty) for record in records if record.charged is not None]
    metrics = {"labelled": len(labelled) / len(records)}
    if labelled:
        metrics |= {f"label/{label}": _mean(labels.decided[label] for labels in labelled) for label in LABELS}
        metrics["trigger"] = _mean(labels.trigger for labels in labelled)
        metrics["label/without_probability"] = _mean(None in labels.p.values() for labels in labelled)
    if ruled:
        metrics |= {f"rules/label/{label}": _mean(bool(seen[label]) for seen in ruled) for label in LABELS}
        metrics |= {f"rules/abstained/{label}": _mean(seen[label] is None for seen in ruled) for label in LABELS}
        metrics["rules/trigger"] = _mean(trigger(seen) for seen in ruled)
    for label, figures in agreement(records).items():
        metrics |= {f"agreement/{label}/{name}": value for name, value in figures.items()}
    if charged:
        metrics |= {f"charged/{label}": _mean(by_label[label] for by_label, _ in charged) for label in LABELS}
        metrics["penalty/mean"] = _mean(penalty for _, penalty in charged)
    metrics["penalty/applied_mean"] = _mean(r.penalty * r.z * (r.verdict.value == 1) for r in records)
    return metrics | {f"weight/{label}": _mean(record.weights[label] for record in records) for label in LABELS}


def agreement(records: Iterable[ScoredRollout]) -> dict[str, dict[str, float]]:
    """How far PatternRM and the rules agree on each label, where both decided; a label that never was is left out.

    kappa is Cohen's, (p_o - p_e) / (1 - p_e); left out where p_e is 1 (both sources always say the same one thing).
    """
    pairs: dict[str, list[tuple[bool, bool]]] = {label: [] for label in LABELS}
    for record in records:
        if record.rule_labels is None or not isinstance(record.labels, Labels):
            continue
        for label, seen in record.rule_labels.seen.items():
            if seen is not None:
                pairs[label].append((record.labels.decided[label], seen))
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


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))
