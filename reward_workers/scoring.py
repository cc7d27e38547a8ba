"""Scores one rollout: visible response -> verdict -> labels -> reward. Knows no torch, ray or verl.

Work that cannot change the reward is not done: a wrong answer is 0 whatever its patterns, and a closed gate makes the
penalty 0, so PatternRM is asked only for right answers behind an open gate, unless labels are wanted for monitoring.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, Literal, Protocol

from reward_workers.gate import Gate
from reward_workers.mix import Mix
from reward_workers.records import Labels, LabelsUnscored, RewardRecord, SymbolicLosses, Verdict
from reward_workers.verifier.anls import document_anls

logger = logging.getLogger(__name__)

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
    async def label(self, question: str, response: str) -> Labels | LabelsUnscored: ...


@dataclass(frozen=True, slots=True)
class Rollout:
    """What the scorer needs to know of one rollout.

    Attributes:
        prompt_index: row of the prompt in its data set; the gate and the group use it.
        visible: the text that the user sees (rollout_workers.channels).
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
    answer_type: str | None = None
    options: list[str] | None = None
    n_tokens: int = 0
    truncated: bool = False
    validate: bool = False


@dataclass(frozen=True, slots=True)
class RolloutScorer:
    """Scores rollouts with a verifier, a fallback judge and, unless the reward is verifier-only, a PatternRM.

    Attributes:
        pattern_rm: None means BaseRL: s_pat = 0 and nobody is asked.
        score_incorrect: label wrong rollouts too, for monitoring; the reward does not change.
        on_unscored: ``count_as_incorrect`` turns an unscored rollout into reward 0; otherwise its reward is None and
            the trainer drops the group or aborts.
        max_wait_s: how long a judge that cannot be reached is waited for before the rollout counts as unscored.
    """

    verifier: VerifierLike
    answer_judge: AnswerJudgeLike
    pattern_rm: PatternJudgeLike | None
    gate: Gate
    mix: Mix
    score_incorrect: bool = False
    on_unscored: OnUnscored = "drop_group"
    max_wait_s: float = 120.0

    async def score(self, rollout: Rollout) -> RewardRecord:
        verifier = await self.verifier.verify(rollout.visible, rollout.reference, rollout.answer_type, rollout.options)
        verdict = await self._judged(rollout, verifier)
        gate_open = self.gate.is_open(step=rollout.step, prompt_index=rollout.prompt_index, rollout=rollout.rollout)
        labels = await self._labels(rollout, verdict, gate_open)
        vector = labels.as_dict() if isinstance(labels, Labels) else None
        if verdict.value is None and self.on_unscored != "count_as_incorrect":
            reward = None
        else:
            reward = self.mix.reward(correct=verdict.value == 1, gate_open=gate_open, labels=vector)
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
            penalty=self.mix.penalty(vector),
            reward=reward,
            n_tokens=rollout.n_tokens,
            truncated=rollout.truncated,
        )

    async def _judged(self, rollout: Rollout, verifier: Verdict) -> Verdict:
        """What the verifier leaves unresolved goes to the fallback judge (R49); latency is the wait for the judge."""
        extracted = verifier.extracted
        if verifier.value is not None or extracted is None:
            return verifier
        started = time.monotonic()
        verdict = await self._wait_for(
            lambda: self.answer_judge.judge(rollout.question, rollout.reference, extracted),
            unreachable=lambda outcome: outcome.value is None and is_unreachable(outcome.reason),
            judge="fallback",
        )
        return replace(verdict, extracted=extracted, latency_s=time.monotonic() - started)

    async def _labels(self, rollout: Rollout, verdict: Verdict, gate_open: bool) -> Labels | LabelsUnscored | None:
        if self.pattern_rm is None or not rollout.visible:
            return None
        counts = verdict.value == 1 and gate_open
        monitored = rollout.validate or (self.score_incorrect and verdict.value == 0)
        if not (counts or monitored):
            return None
        pattern_rm = self.pattern_rm
        return await self._wait_for(
            lambda: pattern_rm.label(rollout.question, rollout.visible),
            unreachable=lambda outcome: isinstance(outcome, LabelsUnscored) and is_unreachable(outcome.reason),
            judge="pattern_rm",
        )

    async def _wait_for(
        self, ask: Callable[[], Awaitable[Any]], *, unreachable: Callable[[Any], bool], judge: str
    ) -> Any:
        """Ask a judge, and again while nobody answers at all, for max_wait_s at most."""
        deadline = time.monotonic() + self.max_wait_s
        while True:
            outcome = await ask()
            if not unreachable(outcome) or time.monotonic() + RETRY_PAUSE_S > deadline:
                return outcome
            logger.warning(
                "judges.%s cannot be reached (%s): asking again for %.0f s more (reward_mix.max_wait_s)",
                judge,
                outcome.reason,
                deadline - time.monotonic(),
            )
            await asyncio.sleep(RETRY_PAUSE_S)


def _anls(rollout: Rollout, verifier: Verdict) -> float | None:
    return document_anls(verifier.extracted, rollout.reference) if rollout.answer_type == "doc_text" else None


def is_unreachable(reason: str) -> bool:
    """Whether a failed call is one that waiting can cure; a nonsensical answer is not asked for again here.

    >>> is_unreachable("judge_connection"), is_unreachable("http_503"), is_unreachable("judge_truncated")
    (True, True, False)
    """
    cause = reason.removeprefix("judge_")
    return cause in ("timeout", "deadline", "connection", "http_408", "http_429") or cause.startswith("http_5")
