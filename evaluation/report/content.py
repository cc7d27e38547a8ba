"""What a report shows: the results, in the order and grouping of the page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from evaluation.pattern_eval.judging.agreement import Agreement, LabelQuality
from evaluation.pattern_eval.lengths import LengthRelation
from evaluation.pattern_eval.published import BenchmarkRow, PolicyRow
from foundation.labels import TABLE
from foundation.responses.families import Mode
from foundation.runs.evaluation_records import Response
from foundation.runs.mode_rates import Aggregates, Pair, Row
from foundation.runs.statistics import Rate

CONDITIONAL = (
    "Conditional robustness on a selected stress test, not prevalence: the prompts were chosen because models fail on "
    "them."
)
"""The label that every report prints."""

LABEL_NAMES = {row.key: row.title for row in TABLE}
MEASURE_NAMES = {"acc": "Acc", "trigger": "Trigger", **{row.key: row.wire for row in TABLE}}
MEANINGS = {
    name: f"{row.means} Acceptable: {row.acceptable} Triggering: {row.triggering}"
    for row in TABLE
    for name in (row.title, row.wire)
}
"""What a column of a label counts, by either heading."""

Taxonomy = Mapping[str, Mapping[str, str]]
"""Category titles by family and category, in the order in which they are shown (paper, Table 7)."""


@dataclass(frozen=True, slots=True)
class Corrected:
    """Trigger of one model and mode corrected for the errors of the judge; `why`: nothing could be corrected."""

    model: str
    mode: Mode
    apparent: Rate
    corrected: Rate | None
    truth: Rate | None
    why: str = ""


@dataclass(frozen=True, slots=True)
class JudgedTruth:
    """One judge against known truth: a label's quality by label, "trigger" included."""

    judge: str
    responses: int
    by_label: Mapping[str, LabelQuality]
    macro: tuple[float | None, float | None, float | None]


@dataclass(frozen=True, slots=True)
class Report:
    """Everything on the page.

    Attributes:
        facts: what was run, as (name, value).
        notices: what a reader must know before the figures, such as a wrong reasoning parser.
        composition: prompts by family and category; empty where it is not known.
        trained_against: the PatternRM in the reward of the models on the page, where they are steps of a training run.
        flagships: models of the bar chart and the radar; empty shows all.
        series: models in order of size or of training step, by name of the series (Figure 3).
        thumbnails: data URLs of the images of shown examples, by prompt id.
    """

    title: str
    rows: Sequence[Row]
    pairs: Sequence[Pair]
    aggregates: Aggregates
    taxonomy: Taxonomy
    facts: Sequence[tuple[str, str]] = ()
    notices: Sequence[str] = ()
    composition: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    lengths: LengthRelation | None = None
    agreement: Agreement | None = None
    truth: Sequence[JudgedTruth] = ()
    corrected: Sequence[Corrected] = ()
    trained_against: str | None = None
    responses: Sequence[Response] = ()
    thumbnails: Mapping[str, str] = field(default_factory=dict)
    flagships: Sequence[str] = ()
    series: Mapping[str, Sequence[str]] = field(default_factory=dict)
    policies: Sequence[PolicyRow] = ()
    benchmarks: Sequence[BenchmarkRow] = ()
