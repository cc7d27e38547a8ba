"""What a run achieved, from the files of its run folder: tables on the terminal, summary.json, curves.png."""

from __future__ import annotations

import importlib
import json
import logging
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import yaml
from rich.console import Console
from rich.table import Table

from foundation.labels import LABELS, trigger
from foundation.runs.judge_metrics import describe_totals, judge_totals
from foundation.runs.label_metrics import SOURCES, agreement
from foundation.runs.paired_table import paired_steps, paired_table
from foundation.runs.records import STAGES, Labels
from foundation.runs.run_folder import RunFolder, last_attempt, read_jsonl, write_json
from foundation.runs.scored_rollout import ScoredRollout, read_rollouts
from foundation.runs.service_summary import failure_counts, service_lines, state_figures
from foundation.runs.step_metrics import reward_metrics, verifier_losses

logger = logging.getLogger(__name__)

LabelFunction = Callable[[str, str], dict[str, bool]]
PHASES = {"generate and score": "gen", "advantage": "adv", "update": "update_actor", "weight sync": "update_weights"}


def summarise(folder: RunFolder, console: Console) -> dict[str, Any]:
    """Print the summary of a finished run, write `summary.json` and `curves.png`, and return the summary.

    Raises:
        ValueError: the run folder holds no record of a step, or records that this version cannot read.
    """
    from foundation.runs.curves import draw_curves

    config = yaml.safe_load((folder.path / "config.yaml").read_text())
    train = read_rollouts(folder.records / "train.jsonl")
    heldout = read_rollouts(folder.records / "heldout.jsonl")
    paired = read_rollouts(folder.paired_records)
    steps = last_attempt(read_jsonl(folder.metrics))
    if not train:
        raise ValueError(f"{folder.records / 'train.jsonl'} has no records: the run ended before its first step")
    oracle = load_oracle(config["corpus"]["oracle"])
    summary = {
        "run": config["run"]["name"],
        "steps": max(record.step for record in train),
        "starts": len((folder.read_state() or {"starts": []})["starts"]),
        "heldout": [heldout_figures(heldout, step, oracle) for step in sorted({r.step for r in heldout})],
        "pattern_eval": paired_steps(paired, config["seed"]),
        "stages": stage_shares(train),
        "verifier": verifier_counts(train),
        "calls": call_counts(train, heldout),
        "agreement": agreement([*train, *heldout]),
        "weights": weights_over_time(train),
        "judges": judge_totals([*train, *heldout, *paired]),
        "servers": server_counts(folder),
        "failures": failure_counts(train),
        "states": state_figures(steps),
        "training": reward_metrics(train),
        "seconds_per_step": phase_seconds(steps),
    }
    write_json(folder.summary, summary)
    draw_curves(folder.curves, summary, steps)
    _print(summary, folder, console)
    return summary


def load_oracle(reference: str | None) -> LabelFunction | None:
    """The corpus's own labelling function, `module:function`, where a synthetic corpus has one."""
    if reference is None:
        return None
    module, _, function = reference.partition(":")
    return getattr(importlib.import_module(module), function)


def heldout_figures(heldout: Sequence[ScoredRollout], step: int, oracle: LabelFunction | None) -> dict[str, Any]:
    """Accuracy and label rates of one validation pass, by each judge that labelled it."""
    records = [record for record in heldout if record.step == step]
    scored = [r for r in records if r.verdict.value is not None]
    figures: dict[str, Any] = {
        "step": step,
        "prompts": len(records),
        "accuracy": rate(sum(r.verdict.value == 1 for r in scored), len(scored)),
        "tokens": float(np.mean([r.n_tokens for r in records])),
    }
    labelled = [r.labels.decided for r in records if isinstance(r.labels, Labels)]
    if labelled:
        figures["pattern_rm"] = label_rates(labelled)
    ruled = [r.rule_labels.seen for r in records if r.rule_labels is not None]
    if ruled:
        figures["rules"] = label_rates(ruled)
    if oracle is not None:
        figures["oracle"] = label_rates([oracle(r.question, r.visible) for r in records])
    return figures


def label_rates(vectors: Sequence[Mapping[str, bool | None]]) -> dict[str, dict[str, float]]:
    """Trigger (any label) and the rate of each label; one on which the rules abstain is not seen."""
    rates = {"trigger": rate(sum(map(trigger, vectors)), len(vectors))}
    return rates | {label: rate(sum(bool(vector[label]) for vector in vectors), len(vectors)) for label in LABELS}


