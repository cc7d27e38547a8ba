"""What the W&B workspace of a project shows: sections of panels over the metrics and the settings of runs.

Plain data: the names are those of `foundation.runs.step_metrics` (`reward_mix/*` while training, `heldout/*` in
validation), of verl's timings, and of `trainer.frame.tracking`. Knows nothing of W&B; `launch.wandb_workspace` draws
them.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foundation.labels import LABELS
from foundation.runs.judge_metrics import SAVED
from foundation.runs.records import STAGES
from foundation.runs.summary import PHASES
from foundation.settings.asked_judges import JUDGES
from reward_workers.detectors import DETECTORS
from trainer.frame.tracking.wandb_tracker import TRADE_OFFS

WEIGHTS = tuple(f"reward_mix.weights.{label}" for label in LABELS)
VARIED = ("reward_mix.name", *WEIGHTS, "reward_mix.gate.probability")
"""Settings that sweeps vary most: axes of the parallel coordinates, and what runs are grouped by, over their seeds."""


@dataclass(frozen=True, slots=True)
class Curves:
    """Lines of metrics over the training step, or over another metric; `stacked`: one area on the other."""

    title: str
    metrics: tuple[str, ...]
    over: str | None = None
    stacked: bool = False


@dataclass(frozen=True, slots=True)
class Scatter:
    """A point for each run, or group of runs: the last values of two metrics."""

    title: str
    x: str
    y: str


@dataclass(frozen=True, slots=True)
class Parallel:
    """A line for each run, or group of runs, through its settings and the last values of metrics."""

    title: str
    settings: tuple[str, ...]
    metrics: tuple[str, ...]


Panel = Curves | Scatter | Parallel


@dataclass(frozen=True, slots=True)
class Section:
    """A titled row of panels."""

    title: str
    panels: tuple[Panel, ...]


def sections(varied: Sequence[str] = VARIED) -> tuple[Section, ...]:
    """The sections of the workspace.

    Args:
        varied: keys of the configuration that the runs of a sweep differ in, without the seed.
    """
    return (_reward(), _trade_off(), _labels(), _judges(), _time(), _sweep(varied))


def metrics_of(panel: Panel) -> set[str]:
    """Names of the metrics that a panel shows."""
    if isinstance(panel, Curves):
        return {*panel.metrics, *([panel.over] if panel.over else [])}
    if isinstance(panel, Scatter):
        return {panel.x, panel.y}
    return set(panel.metrics)


def _reward() -> Section:
    return Section(
        "Reward components",
        (
            Curves("reward and accuracy", _train("reward/mean", "accuracy")),
            Curves("penalty: of charged labels, taken from rewards", _train("penalty/mean", "penalty/applied_mean")),
            Curves("gate open, share labelled by PatternRM", _train("gate_open", "labelled")),
            Curves(
                "shares of groups",
                _train(*(f"groups/{kind}_variance" for kind in ("zero", "pattern_only", "gate_only"))),
            ),
            Curves("verifier stage that decided", _train(*(f"stage/{stage}" for stage in STAGES))),
            Curves("weights in force", _train(*(f"weight/{label}" for label in LABELS))),
            Curves("held-out reward and accuracy", ("heldout/reward/mean", "heldout/accuracy")),
            Curves("tokens of a rollout", ("reward_mix/n_tokens/mean", "heldout/n_tokens/mean")),
        ),
    )


def _trade_off() -> Section:
    """Runs without a PatternRM (BaseRL) have the labels of the rules only, so that those compare all arms."""
    return Section(
        "Accuracy against Trigger",
        (
            Scatter("held-out, labels of PatternRM", "heldout/trigger", "heldout/accuracy"),
            Scatter("held-out, labels of the rules", "heldout/rules/trigger", "heldout/accuracy"),
            *(
                Curves(f"{accuracy} over Trigger, a point an evaluation", (name,), over=trigger)
                for name, (accuracy, trigger) in TRADE_OFFS.items()
            ),
        ),
    )


def _labels() -> Section:
    rates = ("trigger", *(f"label/{label}" for label in LABELS))
    by_rules = tuple(f"rules/{rate}" for rate in rates)
    decides = {label for label, detector in DETECTORS.items() if detector.decides}
    decided = _train(*(f"agreement/{label}/share" for label in LABELS if label in decides))
    return Section(
        "Label rates",
        (
            Curves("training, by PatternRM (right answers behind an open gate)", _train(*rates)),
            Curves("training, by the rules (all rollouts)", _train(*by_rules)),
            Curves("held-out, by PatternRM", tuple(f"heldout/{rate}" for rate in rates)),
            Curves("held-out, by the rules", tuple(f"heldout/{rate}" for rate in by_rules)),
            Curves("share of equal labels, PatternRM and rules", decided),
        ),
    )


def _judges() -> Section:
    judges = tuple(JUDGES)
    return Section(
        "Judges",
        (
            Curves("latency of PatternRM (s)", _train("latency_s/pattern_rm/p50", "latency_s/pattern_rm/p95")),
            Curves("latency of the fallback judge (s)", _train("latency_s/judge/p50", "latency_s/judge/p95")),
            Curves(
                "rollouts with a call to PatternRM, and saved", _train("calls/pattern_rm", "calls/pattern_rm_saved")
            ),
            Curves("rollouts with a call to the fallback, and saved", _train("calls/fallback", "calls/fallback_saved")),
            Curves(
                "questions that needed no request",
                _train(*(f"judge/{judge}/saved/{source}" for judge in judges for source in SAVED)),
            ),
            Curves("unscored rollouts, groups with one", _train("unscored", "groups/with_unscored")),
            Curves(
                "failures, retries, openings of breakers",
                _train(*(f"judge/{j}/{kind}" for j in judges for kind in ("failures", "retries", "breaker_openings"))),
            ),
        ),
    )


def _time() -> Section:
    phases = tuple(f"timing_s/{phase}" for phase in PHASES.values())
    return Section(
        "Time by phase",
        (Curves("seconds of a step by phase", phases, stacked=True), Curves("seconds of a step", ("timing_s/step",))),
    )


def _sweep(varied: Sequence[str]) -> Section:
    figures = ("heldout/accuracy", "heldout/rules/trigger", *(f"heldout/rules/label/{label}" for label in LABELS))
    return Section(
        "Sweep",
        (
            Parallel("settings against held-out accuracy and the rules' labels", tuple(varied), figures),
            Parallel(
                "settings against held-out accuracy and PatternRM's labels",
                tuple(varied),
                ("heldout/accuracy", "heldout/trigger", *(f"heldout/label/{label}" for label in LABELS)),
            ),
        ),
    )


def _train(*names: str) -> tuple[str, ...]:
    return tuple(f"reward_mix/{name}" for name in names)
