"""The fallback judge: does an extracted answer mean the same as the reference? The last stage of the cascade."""

from __future__ import annotations

from typing import Any, Self

from foundation.runs.records import Verdict
from foundation.settings.judges import JudgeSettings
from foundation.settings.sections import RewardMix
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.endpoint.calls import Cost
from reward_workers.judges.endpoint.client import JudgeFailure, JudgeReply
from reward_workers.judges.judge import Judge
from reward_workers.judges.prompts.render import DIRECT, render
from reward_workers.judges.questions import NO_THINKING, reply_or_failure, reworded
from reward_workers.judges.replies import ParseFailure, parse_verdict

Decision = int | ParseFailure | JudgeFailure
"""1, 0, or why there is neither."""


class AnswerJudge(Judge[int]):
    """Asks the fallback judge; a reply that cannot be read is asked for once more in other words.

    The compact protocol has no other words, so its replies get no second try. A verdict is asked for once per question,
    reference and answer, and then taken from memory or from the cache, also with a temperature above 0: the first
    verdict that could be read holds.

    Args:
        settings: the section ``judges.fallback``.
        cache: where verdicts outlive this process; None keeps them in memory only.
    """

    def __init__(self, settings: JudgeSettings, cache: JudgeCache | None = None) -> None:
        super().__init__(settings, cache, reminder="verdict_reminder", encode=verdict_as_json, decode=verdict_from_json)

    @classmethod
    def for_reward(cls, settings: JudgeSettings, mix: RewardMix, cache: JudgeCache | None) -> Self:
        return cls(settings, cache)

    async def judge(self, question: str, reference: str, extracted: str) -> Verdict:
        """The verdict on one extracted answer.

        Returns:
            Stage ``judge``; value 1 or 0 with reason ``judge_correct`` or ``judge_incorrect``, or value None with
            reason ``judge_<why>`` when the judge failed or its reply could not be read. Latency is what the caller
            waited.
        """
        texts = (question, reference, extracted)
        decision, latency_s = await self._questions.answer(texts, lambda cost: self._ask(*texts, cost))
        if isinstance(decision, int):
            reason = "judge_correct" if decision else "judge_incorrect"
            return Verdict(decision, "judge", reason, extracted, latency_s)
        return Verdict(None, "judge", f"judge_{decision.reason}", extracted, latency_s)

    async def _ask(self, question: str, reference: str, extracted: str, cost: Cost) -> Decision:
        prompt, language = self.settings.prompt, self.settings.language
        messages = render(prompt, language, question=question, reference=reference, extracted=extracted)
        decision = read_verdict(await self._complete(messages, cost), reference, extracted)
        if isinstance(decision, ParseFailure) and prompt not in DIRECT:
            decision = read_verdict(
                await self._complete(reworded(messages, "verdict_reminder", language), cost), reference, extracted
            )
        return decision

    async def _complete(self, messages: list[dict[str, str]], cost: Cost) -> JudgeReply | JudgeFailure:
        direct = self.settings.prompt in DIRECT
        return cost.add(await self.client.complete(messages, extra_body=NO_THINKING if direct else None))


def read_verdict(outcome: JudgeReply | JudgeFailure, *compared: str) -> Decision:
    """The verdict in a reply about these texts."""
    reply = reply_or_failure(outcome)
    if not isinstance(reply, JudgeReply):
        return reply
    if reply.finish_reason == "length":
        return ParseFailure("truncated", reply.text[-80:])  # the cut may stand before a change of mind
    return parse_verdict(reply.text, *compared)


def verdict_as_json(verdict: int) -> dict[str, Any]:
    """What the cache keeps of a verdict, 0 or 1."""
    return {"value": verdict}


def verdict_from_json(stored: dict[str, Any]) -> int:
    """The verdict that was kept; raises ValueError for anything else."""
    value = stored["value"]
    if type(value) is not int or value not in (0, 1):
        raise ValueError(f"a stored verdict is {value!r}")
    return value
