"""Scores one rollout: visible response -> verdict -> labels -> reward. Knows no torch, ray or verl.

Work that cannot change the reward is not done: a wrong answer is 0 whatever its patterns, and a closed gate makes the
penalty 0, so PatternRM is asked only for right answers behind an open gate, unless labels are wanted for monitoring.
The rule-based detectors label every response: they cost milliseconds.
"""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Literal, Protocol

from foundation.runs.judge_call import is_unreachable
from foundation.runs.records import Labels, RewardRecord, RuleLabels, SymbolicLosses, Unlabelled, Verdict
from reward_workers.detectors import detect_patterns
from reward_workers.gate import Gate
from reward_workers.judges.outage import Outages
from reward_workers.label_source import LabelSource, PenaltyKind, charged_labels, decided_by_rules
from reward_workers.mix import Mix
from reward_workers.verifier.rules.anls import document_anls

OnUnscored = Literal["drop_group", "abort", "count_as_incorrect"]
RETRY_PAUSE_S = 5.0


class VerifierLike(Protocol):
    async def verify(
        self, response: str, reference: str, answer_type: str | None = None, options: list[str] | None = None
    ) -> Verdict: ...

    def take_losses(self) -> SymbolicLosses: ...


class AnswerJudgeLike(Protocol):
    async def judge(self, question: str, reference: str, extracted: str) -> Verdict: ...


