"""Which labels the penalty charges: PatternRM's, the rules', either or both; as 0/1 or as probabilities.

The paper charges PatternRM's hard labels: source `pattern_rm`, penalty `hard`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal

from foundation.labels import LABELS
from foundation.runs.records import Labels, RuleLabels, Unlabelled

LabelSource = Literal["pattern_rm", "rules", "union", "agreement"]
PenaltyKind = Literal["hard", "expected"]


def asks_pattern_rm(reward_mix: Mapping[str, Any]) -> bool:
    """Whether a checked section `reward_mix` needs PatternRM to be served."""
    return bool(reward_mix["pattern_penalty"]) and reward_mix["labels"]["source"] != "rules"


def charged_labels(
    source: LabelSource, kind: PenaltyKind, labels: Labels | Unlabelled | None, rules: RuleLabels | None
) -> dict[str, float] | None:
    """What each label counts in the penalty, 0..1.

    PatternRM's part of a label is 0 or 1 (`hard`), or its probability (`expected`; the hard label where the judge gave
    no probability). The rules' part is 0 or 1, or nothing where they abstain.

        pattern_rm   PatternRM
        rules        the rules; abstained is 0
        union        the larger of both: either is enough
        agreement    the smaller of both: both must see it; PatternRM alone where the rules abstain

    Returns:
        None where a needed source did not speak. A PatternRM that was asked and failed costs nothing by itself: in
        `union` the rules then stand alone.

    >>> rules = RuleLabels({"cot": True, "rep": False, "con": None, "pr": None})
    >>> judged = Labels({"cot": True, "rep": True, "con": True, "pr": False})
    >>> charged_labels("agreement", "hard", judged, rules)
    {'cot': 1.0, 'rep': 0.0, 'con': 1.0, 'pr': 0.0}
    """
    if rules is None:
        return None
    seen = rules.seen
    if decided_by_rules(source, rules) or (source == "union" and isinstance(labels, Unlabelled)):
        return {label: float(seen[label] is True) for label in LABELS}
    if not isinstance(labels, Labels):
        return None
    judged = _shares(labels, kind)
    if source == "pattern_rm":
        return judged
    if source == "union":
        return {label: max(judged[label], float(seen[label] is True)) for label in LABELS}
    return {
        label: judged[label] if seen[label] is None else min(judged[label], float(bool(seen[label])))
        for label in LABELS
    }


def decided_by_rules(source: LabelSource, rules: RuleLabels) -> bool:
    """Whether PatternRM could not change what is charged, so that it need not be asked.

    >>> decided_by_rules("agreement", RuleLabels(dict.fromkeys(LABELS, False)))
    True
    """
    seen = rules.seen.values()
    if source == "agreement":
        return all(value is False for value in seen)
    if source == "union":
        return all(value is True for value in seen)
    return source == "rules"


def _shares(labels: Labels, kind: PenaltyKind) -> dict[str, float]:
    hard = {label: float(labels.decided[label]) for label in LABELS}
    if kind == "hard":
        return hard
    return {label: hard[label] if (p := labels.p[label]) is None else p for label in LABELS}
