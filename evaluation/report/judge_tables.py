"""The tables about the judges, and about all models together (paper, Tables 2 and 5)."""

from __future__ import annotations

from evaluation.report.cells import (
    MISSING,
    Cell,
    Line,
    Table,
    count_cell,
    interval_cell,
    number_cell,
    rate_cell,
    text_cell,
)
from evaluation.report.content import LABEL_NAMES, MEASURE_NAMES, Report
from foundation.labels import LABELS
from foundation.responses.families import MODE_NAMES
from foundation.runs.mode_rates import MEASURES


def corrected(report: Report) -> Table:
    lines = []
    for entry in report.corrected:
        cells = (
            text_cell(entry.model),
            text_cell(MODE_NAMES[entry.mode]),
            interval_cell(entry.apparent),
            interval_cell(entry.corrected) if entry.corrected is not None else Cell(MISSING, entry.why),
            interval_cell(entry.truth),
        )
        lines.append(Line(cells, entry.model, entry.mode))
    return Table(
        "corrected",
        "Trigger corrected for judge error",
        "Per cent with 95 % interval. Rogan-Gladen, with the judge's sensitivity and specificity from its calibration; "
        "the interval carries the uncertainty of all three. Truth: the known labels, where a corpus has them."
        + _does_not_carry_over(report.trained_against),
        ("Model", "Mode", "Trigger as judged", "corrected", "truth"),
        tuple(lines),
    )


def _does_not_carry_over(trained_against: str | None) -> str:
    """What the correction is worth for a policy that was trained against a pattern judge."""
    if trained_against is None:
        return ""
    return (
        f" Caution: these policies were trained against the labels of {trained_against}. A policy learns what its "
        "judge does not see: sensitivity and specificity measured on responses of other policies do not carry over to "
        "that judge, and the corrected Trigger can be too low. Calibrate on responses of these policies, or ask a "
        "judge that was not in the reward."
    )


def truth(report: Report) -> Table:
    lines = []
    for judged in report.truth:
        for label in (*LABELS, "trigger"):
            found = judged.by_label[label]
            counts = found.counts
            cells = (
                text_cell(judged.judge),
                text_cell(LABEL_NAMES.get(label, "Trigger")),
                *(number_cell(value, 1) for value in (found.precision, found.recall, found.f1)),
                *(count_cell(n) for n in (counts.hits, counts.false_alarms, counts.misses, counts.clean)),
            )
            lines.append(Line(cells))
        cells = (
            text_cell(judged.judge),
            text_cell("macro of all labels"),
            *(number_cell(value, 1) for value in judged.macro),
        )
        lines.append(Line((*cells, *(Cell("") for _ in range(4)))))
    return Table(
        "truth",
        "Judges against known labels",
        "Per cent. Known labels come from a generator whose sentences they share: they are easier to predict than "
        "those of real responses.",
        ("Judge", "Label", "precision", "recall", "F1", "hits", "false alarms", "misses", "clean"),
        tuple(lines),
    )


def agreement(report: Report) -> Table | None:
    if report.agreement is None:
        return None
    lines = [
        Line(
            (
                text_cell(f"{pair.first} and {pair.second}"),
                text_cell(LABEL_NAMES[pair.label]),
                rate_cell(pair.equal),
                number_cell(pair.kappa),
            )
        )
        for pair in report.agreement.pairs
    ]
    everyone = f"all {len(report.agreement.judges)} judges"
    for label in LABELS:
        kappa = report.agreement.kappa[label]
        cells = (
            text_cell(everyone),
            text_cell(LABEL_NAMES[label]),
            rate_cell(report.agreement.unanimous[label]),
            number_cell(kappa),
        )
        lines.append(Line(cells))
    whole = rate_cell(report.agreement.unanimous["vector"])
    lines.append(Line((text_cell(everyone), text_cell("all labels"), whole, Cell(MISSING))))
    return Table(
        "agreement",
        "Agreement of the pattern judges",
        "Per cent of responses with equal labels; kappa is Cohen's for two judges and Fleiss' for all.",
        ("Judges", "Label", "equal", "kappa"),
        tuple(lines),
    )


def aggregates(report: Report) -> Table | None:
    if len(report.rows) < 4:
        return None  # a mean over one model repeats the main table
    found = report.aggregates
    names = {"all": "all rows", "nt": MODE_NAMES["nt"], "t": MODE_NAMES["t"]}
    lines = [
        Line((text_cell(names[key]), *(number_cell(found.mean[key].get(label)) for label in LABELS)))
        for key in names
        if found.mean.get(key)
    ]
    return Table(
        "aggregates",
        "Over all models",
        f"Arithmetic means of the label rates. ΔPat is above 20 points for {found.large} of {found.pairs} models and "
        f"positive for {found.positive}.",
        ("Mean of", *(LABEL_NAMES[label] for label in LABELS)),
        tuple(lines),
    )


def policies(report: Report) -> Table:
    families = list(report.policies[0].families) if report.policies else []
    lines = [
        Line(
            (
                text_cell(f"{row.size} {row.policy}"),
                *(number_cell(row.rates.get(m)) for m in MEASURES),
                *(number_cell(row.families[f]) for f in families),
                number_cell(row.gap),
            )
        )
        for row in report.policies
    ]
    return Table(
        "policies",
        "After reinforcement learning (published)",
        "Qwen3-VL policies; gap: Trigger above that of the thinking checkpoint, in points.",
        ("Policy", *(MEASURE_NAMES[m] for m in MEASURES), *families, "gap"),
        tuple(lines),
    )


def benchmarks(report: Report) -> Table:
    names = list(report.benchmarks[0].benchmarks) if report.benchmarks else []
    averages = list(report.benchmarks[0].averages) if report.benchmarks else []
    lines = [
        Line(
            (
                text_cell(f"{row.size} {row.policy}"),
                *(number_cell(row.benchmarks[name]) for name in names),
                *(number_cell(row.averages[name]) for name in averages),
                number_cell(row.overall),
            )
        )
        for row in report.benchmarks
    ]
    return Table(
        "benchmarks",
        "General benchmarks",
        "Accuracy in per cent; overall is the mean of the ten, not of the family averages.",
        ("Policy", *names, *(f"{name} (mean)" for name in averages), "overall"),
        tuple(lines),
    )
