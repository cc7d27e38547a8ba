"""What a term of the reward is: it looks at a rollout and at what the terms before it found, and gives a value."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol

from foundation.runs.records import (
    Labels,
    Role,
    RuleLabels,
    SymbolicLosses,
    TermValue,
    Unlabelled,
    Verdict,
)
from reward_workers.mix import Mix
from reward_workers.waiting import JudgeWait


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the terms need to know of one rollout.

    Attributes:
        group: row of the prompt in its data set; the gate uses it.
        rollout: index of the rollout in its group, 0..n-1.
        visible: the text that the user sees (foundation.responses.channels).
        mix: weights and cap of the pattern penalty in force for it; the trainer sends them (`reward_mix.schedule`).
        n_tokens: generated tokens; truncated: stopped at the length limit.
        validate: rollout of a validation pass: always labelled where a PatternRM exists.
    """

    prompt_id: str
    group: int
    step: int
    rollout: int
    question: str
    reference: str
    visible: str
    mix: Mix
    answer_type: str | None = None
    options: list[str] | None = None
    n_tokens: int = 0
    truncated: bool = False
    validate: bool = False


@dataclass(slots=True)
class Findings:
    """What the terms found so far; each one fills its own fields, which become those of the record."""

    verdict: Verdict | None = None
    verifier: Verdict | None = None
    losses: SymbolicLosses = field(default_factory=SymbolicLosses)
    anls: float | None = None
    z: int = 0
    labels: Labels | Unlabelled | None = None
    rule_labels: RuleLabels | None = None
    charged: Mapping[str, float] | None = None
    penalty: float = 0.0
    terms: dict[str, TermValue] = field(default_factory=dict)


class RewardTerm(Protocol):
    """One summand or factor of the reward.

    Attributes:
        name: key of its value in `RewardRecord.terms` and in the metrics.
        role: how its value enters the reward (`reward_workers.mix.combine`).
        judges: those that it asks, by their key in the configuration.
    """

    @property
    def name(self) -> str: ...

    @property
    def role(self) -> Role: ...

    @property
    def judges(self) -> Mapping[str, object]: ...

    async def score(self, rollout: Rollout, found: Findings, wait: JudgeWait) -> TermValue:
        """The value for one rollout; value None with a reason where it could not be scored, never a guess.

        Args:
            found: what the terms before this one found; this one adds its own fields.
            wait: the one way to ask a judge, which waits for one that is away.
        """
        ...
