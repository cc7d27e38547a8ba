"""The term s_ver: 1 for a right answer, 0 for a wrong one; what the rules leave open goes to the fallback judge."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Literal, Protocol

from foundation.runs.records import Role, SymbolicLosses, TermValue, Verdict
from reward_workers.terms.term import Findings, Rollout
from reward_workers.verifier.rules.anls import document_anls
from reward_workers.waiting import JudgeWait

OnUnscored = Literal["drop_group", "abort", "count_as_incorrect"]


class VerifierLike(Protocol):
    async def verify(
        self, response: str, reference: str, answer_type: str | None = None, options: list[str] | None = None
    ) -> Verdict: ...

    def take_losses(self) -> SymbolicLosses: ...


class AnswerJudgeLike(Protocol):
    async def judge(self, question: str, reference: str, extracted: str) -> Verdict: ...


@dataclass(frozen=True, slots=True)
class VerifierTerm:
    """Verifier, then the fallback judge.

    Attributes:
        on_unscored: ``count_as_incorrect`` turns a rollout without a verdict into s_ver = 0; otherwise it has no value,
            and the trainer drops the group or aborts.
    """

    verifier: VerifierLike
    answer_judge: AnswerJudgeLike
    on_unscored: OnUnscored = "drop_group"
    name: str = "verifier"
    role: Role = "summand"

    @property
    def judges(self) -> Mapping[str, object]:
        return {"fallback": self.answer_judge}

    async def score(self, rollout: Rollout, found: Findings, wait: JudgeWait) -> TermValue:
        said = await self.verifier.verify(rollout.visible, rollout.reference, rollout.answer_type, rollout.options)
        found.verifier = said
        found.verdict = verdict = await self._judged(rollout, said, wait)
        found.losses = self.verifier.take_losses()
        if rollout.answer_type == "doc_text":
            found.anls = document_anls(said.extracted, rollout.reference)
        if verdict.value is None and self.on_unscored != "count_as_incorrect":
            return TermValue(self.role, None, verdict.reason)
        return TermValue(self.role, float(verdict.value == 1))

    async def _judged(self, rollout: Rollout, said: Verdict, wait: JudgeWait) -> Verdict:
        """The final verdict; the latency of the judge's is the wait for it."""
        extracted = said.extracted
        if said.value is not None or extracted is None:
            return said
        started = time.monotonic()
        verdict = await wait.ask(
            "fallback",
            lambda: self.answer_judge.judge(rollout.question, rollout.reference, extracted),
            failure=lambda answer: answer.reason if answer.value is None else None,
        )
        return replace(verdict, extracted=extracted, latency_s=time.monotonic() - started)
