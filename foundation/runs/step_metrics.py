"""Aggregates of the reward records of one step (plain functions: no torch, no ray, no verl)."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from foundation.runs.judge_call import is_unreachable
from foundation.runs.judge_metrics import judge_metrics
from foundation.runs.label_metrics import label_metrics
from foundation.runs.records import STAGES, Unlabelled
from foundation.runs.scored_rollout import ScoredRollout

TIMEOUT_ALARM = 0.005
"""Share of rollouts whose verdict the symbolic deadline cost, above which a step says so."""


def reward_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """Reward components of one step or one validation pass.

    Args:
        records: at least one record; a group is the records of one prompt.

    Returns:
        Flat metric names and values. Shares are in 0..1, latencies in seconds. A rate without a denominator (no
        rollout labelled, say) is left out instead of being reported as 0.
    """
    if not records:
        raise ValueError("reward metrics need at least one record: the step had no rollout")
    n = len(records)
    verdicts = [record.verdict for record in records]
    metrics: dict[str, float] = {
        "accuracy": _share(verdict.value == 1 for verdict in verdicts),
        "unscored": _share(record.reward is None for record in records),
        "gate_open": _share(record.z == 1 for record in records),
        "n_tokens/mean": float(np.mean([record.n_tokens for record in records])),
        "truncated": _share(record.truncated for record in records),
    }
    metrics |= {f"stage/{stage}": _share(verdict.stage == stage for verdict in verdicts) for stage in STAGES}
    rewards = [record.reward for record in records if record.reward is not None]
    if rewards:
        metrics |= {"reward/mean": float(np.mean(rewards)), "reward/std": float(np.std(rewards))}
    for part in PARTS:
        metrics |= part(records)
    metrics["rollouts"] = float(n)
    return metrics


def _term_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """The mean of each term of the reward over the rollouts where it has a value, and the share where it has none."""
    metrics = {}
    for name in dict.fromkeys(name for record in records for name in record.terms):
        values = [record.terms[name].value for record in records if name in record.terms]
        known = [value for value in values if value is not None]
        metrics[f"term/{name}/missing"] = 1 - len(known) / len(values)
        if known:
            metrics[f"term/{name}/mean"] = float(np.mean(known))
    return metrics


def _verifier_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """What the verifier did before any judge was asked, and how long each stage took.

    The latency of a rule stage is the verifier's whole time for a rollout that ended in that stage, so that the stages
    before it count too; the latency of the judge is its own.
    """
    said = [record.verifier for record in records]
    losses = verifier_losses(records)
    metrics = {
        "verifier/unresolved": _share(verdict.value is None for verdict in said),
        "verifier/symbolic": _share(verdict.stage == "symbolic" for verdict in said),
        "verifier/symbolic_timeouts": _share(verdict.reason == "symbolic_timeout" for verdict in said),
        "verifier/guard_blocked": _share(verdict.reason.startswith("guard_") for verdict in said),
        "verifier/children_killed": float(losses["killed"]),
        "verifier/children_died": float(losses["died"]),
    }
    for stage in STAGES[:-1]:
        metrics |= _latency(stage, [verdict.latency_s for verdict in said if verdict.stage == stage])
    similarities = [record.anls for record in records if record.anls is not None]
    if similarities:
        metrics["anls/doc_text"] = float(np.mean(similarities))
    return metrics


def verifier_losses(records: Iterable[ScoredRollout]) -> dict[str, int]:
    """Symbolic children that the reward workers lost while they scored these records."""
    losses = [record.losses for record in records]
    return {"killed": sum(loss.killed for loss in losses), "died": sum(loss.died for loss in losses)}


def timeout_alarm(metrics: Mapping[str, float], timeout_s: float) -> str | None:
    """The line that a step prints when the symbolic deadline cost too many verdicts; None otherwise."""
    share = metrics["verifier/symbolic_timeouts"]
    if share <= TIMEOUT_ALARM:
        return None
    return (
        f"ALARM: the symbolic stage timed out for {share:.1%} of {metrics['rollouts']:.0f} rollouts (above "
        f"{TIMEOUT_ALARM:.1%}); each went to the fallback judge. Look at the records with verifier.reason="
        f"symbolic_timeout; when they are honest answers, raise reward_mix.verifier.symbolic_timeout_s={timeout_s:g}"
    )


def _call_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """Rollouts for which a judge was needed, and those for which none was; failures among them; and the wait for it."""
    asked_patterns = [r.labels for r in records if r.labels is not None]
    asked_fallback = [r for r in records if r.verdict.stage == "judge"]
    metrics = {
        "calls/pattern_rm": float(len(asked_patterns)),
        "calls/pattern_rm_saved": float(len(records) - len(asked_patterns)),
        "calls/pattern_rm_failed": float(sum(isinstance(labels, Unlabelled) for labels in asked_patterns)),
        "calls/fallback": float(len(asked_fallback)),
        "calls/fallback_saved": float(len(records) - len(asked_fallback)),
        "calls/fallback_failed": float(sum(r.verdict.value is None for r in asked_fallback)),
    }
    metrics |= _latency("pattern_rm", [labels.latency_s for labels in asked_patterns])
    metrics |= _latency("judge", [r.verdict.latency_s for r in asked_fallback])
    return metrics


def _failure_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """Rollouts without a verdict and those without labels that were asked for, by reason; and waits for a judge."""
    lost = failures(records)
    waits = waits_s(records)
    metrics = {f"{kind}/{reason}": float(n) for kind, reasons in lost.items() for reason, n in reasons.items()}
    return metrics | {"waited/rollouts": float(len(waits)), "waited/longest_s": max(waits, default=0.0)}


def failures(records: Iterable[ScoredRollout]) -> dict[str, dict[str, int]]:
    """Rollouts without a verdict or a term of the reward (`unscored`), or without the labels that were asked for
    (`unlabelled`), by reason, the most frequent first.
    """
    found: dict[str, Counter[str]] = {"unscored": Counter(), "unlabelled": Counter()}
    for record in records:
        if record.verdict.value is None:  # also where reward_mix.on_unscored=count_as_incorrect gave it a reward
            found["unscored"][record.verdict.reason] += 1
        elif record.unscored_reason is not None:
            found["unscored"][record.unscored_reason] += 1
        if isinstance(record.labels, Unlabelled):
            found["unlabelled"][record.labels.reason] += 1
    return {kind: dict(reasons.most_common()) for kind, reasons in found.items()}


def waits_s(records: Iterable[ScoredRollout]) -> list[float]:
    """How long each rollout waited that found a judge out of reach, in seconds; the longer one of both judges."""
    waits = []
    for record in records:
        away = {c.judge for c in record.judge_calls if c.failure is not None and is_unreachable(c.failure)}
        waited = [record.verdict.latency_s] if "fallback" in away else []
        if "pattern_rm" in away and record.labels is not None:
            waited.append(record.labels.latency_s)
        if waited:
            waits.append(max(waited))
    return waits


def _latency(name: str, seconds: list[float]) -> dict[str, float]:
    if not seconds:
        return {}
    p50, p95 = np.percentile(seconds, [50, 95])
    return {f"latency_s/{name}/p50": float(p50), f"latency_s/{name}/p95": float(p95)}


def _group_metrics(records: Sequence[ScoredRollout]) -> dict[str, float]:
    """Where the variance that GRPO divides by comes from.

    A group without variance teaches nothing. In a group whose verdicts agree, the penalty is the only variance; it is
    *gate-only* when every rollout with known labels has the same penalty, so that the rewards differ by z alone: its
    advantages are pure noise. PatternRM is not asked behind a closed gate, so this share is then an upper bound.
    """
    groups: dict[tuple[int, int], list[ScoredRollout]] = defaultdict(list)
    for record in records:
        groups[record.step, record.group].append(record)
    groups = {key: group for key, group in groups.items() if len(group) > 1}
    if not groups:
        return {}
    return {
        "groups/zero_variance": _share_of(groups.values(), lambda group: not _rewards_differ(group)),
        "groups/pattern_only_variance": _share_of(
            groups.values(), lambda group: _rewards_differ(group) and not _verdicts_differ(group)
        ),
        "groups/gate_only_variance": _share_of(groups.values(), is_gate_only),
        "groups/with_unscored": _share_of(groups.values(), lambda group: any(r.reward is None for r in group)),
    }


def is_gate_only(group: Sequence[ScoredRollout]) -> bool:
    """Whether the rewards of this group differ by the gate alone, as far as its labels tell."""
    if not _rewards_differ(group) or _verdicts_differ(group):
        return False
    return len({record.penalty for record in group if record.charged is not None}) == 1


def _rewards_differ(group: Iterable[ScoredRollout]) -> bool:
    return len({record.reward for record in group}) > 1


def _verdicts_differ(group: Iterable[ScoredRollout]) -> bool:
    return len({record.verdict.value for record in group}) > 1


def _share(flags: Iterable[Any]) -> float:
    return float(np.mean([bool(flag) for flag in flags]))


def _share_of(groups: Iterable[Sequence[ScoredRollout]], holds: Callable[[Sequence[ScoredRollout]], bool]) -> float:
    return _share(holds(group) for group in groups)


PARTS: tuple[Callable[[Sequence[ScoredRollout]], dict[str, float]], ...] = (
    _term_metrics,
    _verifier_metrics,
    label_metrics,
    _call_metrics,
    _failure_metrics,
    judge_metrics,
    _group_metrics,
)
"""What the metrics of a step consist of; those of a further reward term are one more function of the records."""
