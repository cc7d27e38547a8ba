"""What the questions to the judges cost, counted from the records (plain functions: no torch, no ray, no verl)."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from typing import Any

from foundation.runs.judge_call import JudgeCall
from foundation.runs.scored_rollout import ScoredRollout

SAVED = ("memory", "disk", "shared")
"""Where an answer comes from that needed no request of its own."""


def judge_totals(records: Iterable[ScoredRollout]) -> dict[str, dict[str, Any]]:
    """Totals of each judge that was asked, by its name.

    Returns:
        For each: `calls` (questions), `answered_by` (count by server, shared, memory, disk), `attempts` (HTTP
        requests), `retries` (those that repeated a failed one), `failures` (count by reason), `breaker_openings`, and
        `cache_off` (questions while the configured cache was out of use).
    """
    by_judge: dict[str, list[JudgeCall]] = {}
    for record in records:
        for call in record.judge_calls:
            by_judge.setdefault(call.judge, []).append(call)
    return {judge: _totals(calls) for judge, calls in sorted(by_judge.items())}


def _totals(calls: Sequence[JudgeCall]) -> dict[str, Any]:
    return {
        "calls": len(calls),
        "answered_by": dict(Counter(call.answered_by for call in calls)),
        "attempts": sum(call.attempts for call in calls),
        "retries": sum(call.retries for call in calls),
        "failures": dict(Counter(call.failure for call in calls if call.failure is not None)),
        "breaker_openings": sum(call.openings for call in calls),
        "cache_off": sum(call.cache_off for call in calls),
    }


def judge_metrics(records: Iterable[ScoredRollout]) -> dict[str, float]:
    """The totals as flat metrics: `judge/<name>/calls`, `.../saved/disk`, `.../failures/<reason>` and so on."""
    metrics: dict[str, float] = {}
    for judge, totals in judge_totals(records).items():
        flat = {key: totals[key] for key in ("calls", "attempts", "retries", "breaker_openings", "cache_off")}
        flat["failures"] = sum(totals["failures"].values())
        flat |= {f"failures/{reason}": count for reason, count in totals["failures"].items()}
        flat |= {f"saved/{source}": totals["answered_by"].get(source, 0) for source in SAVED}
        metrics |= {f"judge/{judge}/{key}": float(value) for key, value in flat.items()}
    return metrics


def describe_totals(judge: str, totals: dict[str, Any]) -> str:
    """The totals of one judge as a line for people."""
    sources = totals["answered_by"]
    text = (
        f"judge {judge}: {totals['calls']:,} questions = {sources.get('server', 0):,} to its servers "
        f"({totals['attempts']:,} requests, {totals['retries']:,} of them retries) + {sources.get('shared', 0):,} "
        f"shared with one in flight + {sources.get('memory', 0):,} from memory + {sources.get('disk', 0):,} from the "
        f"cache; {sum(totals['failures'].values()):,} failed"
    )
    if totals["failures"]:
        text += " (" + ", ".join(f"{reason} {count:,}" for reason, count in sorted(totals["failures"].items())) + ")"
    if totals["breaker_openings"]:
        text += f"; circuit breakers opened {totals['breaker_openings']:,} times"
    if totals["cache_off"]:
        text += f"; cache out of use for {totals['cache_off']:,}"
    return text
