"""The records that flow from a rollout to the metrics: verdict, labels, reward.

Plain frozen dataclasses without torch, ray or verl, so that every part and every test can build them by hand.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from foundation.labels import LABELS, trigger

RECORD_SCHEMA = 2
"""Of the lines in `records/*.jsonl` of a run folder; raised when a field of them changes its name or its meaning."""

STAGES = ("extract", "exact", "typed", "symbolic", "judge")
"""The verifier stages, in the order of the cascade."""

Stage = Literal["extract", "exact", "typed", "symbolic", "judge"]


@dataclass(frozen=True, slots=True)
class Verdict:
    """Whether the boxed answer of a rollout is right.

    Attributes:
        value: 1 right, 0 wrong, None unresolved (by the rules) or unscored (by the judge).
        stage: the stage that decided, or the last one that tried.
        reason: short code such as ``no_box``, ``equal_number``, ``judge_timeout``.
        extracted: content of the last box of the visible response; None when there is none.
        latency_s: wall time spent, in seconds.
    """

    value: int | None
    stage: Stage
    reason: str
    extracted: str | None = None
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class SymbolicLosses:
    """Child processes of the symbolic stage that were lost over some time.

    Attributes:
        killed: at the deadline of their question.
        died: by themselves, for example at their memory limit.
    """

    killed: int = 0
    died: int = 0


@dataclass(frozen=True, slots=True)
class Labels:
    """The pattern labels of one visible response, as a judge gave them.

    Attributes:
        decided: each label of `foundation.labels`, present or not.
        p: probability of each label in 0..1, None where the judge gives none.
        source: who labelled, such as ``pattern_rm``.
        latency_s: wall time of the call, in seconds.
    """

    decided: Mapping[str, bool]
    p: Mapping[str, float | None] = field(default_factory=lambda: dict.fromkeys(LABELS))
    source: str = "pattern_rm"
    latency_s: float = 0.0

    def __post_init__(self) -> None:
        if tuple(self.decided) != LABELS or tuple(self.p) != LABELS:
            raise ValueError(f"labels are {', '.join(LABELS)}, not {', '.join(self.decided)} and {', '.join(self.p)}")

    @property
    def trigger(self) -> bool:
        """One label at least."""
        return trigger(self.decided)


@dataclass(frozen=True, slots=True)
class Unlabelled:
    """A judge was asked for labels and gave no usable vector: no penalty, and counted."""

    reason: str
    latency_s: float = 0.0


@dataclass(frozen=True, slots=True)
class RuleLabels:
    """What the rule-based detectors say of one visible response (`reward_workers.detectors`).

    Attributes:
        seen: True where a rule saw the label, False where none did, None where the rules abstain.
        reasons: the rules that spoke, such as ``cot:self_correction``.
    """

    seen: Mapping[str, bool | None]
    reasons: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        if tuple(self.seen) != LABELS:
            raise ValueError(f"labels are {', '.join(LABELS)}, not {', '.join(self.seen)}")


Role = Literal["summand", "factor"]
"""How a term enters the reward: clip(sum of the summands, 0, 1) * product of the factors."""


@dataclass(frozen=True, slots=True)
class TermValue:
    """What one term of the reward says of a rollout.

    Attributes:
        role: summand or factor.
        value: its number; None where it could not be scored, and with it the rollout.
        reason: why there is no number.
    """

    role: Role
    value: float | None
    reason: str = ""


@dataclass(frozen=True, slots=True)
class RewardRecord:
    """One rollout, scored.

    Attributes:
        prompt_id: stable id of the prompt in its corpus.
        step: global step of training; the step of the weights in validation.
        group: index of the prompt in its data set; its rollouts of one step are a GRPO group.
        rollout: index of the rollout in its group, 0..n-1.
        verdict: the verdict that the reward uses.
        verifier: what the verifier said by itself; differs from `verdict` where the fallback judge was asked.
        losses: symbolic children that the reward worker lost since its record before this one, whichever rollout they
            worked for: only sums over records mean something.
        anls: similarity to the reference in 0..1 for answer type ``doc_text``, None for the others (policy 12).
        z: the gate of the pattern penalty, 0 or 1.
        labels: PatternRM's; None where it was not asked.
        rule_labels: the detectors'; None for an empty response.
        charged: what the penalty is computed of, 0..1 for each label (`label_source.charged_labels`); None where there
            is no penalty, or a source that it needs was not asked.
        weights, cap: those in force for this rollout, weights by label (`reward_mix.schedule`).
        penalty: what the charged labels cost before gate and clip, 0..cap; 0.0 without them.
        terms: the terms of the reward by name, such as verifier (s_ver) and pattern (s_pat).
        reward: clip(sum of the summands, 0, 1) * product of the factors; None when a term could not be scored.
        n_tokens: generated tokens.
        truncated: generation stopped at the length limit.
    """

    prompt_id: str
    step: int
    group: int
    rollout: int
    verdict: Verdict
    verifier: Verdict
    losses: SymbolicLosses
    anls: float | None
    z: int
    labels: Labels | Unlabelled | None
    rule_labels: RuleLabels | None
    charged: Mapping[str, float] | None
    weights: Mapping[str, float]
    cap: float
    penalty: float
    terms: Mapping[str, TermValue]
    reward: float | None
    n_tokens: int
    truncated: bool

    @property
    def unscored_reason(self) -> str | None:
        """Why there is no reward: of the first term without a value; None where there is one."""
        return next((term.reason for term in self.terms.values() if term.value is None), None)