def rate(k: int, n: int) -> dict[str, float]:
    """Share k / n with its 95 % Wilson interval (scipy)."""
    from scipy.stats import binomtest

    if n == 0:
        return {"value": float("nan"), "low": float("nan"), "high": float("nan"), "n": 0}
    interval = binomtest(int(k), n).proportion_ci(method="wilson")
    return {"value": k / n, "low": float(interval.low), "high": float(interval.high), "n": n}


def weights_over_time(train: Sequence[ScoredRollout]) -> dict[str, dict[str, float]]:
    """Weight of each label in the first and the last step, and its least and largest (`reward_mix.schedule`)."""
    first, last = (select(train, key=lambda r: r.step).weights for select in (min, max))
    return {
        label: {
            "first": first[label],
            "last": last[label],
            "least": min(r.weights[label] for r in train),
            "largest": max(r.weights[label] for r in train),
        }
        for label in LABELS
    }


def stage_shares(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """Share of rollouts that each verifier stage decided; `unscored` is what nobody could decide."""
    decided = Counter("unscored" if r.verdict.value is None else r.verdict.stage for r in records)
    return {stage: decided[stage] / len(records) for stage in (*STAGES, "unscored")}


def verifier_counts(records: Sequence[ScoredRollout]) -> dict[str, Any]:
    """Rollouts that the verifier left unresolved, by reason, the most frequent first; and the children that it lost."""
    said = [record.verifier for record in records]
    reasons = Counter(verdict.reason for verdict in said if verdict.value is None)
    return {"unresolved": dict(reasons.most_common()), "children_lost": verifier_losses(records)}


def call_counts(train: Sequence[ScoredRollout], heldout: Sequence[ScoredRollout]) -> dict[str, dict[str, int]]:
    """Judge calls of the training rollouts, made and saved by reason, and those of the validation passes."""
    labelled = sum(r.labels is not None for r in train)
    incorrect = sum(r.labels is None and r.verdict.value != 1 for r in train)
    closed = sum(r.labels is None and r.verdict.value == 1 and r.z == 0 for r in train)
    to_fallback = sum(r.verdict.stage == "judge" for r in train)
    return {
        "pattern_rm": {
            "rollouts": len(train),
            "asked": labelled,
            "saved_incorrect": incorrect,
            "saved_gate_closed": closed,
            "saved_decided_by_rules": len(train) - labelled - incorrect - closed,
            "asked_heldout": sum(r.labels is not None for r in heldout),
        },
        "fallback": {
            "rollouts": len(train),
            "asked": to_fallback,
            "saved_by_rules": len(train) - to_fallback,
            "asked_heldout": sum(r.verdict.stage == "judge" for r in heldout),
        },
    }


def server_counts(folder: RunFolder) -> dict[str, Any]:
    """Request counts that the judge servers reported themselves, by judge."""
    return {file.stem: json.loads(file.read_text()) for file in sorted(folder.judges.glob("*.json"))}


def phase_seconds(steps: Sequence[dict[str, Any]]) -> dict[str, float]:
    """Mean seconds of each phase over the steps after the first, which warms up."""
    timed = [row for row in steps if "timing_s/step" in row][1:]
    if not timed:
        return {}
    phases = {
        name: [row[f"timing_s/{key}"] for row in timed if f"timing_s/{key}" in row] for name, key in PHASES.items()
    }
    means = {name: float(np.mean(values)) for name, values in phases.items() if values}
    whole = float(np.mean([row["timing_s/step"] for row in timed]))
    return means | {"other": whole - sum(means.values()), "step": whole}


def _print(summary: dict[str, Any], folder: RunFolder, console: Console) -> None:
    console.print()
    if len(summary["heldout"]) > 1:
        console.print(_heldout_table(summary["heldout"][0], summary["heldout"][-1]))
    if summary["pattern_eval"]:
        console.print(paired_table(summary["pattern_eval"][0], summary["pattern_eval"][-1]))
    stages = "  ".join(f"{stage} {share:.1%}" for stage, share in summary["stages"].items())
    console.print(f"verifier stage that decided: {stages}")
    lost = summary["verifier"]["children_lost"]
    if any(lost.values()):
        timeouts = summary["verifier"]["unresolved"].get("symbolic_timeout", 0)
        console.print(
            f"symbolic stage: {timeouts:,} rollouts timed out; {lost['killed']:,} children killed, "
            f"{lost['died']:,} died by themselves"
        )
    pattern, fallback = summary["calls"]["pattern_rm"], summary["calls"]["fallback"]
    console.print(
        f"fallback judge: asked for {fallback['asked']:,} of {fallback['rollouts']:,} training rollouts, "
        f"{fallback['saved_by_rules']:,} saved by the rules; {fallback['asked_heldout']:,} held-out"
    )
    if pattern["asked"] + pattern["asked_heldout"]:
        console.print(
            f"PatternRM: asked for {pattern['asked']:,} of {pattern['rollouts']:,} training rollouts, saved "
            f"{pattern['saved_incorrect']:,} (answer not right), {pattern['saved_gate_closed']:,} (gate closed) and "
            f"{pattern['saved_decided_by_rules']:,} (the rules sufficed); {pattern['asked_heldout']:,} held-out"
        )
    else:
        console.print("PatternRM: not part of this reward")
    training = summary["training"]
    if "trigger" in training:
        labels = ", ".join(f"{label} {training[f'label/{label}']:.1%}" for label in LABELS)
        console.print(
            f"labelled training rollouts: Trigger {training['trigger']:.1%} ({labels}); gate open for "
            f"{training['gate_open']:.1%}, penalty {training['penalty/applied_mean']:.4f} a rollout"
        )
    if summary["agreement"]:
        console.print(f"PatternRM and the rules: {_agreement(summary['agreement'])}")
    moved = {label: w for label, w in summary["weights"].items() if w["least"] != w["largest"]}
    if moved:
        shown = (
            f"{label} {w['first']:g} -> {w['last']:g} ({w['least']:g} to {w['largest']:g})"
            for label, w in moved.items()
        )
        console.print(f"pattern weights, first -> last step: {', '.join(shown)}")
    for judge, totals in summary["judges"].items():
        console.print(describe_totals(judge, totals))
    for judge, counts in summary["servers"].items():
        moves = len(counts["replicas"]) - len({replica["name"] for replica in counts["replicas"]})
        console.print(
            f"requests that the servers of {judge} counted in the last start: {counts['requests']:,.0f}; started again "
            f"{counts['restarts']:,} times, moved {moves:,} times"
        )
    for line in service_lines(summary["failures"], summary["states"]):
        console.print(line)
    if summary["seconds_per_step"]:
        phases = ", ".join(f"{name} {s:.2f}" for name, s in summary["seconds_per_step"].items() if name != "step")
        console.print(f"seconds a step: {summary['seconds_per_step']['step']:.2f} ({phases})")
    console.print(f"\nrun folder  {folder.path}\ncurves      {folder.curves}")
    kept = [folder.records / f"{split}.jsonl" for split in ("train", "heldout", "pattern_eval")]
    console.print("records     " + "\n            ".join(str(path) for path in kept if path.exists()))
    console.print(f"checkpoint  {folder.hugging_face_export() or 'none written (trainer.save_freq)'}")


def _agreement(found: dict[str, dict[str, float]]) -> str:
    """`cot 97.0 % of 1,200 (kappa 0.93), ...`"""
    return ", ".join(
        f"{label} {figures['share']:.1%} of {figures['n']:,.0f}"
        + (f" (kappa {figures['kappa']:.2f})" if "kappa" in figures else "")
        for label, figures in found.items()
    )


def _heldout_table(before: dict[str, Any], after: dict[str, Any]) -> Table:
    table = Table(title=f"{before['prompts']:,} held-out prompts, rates in % with 95 % intervals")
    for column in ("", "judged by", f"before (step {before['step']})", f"after (step {after['step']})", "change"):
        table.add_column(column, justify="left" if column in ("", "judged by") else "right")
    table.add_row("accuracy", "verifier", *_cells(before["accuracy"], after["accuracy"]))
    for judge, name in SOURCES:
        if judge in before and judge in after:
            for row in ("trigger", *LABELS):
                shown = "Trigger" if row == "trigger" else f"  {row}"
                table.add_row(shown, name, *_cells(before[judge][row], after[judge][row]))
    table.add_row(
        "tokens", "", f"{before['tokens']:.1f}", f"{after['tokens']:.1f}", f"{after['tokens'] - before['tokens']:+.1f}"
    )
    return table


def _cells(before: dict[str, float], after: dict[str, float]) -> tuple[str, str, str]:
    def shown(r: dict[str, float]) -> str:
        return f"{100 * r['value']:.1f} [{100 * r['low']:.1f}, {100 * r['high']:.1f}]"

    return shown(before), shown(after), f"{100 * (after['value'] - before['value']):+.1f}"
