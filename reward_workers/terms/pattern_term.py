"""The term s_pat = -z * min(cap, sum_p w_p * b_p): what the patterns of the visible response cost.

Work that cannot change the reward is not done: a wrong answer is 0 whatever its patterns, and a closed gate makes the
penalty 0, so PatternRM is asked only for right answers behind an open gate, unless labels are wanted for monitoring.
The rule-based detectors label every response: they cost milliseconds.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Protocol

from foundation.runs.records import Labels, Role, RuleLabels, TermValue, Unlabelled
from reward_workers.detectors import detect_patterns
from reward_workers.gate import Gate
from reward_workers.label_source import LabelSource, PenaltyKind, charged_labels, decided_by_rules
from reward_workers.terms.term import Findings, Rollout
from reward_workers.waiting import JudgeWait


class PatternJudgeLike(Protocol):
    async def label(self, question: str, response: str) -> Labels | Unlabelled: ...


@dataclass(frozen=True, slots=True)
class PatternTerm:
    """Gate, labels and penalty; stands behind the verifier's term, whose verdict it reads.

    Attributes:
        pattern_rm: None for BaseRL and where the rules alone are the source of labels: nobody is asked.
        source: whose labels the penalty charges; None means BaseRL: s_pat = 0, the rules' labels are for the log.
        penalty: charge hard labels (the paper) or probabilities.
        score_incorrect: label wrong rollouts too, for monitoring; the reward does not change.
    """

    pattern_rm: PatternJudgeLike | None
    gate: Gate
    source: LabelSource | None = "pattern_rm"
    penalty: PenaltyKind = "hard"
    score_incorrect: bool = False
    name: str = "pattern"
    role: Role = "summand"

    def __post_init__(self) -> None:
        if (self.pattern_rm is None) != (self.source in (None, "rules")):
            raise ValueError(f"source={self.source!r} {'needs' if self.pattern_rm is None else 'asks no'} PatternRM")

    @property
    def judges(self) -> Mapping[str, object]:
        return {} if self.pattern_rm is None else {"pattern_rm": self.pattern_rm}

    async def score(self, rollout: Rollout, found: Findings, wait: JudgeWait) -> TermValue:
        found.z = int(self.gate.is_open(step=rollout.step, group=rollout.group, rollout=rollout.rollout))
        found.rule_labels = rules = detect_patterns(rollout.visible) if rollout.visible else None
        found.labels = labels = await self._labels(rollout, found, rules, wait)
        if self.source is not None:
            found.charged = charged_labels(self.source, self.penalty, labels, rules)
        found.penalty = rollout.mix.penalty(found.charged)
        return TermValue(self.role, -found.penalty if found.z else 0.0)

    async def _labels(
        self, rollout: Rollout, found: Findings, rules: RuleLabels | None, wait: JudgeWait
    ) -> Labels | Unlabelled | None:
        """PatternRM's labels where they are wanted; latency is the wait for them, outages included."""
        if self.pattern_rm is None or self.source is None or rules is None or found.verdict is None:
            return None
        counts = found.verdict.value == 1 and found.z == 1 and not decided_by_rules(self.source, rules)
        monitored = rollout.validate or (self.score_incorrect and found.verdict.value == 0)
        if not (counts or monitored):
            return None
        pattern_rm = self.pattern_rm
        started = time.monotonic()
        labels = await wait.ask(
            "pattern_rm",
            lambda: pattern_rm.label(rollout.question, rollout.visible),
            failure=lambda answer: answer.reason if isinstance(answer, Unlabelled) else None,
        )
        return replace(labels, latency_s=time.monotonic() - started)