class PatternJudgeLike(Protocol):
    async def label(self, question: str, response: str) -> Labels | Unlabelled: ...


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the scorer needs to know of one rollout.

    Attributes:
        prompt_index: row of the prompt in its data set; the gate and the group use it.
        visible: the text that the user sees (foundation.responses.channels).
        weights: the pattern weights in force for it, by label; the trainer sends them (`reward_mix.schedule`).
        n_tokens: generated tokens; truncated: stopped at the length limit.
        validate: rollout of a validation pass: always labelled where a PatternRM exists.
    """

    prompt_id: str
    prompt_index: int
    step: int
    rollout: int
    question: str
    reference: str
    visible: str
    weights: Mapping[str, float]
    answer_type: str | None = None
    options: list[str] | None = None
    n_tokens: int = 0
    truncated: bool = False
    validate: bool = False


@dataclass(frozen=True, slots=True)
class RolloutScorer:
    """Scores rollouts with a verifier, a fallback judge and, where the reward needs it, a PatternRM.

    Attributes:
        pattern_rm: None for BaseRL and where the rules alone are the source of labels: nobody is asked.
        cap: largest penalty, 0..1.
        source: whose labels the penalty charges; None means BaseRL: s_pat = 0.
        penalty: charge hard labels (the paper) or probabilities.
        score_incorrect: label wrong rollouts too, for monitoring; the reward does not change.
        on_unscored: ``count_as_incorrect`` turns an unscored rollout into reward 0; otherwise its reward is None and
            the trainer drops the group or aborts.
        max_wait_s: how long one rollout waits for judges that cannot be reached, all in all; its last question to each
            may take that judge's total_timeout_s beyond it.
        outages: what is seen of silent judges; the run tells it at the terminal.
    """

    verifier: VerifierLike
    answer_judge: AnswerJudgeLike
    pattern_rm: PatternJudgeLike | None
    gate: Gate
    cap: float
    source: LabelSource | None = "pattern_rm"
    penalty: PenaltyKind = "hard"
    score_incorrect: bool = False
    on_unscored: OnUnscored = "drop_group"
    max_wait_s: float = 120.0
    outages: Outages = field(default_factory=Outages)

    def __post_init__(self) -> None:
        if (self.pattern_rm is None) != (self.source in (None, "rules")):
            raise ValueError(f"source={self.source!r} {'needs' if self.pattern_rm is None else 'asks no'} PatternRM")

    async def score(self, rollout: Rollout) -> RewardRecord:
        deadline = time.monotonic() + self.max_wait_s
        verifier = await self.verifier.verify(rollout.visible, rollout.reference, rollout.answer_type, rollout.options)
        verdict = await self._judged(rollout, verifier, deadline)
        gate_open = self.gate.is_open(step=rollout.step, prompt_index=rollout.prompt_index, rollout=rollout.rollout)
        rules = detect_patterns(rollout.visible) if rollout.visible else None
        labels = await self._labels(rollout, verdict, gate_open, rules, deadline)
        charged = None if self.source is None else charged_labels(self.source, self.penalty, labels, rules)
        mix = Mix(rollout.weights, self.cap)
        if verdict.value is None and self.on_unscored != "count_as_incorrect":
            reward = None
        else:
            reward = mix.reward(correct=verdict.value == 1, gate_open=gate_open, labels=charged)
        return RewardRecord(
            prompt_id=rollout.prompt_id,
            step=rollout.step,
            group=rollout.prompt_index,
            rollout=rollout.rollout,
            verdict=verdict,
            verifier=verifier,
            losses=self.verifier.take_losses(),
            anls=_anls(rollout, verifier),
            z=int(gate_open),
            labels=labels,
            rule_labels=rules,
            charged=charged,
            weights=rollout.weights,
            penalty=mix.penalty(charged),
            reward=reward,
            n_tokens=rollout.n_tokens,
            truncated=rollout.truncated,
        )

    async def _judged(self, rollout: Rollout, verifier: Verdict, deadline: float) -> Verdict:
        """What the verifier leaves unresolved goes to the fallback judge; latency is the wait for the judge."""
        extracted = verifier.extracted
        if verifier.value is not None or extracted is None:
            return verifier
        started = time.monotonic()
        verdict = await self._wait_for(
            lambda: self.answer_judge.judge(rollout.question, rollout.reference, extracted),
            unreachable=lambda outcome: outcome.value is None and is_unreachable(outcome.reason),
            judge="fallback",
            deadline=deadline,
        )
        return replace(verdict, extracted=extracted, latency_s=time.monotonic() - started)

    async def _labels(
        self, rollout: Rollout, verdict: Verdict, gate_open: bool, rules: RuleLabels | None, deadline: float
    ) -> Labels | Unlabelled | None:
        """PatternRM's labels where they are wanted; latency is the wait for them, outages included."""
        if self.pattern_rm is None or self.source is None or rules is None:
            return None
        counts = verdict.value == 1 and gate_open and not decided_by_rules(self.source, rules)
        monitored = rollout.validate or (self.score_incorrect and verdict.value == 0)
        if not (counts or monitored):
            return None
        pattern_rm = self.pattern_rm
        started = time.monotonic()
        labels = await self._wait_for(
            lambda: pattern_rm.label(rollout.question, rollout.visible),
            unreachable=lambda outcome: isinstance(outcome, Unlabelled) and is_unreachable(outcome.reason),
            judge="pattern_rm",
            deadline=deadline,
        )
        return replace(labels, latency_s=time.monotonic() - started)

    async def _wait_for(
        self, ask: Callable[[], Awaitable[Any]], *, unreachable: Callable[[Any], bool], judge: str, deadline: float
    ) -> Any:
        """Ask a judge once, and again while nobody answers at all and the deadline is not over (monotonic time)."""
        with self.outages.call(judge) as call:
            outcome = await ask()
            while unreachable(outcome):
                call.failed(outcome.reason)
                if time.monotonic() + RETRY_PAUSE_S > deadline:
                    return outcome
                await asyncio.sleep(RETRY_PAUSE_S)
                with contextlib.suppress(TimeoutError):  # the last outcome then counts
                    async with asyncio.timeout(deadline - time.monotonic()):
                        outcome = await ask()
            call.answered()
            return outcome


def _anls(rollout: Rollout, verifier: Verdict) -> float | None:
    return document_anls(verifier.extracted, rollout.reference) if rollout.answer_type == "doc_text" else None
