"""The figures of one paired evaluation, from its records: Acc, Trigger, label rates of each mode, and the differences.

Every figure is computed by `foundation.runs.mode_rates`, as on the page of an evaluation.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from foundation.labels import LABELS
from foundation.responses.families import MODE_NAMES, Mode
from foundation.runs.mode_rates import MEASURES, Pair, Row, pairs_of, rows_of
from foundation.runs.scored_rollout import ScoredRollout
from foundation.runs.statistics import Rate
from foundation.runs.training_records import response_of

RESAMPLES = 2000
"""Bootstrap samples of a difference, as `report.resamples` of an evaluation."""

METRIC_NAMES = {"acc": "accuracy", "trigger": "trigger", **{label: f"label/{label}" for label in LABELS}}
"""Names in the trackers of the measures of an evaluation; those of `heldout/*`."""


@dataclass(frozen=True, slots=True)
class PairedFigures:
    """One paired evaluation.

    Attributes:
        step: of the weights that answered.
        rows: one a mode, non-thinking first; rates in per cent.
        pair: differences of the two modes in points; None where one mode was asked.
        tokens: mean generated tokens by mode, reasoning included.
    """

    step: int
    rows: tuple[Row, ...]
    pair: Pair | None
    tokens: dict[Mode, float]

    def as_dict(self) -> dict[str, Any]:
        """For `summary.json`: rates in per cent with interval and denominator, missing ones null."""
        modes = {
            row.mode: {"rates": {m: asdict(row.rates[m]) for m in MEASURES}, "counts": dict(row.counts)}
            for row in self.rows
        }
        return {
            "step": self.step,
            "modes": {mode: {**figures, "tokens": self.tokens[mode]} for mode, figures in modes.items()},
            "delta_acc": None if self.pair is None else asdict(self.pair.d_acc),
            "delta_pat": None if self.pair is None else asdict(self.pair.d_pat),
        }


def paired_figures(records: Sequence[ScoredRollout], seed: int) -> PairedFigures:
    """The figures of the records of one step.

    Args:
        records: lines of `records/pattern_eval.jsonl`, one a prompt and mode.
        seed: of the bootstrap of the differences.

    Raises:
        ValueError: no record, or records of several steps.
    """
    steps = {record.step for record in records}
    if len(steps) != 1:
        raise ValueError(f"a paired evaluation is of one step, but the records are of the steps {sorted(steps)}")
    responses = [response_of(record) for record in records]
    rows = rows_of(responses)
    pairs = pairs_of(responses, RESAMPLES, seed)
    tokens = {row.mode: float(np.mean([r.n_tokens for r in records if r.mode == row.mode])) for row in rows}
    return PairedFigures(steps.pop(), tuple(rows), pairs[0] if pairs else None, tokens)


def tracker_metrics(figures: PairedFigures) -> dict[str, float]:
    """Flat names and values without the prefix `pattern_eval/`.

    Returns:
        <mode>/{accuracy, trigger, label/<l>}    shares in 0..1, as everywhere in the trackers
        <mode>/{asked, empty, truncated, without_verdict, without_labels}   numbers of responses
        <mode>/n_tokens/mean                     generated tokens
        delta_acc, delta_pat                     Acc(t) - Acc(nt) and Trigger(nt) - Trigger(t), -1..1
        delta_acc/pairs, delta_pat/pairs         prompts that both modes decided
        A figure without a denominator is left out.
    """
    found: dict[str, float] = {}
    for row in figures.rows:
        shares = {name: row.rates[measure].value for measure, name in METRIC_NAMES.items()}
        found |= {f"{row.mode}/{name}": value / 100 for name, value in shares.items() if value is not None}
        found |= {
            f"{row.mode}/{name}": float(row.counts[name])
            for name in ("asked", "empty", "truncated", "without_verdict", "without_labels")
        }
        found[f"{row.mode}/n_tokens/mean"] = figures.tokens[row.mode]
    if figures.pair is not None:
        for name, difference in (("delta_acc", figures.pair.d_acc), ("delta_pat", figures.pair.d_pat)):
            found[f"{name}/pairs"] = float(difference.n or 0)
            if difference.value is not None:
                found[name] = difference.value / 100
    return found


def headline(figures: PairedFigures) -> str:
    """One line for people, in per cent and points."""
    parts = []
    for row in figures.rows:
        rates = row.rates
        labels = " ".join(f"{label} {_shown(rates[label])}" for label in LABELS)
        trigger = f"Trigger {_shown(rates['trigger'])} ({labels})" if rates["trigger"].n else "no labels"
        parts.append(f"{MODE_NAMES[row.mode]} Acc {_shown(rates['acc'])} {trigger}")
        for name, text in (("without_verdict", "WITHOUT VERDICT"), ("without_labels", "WITHOUT LABELS")):
            if row.counts[name] and rates["trigger"].n:
                parts.append(f"{text} {row.counts[name]:,} of {row.counts['asked']:,}")
    if figures.pair is not None:
        for name, difference in (("ΔAcc", figures.pair.d_acc), ("ΔPat", figures.pair.d_pat)):
            if difference.value is not None:
                parts.append(f"{name} {difference.value:+.1f}")
    return "  ".join(parts)


def _shown(rate: Rate) -> str:
    return "-" if rate.value is None else f"{rate.value:.1f}"
