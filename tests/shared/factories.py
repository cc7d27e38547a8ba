"""Whole scored rollouts for tests: sensible defaults, and what a test is about as keywords."""

from __future__ import annotations

from typing import Any

from foundation.labels import LABELS
from foundation.runs.judge_call import JudgeCall
from foundation.runs.records import Labels, RuleLabels, SymbolicLosses, TermValue, Verdict
from foundation.runs.scored_rollout import ScoredRollout

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}
"""Of the paper."""


def scored(value: int | None = 1, **changes: Any) -> ScoredRollout:
    """A rollout that the rules decided and nobody labelled.

    Args:
        value: of its verdict; the reward is the same unless `reward` says another one.
        changes: fields of `ScoredRollout`. The verifier said what the verdict says unless `verifier` says otherwise,
            and the terms follow from verdict, gate and penalty.
    """
    verdict = changes.get("verdict", Verdict(value, "exact", "identical", "3"))
    fields: dict[str, Any] = {
        "prompt_id": "p0",
        "step": 1,
        "group": 0,
        "rollout": 0,
        "verdict": verdict,
        "verifier": verdict,
        "losses": SymbolicLosses(),
        "anls": None,
        "z": 1,
        "labels": None,
        "rule_labels": None,
        "charged": None,
        "weights": WEIGHTS,
        "cap": 0.1,
        "penalty": 0.0,
        "reward": None if verdict.value is None else float(verdict.value),
        "n_tokens": 10,
        "truncated": False,
        "mode": "nt",
        "question": "How many?",
        "reference": "3",
        "visible": r"\boxed{3}",
        "flags": (),
        "judge_calls": (),
    }
    fields |= changes
    s_ver = TermValue("summand", None if verdict.value is None else float(verdict.value), verdict.reason)
    s_pat = TermValue("summand", -fields["penalty"] if fields["z"] else 0.0)
    return ScoredRollout(**({"terms": {"verifier": s_ver, "pattern": s_pat}} | fields))


def labelled(*seen: str, p: float | None = 0.5, latency_s: float = 0.0) -> Labels:
    """PatternRM's labels: those that are named, and of every label this probability."""
    assert set(seen) <= set(LABELS), seen
    return Labels({label: label in seen for label in LABELS}, dict.fromkeys(LABELS, p), latency_s=latency_s)


def ruled(**seen: bool | None) -> RuleLabels:
    """The detectors' labels; what is not named they did not see."""
    return RuleLabels(dict.fromkeys(LABELS, False) | seen)


def judge_call(judge: str = "fallback", **changes: Any) -> JudgeCall:
    """A question that a server answered at once."""
    fields: dict[str, Any] = {"answered_by": "server", "failure": None, "attempts": 1, "latency_s": 0.1}
    return JudgeCall(judge, **(fields | changes))
