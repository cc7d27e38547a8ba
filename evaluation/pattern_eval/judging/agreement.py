"""Several judges on the same responses: majority, agreement, and quality against known truth (paper, Table 2)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean

from foundation.labels import LABELS, Vector, trigger
from foundation.runs.evaluation_records import Response
from foundation.runs.statistics import JudgeQuality, Rate, cohen_kappa, fleiss_kappa, judge_quality, rate_of


@dataclass(frozen=True, slots=True)
class PairAgreement:
    """Two judges on one label, over the responses that both labelled."""

    first: str
    second: str
    label: str
    equal: Rate
    kappa: float | None


@dataclass(frozen=True, slots=True)
class Agreement:
    """All judges together, over the responses that all of them labelled.

    Attributes:
        pairs: every two judges on every label.
        unanimous: share of responses with the same label from all judges, by label; "vector": all labels the same.
        kappa: Fleiss' kappa by label.
    """

    judges: tuple[str, ...]
    pairs: tuple[PairAgreement, ...]
    unanimous: Mapping[str, Rate]
    kappa: Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class LabelQuality:
    """One label of one judge against known truth; a figure without a denominator is None. All in per cent."""

    precision: float | None
    recall: float | None
    f1: float | None
    counts: JudgeQuality


def majority(votes: Mapping[str, Vector]) -> dict[str, bool] | str:
    """The labels by majority, or why there are none: ``no_judge``, or ``judges_tied_<label>``.

    >>> one, none = {"cot": True, "rep": False, "con": False, "pr": False}, dict.fromkeys(LABELS, False)
    >>> majority({"a": one, "b": one, "c": none})["cot"], majority({"a": one, "b": none})
    (True, 'judges_tied_cot')
    """
    if not votes:
        return "no_judge"
    decided = {}
    for label in LABELS:
        ones = sum(vector[label] for vector in votes.values())
        if 2 * ones == len(votes):
            return f"judges_tied_{label}"
        decided[label] = 2 * ones > len(votes)
    return decided


def agreement_of(responses: Sequence[Response], judges: Sequence[str]) -> Agreement | None:
    """How far the judges agree; None with fewer than two judges."""
    if len(judges) < 2:
        return None
    pairs = []
    for first, second in combinations(judges, 2):
        both = [(r.votes[first], r.votes[second]) for r in responses if first in r.votes and second in r.votes]
        for label in LABELS:
            a, b = [v[label] for v, _ in both], [w[label] for _, w in both]
            equal = rate_of([x == y for x, y in zip(a, b, strict=True)])
            pairs.append(PairAgreement(first, second, label, equal, cohen_kappa(a, b)))
    voted = [[r.votes[judge] for judge in judges] for r in responses if all(judge in r.votes for judge in judges)]
    unanimous = {label: rate_of([len({v[label] for v in vectors}) == 1 for vectors in voted]) for label in LABELS}
    unanimous["vector"] = rate_of([all(len({v[label] for v in vectors}) == 1 for label in LABELS) for vectors in voted])
    kappa = {label: fleiss_kappa([[v[label] for v in vectors] for vectors in voted]) for label in LABELS}
    return Agreement(tuple(judges), tuple(pairs), unanimous, kappa)


def quality_of(predicted: Sequence[bool], truth: Sequence[bool]) -> LabelQuality:
    """Precision, recall and F1 of one label; F1 = 2PR / (P + R)."""
    counts = judge_quality(predicted, truth)
    flagged, present = counts.hits + counts.false_alarms, counts.hits + counts.misses
    return LabelQuality(
        precision=100 * counts.hits / flagged if flagged else None,
        recall=100 * counts.hits / present if present else None,
        f1=100 * 2 * counts.hits / (flagged + present) if flagged + present else None,
        counts=counts,
    )


def qualities(pairs: Sequence[tuple[Vector, Vector]]) -> dict[str, LabelQuality]:
    """Quality of each label and of the trigger ("trigger"), from pairs (labels of a judge, truth)."""
    found = {label: quality_of([p[label] for p, _ in pairs], [t[label] for _, t in pairs]) for label in LABELS}
    found["trigger"] = quality_of([trigger(p) for p, _ in pairs], [trigger(t) for _, t in pairs])
    return found


def macro(found: Mapping[str, LabelQuality]) -> tuple[float | None, float | None, float | None]:
    """Mean precision, recall and F1 over the labels (paper, Table 2); None where a label has none."""
    columns = [[getattr(found[label], name) for label in LABELS] for name in ("precision", "recall", "f1")]
    precision, recall, f1 = (None if None in column else fmean(column) for column in columns)
    return precision, recall, f1
