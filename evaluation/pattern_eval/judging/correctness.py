"""The verifier judge of PatternEval: is the answer right? Our verifier first, a judge for what it leaves open.

With the prompt ``answer_correctness`` the judge reads the whole visible response and the criteria of the source data
set, so that an answer without a box can be decided too. With the prompts of the training's fallback judge it compares
the extracted answer, and a response without a box is wrong, as in training.
"""

from __future__ import annotations

from dataclasses import replace

from foundation.runs.evaluation_records import Prompt
from foundation.runs.records import Verdict
from foundation.settings.judges import JudgeSettings
from reward_workers.judges.answer_judge import AnswerJudge, Decision, read_verdict, verdict_as_json, verdict_from_json
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.endpoint.calls import Cost
from reward_workers.judges.judge import Judge
from reward_workers.judges.prompts.render import render
from reward_workers.judges.questions import reworded
from reward_workers.judges.registry import judge_class
from reward_workers.judges.replies import ParseFailure
from reward_workers.verifier import Verifier

NO_REFERENCE = "no_reference"


class CorrectnessJudge(Judge[int]):
    """Asks about a whole response; a reply that cannot be read is asked for once more in other words."""

    def __init__(self, settings: JudgeSettings, cache: JudgeCache | None = None) -> None:
        super().__init__(settings, cache, reminder="verdict_reminder", encode=verdict_as_json, decode=verdict_from_json)

    async def judge(self, question: str, criteria: str, reference: str, response: str) -> Verdict:
        """Stage ``judge``: value 1 or 0, or None with the reason ``judge_<why>``."""
        texts = (question, criteria, reference, response)
        decision, latency_s = await self._questions.answer(texts, lambda cost: self._ask(*texts, cost))
        if isinstance(decision, int):
            return Verdict(decision, "judge", "judge_correct" if decision else "judge_incorrect", None, latency_s)
        return Verdict(None, "judge", f"judge_{decision.reason}", None, latency_s)

    async def _ask(self, question: str, criteria: str, reference: str, response: str, cost: Cost) -> Decision:
        language = self.settings.language
        messages = render(
            "answer_correctness",
            language,
            question=question,
            criteria=criteria or "none given",
            reference=reference,
            response=response,
        )
        decision = read_verdict(cost.add(await self.client.complete(messages)), reference, response)
        if isinstance(decision, ParseFailure):
            again = reworded(messages, "verdict_reminder", language)
            decision = read_verdict(cost.add(await self.client.complete(again)), reference, response)
        return decision


class Correctness:
    """The whole decision on one response.

    Args:
        verifier: its verdicts 1 and 0 on an extracted answer stand.
        settings: the judge that `asks.correctness` names.
    """

    def __init__(self, verifier: Verifier, settings: JudgeSettings, cache: JudgeCache | None = None) -> None:
        self._verifier = verifier
        whole = judge_class(settings.prompt) is CorrectnessJudge
        self._whole = CorrectnessJudge(settings, cache) if whole else None
        self._extracted = None if whole else AnswerJudge(settings, cache)

    async def decide(self, prompt: Prompt, visible: str) -> Verdict:
        """The verdict on a visible response that is not empty."""
        if not prompt.reference.strip():
            return Verdict(None, "extract", NO_REFERENCE)
        options = None if prompt.options is None else list(prompt.options)
        verdict = await self._verifier.verify(visible, prompt.reference, prompt.answer_type, options)
        if verdict.value is not None and (verdict.extracted is not None or self._whole is None):
            return verdict
        if self._whole is not None:
            judged = await self._whole.judge(prompt.question, prompt.criteria, prompt.reference, visible)
            return replace(judged, extracted=verdict.extracted)
        if verdict.extracted is None or self._extracted is None:
            return verdict
        return await self._extracted.judge(prompt.question, prompt.reference, verdict.extracted)

    async def aclose(self) -> None:
        for judge in (self._whole, self._extracted):
            if judge is not None:
                await judge.aclose()
