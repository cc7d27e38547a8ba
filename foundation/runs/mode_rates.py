"""The figures of PatternEval (Tables 3 and 7): rates of one model in one mode, and the paired differences of its modes.

    D_acc = Acc_T - Acc_NT        D_pat = Trigger_NT - Trigger_T

A rate counts the responses for which the decision is known, and says how many these are; what is missing is counted
beside it. A difference counts the prompts for which both modes have a decision.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean

from foundation.labels import LABELS
from foundation.responses.families import MODES, Mode
from foundation.runs.evaluation_records import Response
from foundation.runs.statistics import Difference, Rate, paired_difference, rate_of

MEASURES = ("acc", "trigger", *LABELS)

LARGE_GAP = 20.0
"""Points of D_pat above which the paper counts a pair as large."""


@dataclass(frozen=True, slots=True)
class Row:
    """One model in one mode.

    Attributes:
        rates: by `MEASURES`.
        families, categories: Trigger by family and by category (paper, Tables 3 and 7).
        counts: asked, answered, empty, failed, truncated, without_verdict, without_labels; empty for published rows.
        flags: how often each flag of the channel splitter was raised.
        source: ``measured``, or where a published row comes from.
    """

    model: str
    mode: Mode
    rates: Mapping[str, Rate]
    families: Mapping[str, Rate]
    categories: Mapping[str, Rate]
    counts: Mapping[str, int]
    flags: Mapping[str, int]
    source: str = "measured"


@dataclass(frozen=True, slots=True)
class Pair:
    """The differences of the two modes of one model."""

    model: str
    d_acc: Difference
    d_pat: Difference
    source: str = "measured"


@dataclass(frozen=True, slots=True)
class Aggregates:
    """What the paper says of all rows together.

    Attributes:
        mean: arithmetic mean of each label rate over the rows that have it, by mode and over both ("all").
        pairs: models with both modes; large: those with D_pat above 20 points; positive: those above 0.
    """

    mean: Mapping[str, Mapping[str, float]]
    pairs: int
    large: int
    positive: int


def rows_of(responses: Iterable[Response]) -> list[Row]:
    """One row for each model and mode, models in order of first appearance, non-thinking first."""
    groups: dict[str, dict[Mode, list[Response]]] = {}
    for response in responses:
        groups.setdefault(response.model, {}).setdefault(response.mode, []).append(response)
    return [_row(model, mode, by_mode[mode]) for model, by_mode in groups.items() for mode in MODES if mode in by_mode]


def _row(model: str, mode: Mode, responses: Sequence[Response]) -> Row:
    labelled = [r for r in responses if r.labels is not None]
    rates = {
        "acc": rate_of([r.correct for r in responses if r.correct is not None]),
        "trigger": _triggers(labelled),
        **{label: rate_of([r.labels[label] for r in labelled if r.labels is not None]) for label in LABELS},
    }
    outcomes = Counter(r.outcome for r in responses)
    counts = {
        "asked": len(responses),
        **{outcome: outcomes[outcome] for outcome in ("answered", "empty", "failed")},
        "truncated": sum(r.truncated for r in responses),
        "without_verdict": sum(r.correct is None and r.outcome == "answered" for r in responses),
        "without_labels": sum(r.labels is None and r.outcome == "answered" for r in responses),
    }
    return Row(
        model,
        mode,
        rates,
        families=_by(labelled, responses, lambda r: r.family),
        categories=_by(labelled, responses, lambda r: r.category),
        counts=counts,
        flags=dict(sorted(Counter(flag for r in responses for flag in r.flags).items())),
    )


def _by(labelled: Sequence[Response], asked: Sequence[Response], key: Callable[[Response], str]) -> dict[str, Rate]:
    """Trigger by group; a group of which nothing could be labelled keeps its empty cell."""
    return {name: _triggers([r for r in labelled if key(r) == name]) for name in sorted({key(r) for r in asked})}


def _triggers(labelled: Sequence[Response]) -> Rate:
    return rate_of([bool(r.trigger) for r in labelled])


def pairs_of(responses: Sequence[Response], resamples: int, seed: int) -> list[Pair]:
    """The paired differences of every model that was asked in both modes."""
    by_model: dict[str, dict[Mode, dict[str, Response]]] = {}
    for response in responses:
        by_model.setdefault(response.model, {}).setdefault(response.mode, {})[response.prompt_id] = response
    return [
        Pair(
            model,
            d_acc=_difference(modes["t"], modes["nt"], lambda r: r.correct, resamples, seed),
            d_pat=_difference(modes["nt"], modes["t"], lambda r: r.trigger, resamples, seed),
        )
        for model, modes in by_model.items()
        if set(modes) == set(MODES)
    ]


def _difference(
    first: Mapping[str, Response],
    second: Mapping[str, Response],
    decision: Callable[[Response], int | bool | None],
    resamples: int,
    seed: int,
) -> Difference:
    decided: list[tuple[int | bool, int | bool]] = []
    for prompt_id in sorted(first.keys() & second.keys()):
        one, other = decision(first[prompt_id]), decision(second[prompt_id])
        if one is not None and other is not None:
            decided.append((one, other))
    return paired_difference([one for one, _ in decided], [other for _, other in decided], resamples, seed)


def aggregate(rows: Sequence[Row], pairs: Sequence[Pair]) -> Aggregates:
    """Means of the label rates and counts of the gaps."""
    wanted: dict[str, Sequence[Row]] = {"all": rows, **{mode: [r for r in rows if r.mode == mode] for mode in MODES}}
    mean = {}
    for name, chosen in wanted.items():
        values = {label: [r.rates[label].value for r in chosen] for label in LABELS}
        known = {label: [value for value in column if value is not None] for label, column in values.items()}
        mean[name] = {label: fmean(column) for label, column in known.items() if column}
    gaps = [pair.d_pat.value for pair in pairs if pair.d_pat.value is not None]
    return Aggregates(mean, len(gaps), sum(gap > LARGE_GAP for gap in gaps), sum(gap > 0 for gap in gaps))


def bounds_hold(row: Row, tolerance: float = 0.011) -> bool:
    """max(label rates) <= Trigger <= sum(label rates), up to the rounding of published figures."""
    values = [row.rates[label].value for label in LABELS]
    trigger = row.rates["trigger"].value
    known = [value for value in values if value is not None]
    if trigger is None or len(known) != len(LABELS):
        return True  # a missing cell contradicts nothing
    return max(known) - tolerance <= trigger <= sum(known) + tolerance


def extremes(
    rows: Sequence[Row], value: Callable[[Row], float | None], higher_is_better: bool
) -> dict[Mode, tuple[float, float]]:
    """(best, worst) value of one column for each mode with two different values at least."""
    found: dict[Mode, tuple[float, float]] = {}
    for mode in MODES:
        values = [v for row in rows if row.mode == mode and (v := value(row)) is not None]
        if len(set(values)) > 1:
            found[mode] = (max(values), min(values)) if higher_is_better else (min(values), max(values))
    return found
