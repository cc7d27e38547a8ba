"""What the summary of a run says of the reward service: failures, waits, servers, cache, accuracy guard."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foundation.runs.scored_rollout import ScoredRollout
from foundation.runs.step_metrics import failures, waits_s

FAMILIES = ("servers", "endpoints", "memory", "cache", "reward_workers")
"""First parts of the metrics that are a state of the service (`trainer.frame.service_metrics`)."""


def failure_counts(train: Sequence[ScoredRollout]) -> dict[str, Any]:
    """What could not be scored or labelled by reason, the groups that taught nothing for it, and waits for a judge."""
    groups = {(record.step, record.group) for record in train if record.reward is None}
    waits = waits_s(train)
    waited = {"rollouts": len(waits), "longest_s": max(waits, default=0.0)}
    return {**failures(train), "groups_dropped": len(groups), "waited": waited}


def state_figures(steps: Sequence[dict[str, Any]]) -> dict[str, dict[str, float]]:
    """Last, least and largest value over the steps of each metric that is a state: servers, cache, accuracy guard."""
    families = tuple(f"reward_mix/{family}/" for family in (*FAMILIES, "accuracy_guard"))
    names = dict.fromkeys(name for row in steps for name in row if name.startswith(families))
    found = {name: [row[name] for row in steps if name in row] for name in names}
    return {
        name.removeprefix("reward_mix/"): {"last": values[-1], "least": min(values), "largest": max(values)}
        for name, values in found.items()
    }


def service_lines(failed: Mapping[str, Any], states: Mapping[str, Mapping[str, float]]) -> list[str]:
    """What failed, what was waited for, and the states that a person should know of; nothing for what went well."""
    lines = []
    for kind, consequence in (
        ("unscored", f"; groups that taught nothing for it: {failed['groups_dropped']:,}"),
        ("unlabelled", ", no penalty"),
    ):
        reasons = failed[kind]
        if reasons:
            shown = ", ".join(f"{reason} {count:,}" for reason, count in reasons.items())
            lines.append(f"{kind} training rollouts: {sum(reasons.values()):,} ({shown}){consequence}")
    waited = failed["waited"]
    if waited["rollouts"]:
        lines.append(
            f"rollouts that waited for a judge: {waited['rollouts']:,}, the longest {waited['longest_s']:.0f} s"
        )
    for name, known in states.items():
        family, _, rest = name.partition("/")
        judge, _, figure = rest.partition("/")
        if family == "endpoints" and figure == "known":
            least = states[f"endpoints/{judge}/admitting"]["least"]
            if least < known["largest"]:
                lines.append(f"servers of {judge} that could be asked at the end of a step: {least:.0f} at the least")
    if states.get("reward_workers/restarts", {}).get("largest"):
        lines.append(f"reward workers started again: {states['reward_workers/restarts']['largest']:.0f} times")
    if "cache/mb" in states:
        lines.append(f"judge cache on disk: {states['cache/mb']['last']:,.1f} MB")
    if "accuracy_guard/factor" in states:
        guard = states["accuracy_guard/factor"]
        lines.append(
            f"accuracy guard: all weights x {guard['last']:.2f} at the end, x {guard['least']:.2f} at the least"
        )
    return lines
