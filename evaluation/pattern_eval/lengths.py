"""How length goes with Trigger (paper, Figures 5 and 6): by model and correctness, and in bins over all responses.

Neither the unit of length nor the pooling is stated in the paper: both are settings, and the report names them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Literal

from foundation.responses.families import MODES, Mode
from foundation.runs.evaluation_records import Response
from foundation.runs.statistics import Rate, pearson, quantile_bins, rate_of

Unit = Literal["chars", "tokens"]
Pooling = Literal["all", "group"]


@dataclass(frozen=True, slots=True)
class LengthPoint:
    """Mean length and Trigger of one model's right or wrong answers in one mode."""

    model: str
    mode: Mode
    correct: bool
    mean_length: float
    trigger: Rate


@dataclass(frozen=True, slots=True)
class LengthBin:
    """Trigger in one length bin of one mode-and-correctness group; `index` counts from the shortest."""

    mode: Mode
    correct: bool
    index: int
    mean_length: float
    trigger: Rate


@dataclass(frozen=True, slots=True)
class LengthRelation:
    """`r`: Pearson's r over the points of a mode, None where there are too few."""

    unit: Unit
    pooling: Pooling
    points: tuple[LengthPoint, ...]
    r: dict[Mode, float | None]
    bins: tuple[LengthBin, ...]


def length_relation(responses: Sequence[Response], unit: Unit, pooling: Pooling, bins: int) -> LengthRelation:
    """Figures 5 and 6 of the paper.

    Args:
        unit: ``chars`` of the visible response, or generated ``tokens`` (reasoning included).
        pooling: ``all``: one set of bins for all responses; ``group``: bins of each mode and correctness by itself.
        bins: 6 for sextiles.
    """
    known = [
        (r, float(length), bool(r.correct), bool(r.trigger))
        for r in responses
        if r.correct is not None and r.labels is not None and (length := _length(r, unit)) is not None
    ]
    points = []
    for model in dict.fromkeys(r.model for r, *_ in known):
        for mode in MODES:
            for correct in (True, False):
                chosen = [
                    (length, trigger)
                    for r, length, right, trigger in known
                    if r.model == model and r.mode == mode and right == correct
                ]
                if chosen:
                    lengths, triggers = zip(*chosen, strict=True)
                    points.append(LengthPoint(model, mode, correct, fmean(lengths), rate_of(triggers)))
    r = {mode: _r([point for point in points if point.mode == mode]) for mode in MODES}
    return LengthRelation(unit, pooling, tuple(points), r, tuple(_bins(known, pooling, bins)))


def _length(response: Response, unit: Unit) -> int | None:
    return response.n_chars if unit == "chars" else response.n_tokens


def _r(points: Sequence[LengthPoint]) -> float | None:
    with_rate = [(point.mean_length, value) for point in points if (value := point.trigger.value) is not None]
    return pearson([length for length, _ in with_rate], [value for _, value in with_rate])


def _bins(known: Sequence[tuple[Response, float, bool, bool]], pooling: Pooling, bins: int) -> list[LengthBin]:
    everywhere = quantile_bins([length for _, length, _, _ in known], bins)
    found = []
    for mode in MODES:
        for correct in (True, False):
            members = [i for i, (r, _, right, _) in enumerate(known) if r.mode == mode and right == correct]
            lengths = [known[i][1] for i in members]
            index = everywhere[members] if pooling == "all" else quantile_bins(lengths, bins)
            for number in range(bins):
                inside = [i for i, which in zip(members, index, strict=True) if which == number]
                if inside:
                    trigger = rate_of([known[i][3] for i in inside])
                    found.append(LengthBin(mode, correct, number, fmean(known[i][1] for i in inside), trigger))
    return found
