"""The fallback judge: does an extracted answer mean the same as the reference? (R49, last stage of the cascade)"""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import Any

from reward_workers.judges.cache import CacheShelf, JudgeCache, cache_key, reading_version
from reward_workers.judges.calls import Cost, JudgeCall, note
from reward_workers.judges.client import JudgeClient, JudgeFailure, JudgeReply
from reward_workers.judges.parse import ParseFailure, parse_verdict
from reward_workers.judges.prompts import DIRECT, prompt_version, render
from reward_workers.judges.settings import JudgeSettings
from reward_workers.judges.sharing import SharedCalls
from reward_workers.records import Verdict

KEPT_RESULTS = 8192
"""Verdicts remembered in one process."""

NO_THINKING: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
"""Request field of vLLM and SGLang that turns thinking off in templates with such a switch; ignored by the others."""

UNREADABLE = frozenset({"null", "refusal"})
"""Failures of a call in which the server did answer, without a text: asking again in other words can help."""

Decision = int | ParseFailure | JudgeFailure
"""1, 0, or why there is neither."""


class AnswerJudge:
    """Asks the fallback judge; a reply that cannot be read is asked for once more in other words.

    The compact protocol has no other words, so its replies get no second try. A verdict is asked for once per question,
    reference and answer, and then taken from memory or from the cache, also with a temperature above 0: the first
    verdict that could be read holds.

    Args:
        settings: the section ``judges.fallback``.
        cache: where verdicts outlive this process; None keeps them in memory only.
    """

    def __init__(self, settings: JudgeSettings, cache: JudgeCache | None = None) -> None:
        if settings.prompt not in ("answer_equivalence", "answer_equivalence_compact"):
            raise ValueError(
                f"judges.{settings.name}.prompt={settings.prompt!r} does not ask about an answer: "
                "use answer_equivalence or answer_equivalence_compact"
            )
        self.settings = settings
        self.client = JudgeClient(settings)
        shelf = None if cache is None else CacheShelf[Decision](cache, _as_json, _from_json)
        self.calls = SharedCalls[Decision](KEPT_RESULTS, keep=lambda decision: isinstance(decision, int), shelf=shelf)
        self._asked = question_of(settings, "verdict_reminder")

    async def judge(self, question: str, reference: str, extracted: str) -> Verdict:
        """The verdict on one extracted answer.

        Returns:
            Stage ``judge``; value 1 or 0 with reason ``judge_correct`` or ``judge_incorrect``, or value None with
            reason ``judge_<why>`` when the judge failed or its reply could not be read. Latency is what the caller
            waited.
        """
        start = time.monotonic()
        cost = Cost()
        key = cache_key(*self._asked, question, reference, extracted)
        decision, answered_by = await self.calls.get(key, lambda: self._ask(question, reference, extracted, cost))
        latency_s = time.monotonic() - start
        failure = None if isinstance(decision, int) else decision.reason
        note(JudgeCall.of(self.settings.name, answered_by, failure, cost, self.calls.shelf_is_off, latency_s))
        if isinstance(decision, int):
            reason = "judge_correct" if decision else "judge_incorrect"
            return Verdict(decision, "judge", reason, extracted, latency_s)
        return Verdict(None, "judge", f"judge_{decision.reason}", extracted, latency_s)

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _ask(self, question: str, reference: str, extracted: str, cost: Cost) -> Decision:
        prompt, language = self.settings.prompt, self.settings.language
        messages = render(prompt, language, question=question, reference=reference, extracted=extracted)
        decision = _read(await self._complete(messages, cost), reference, extracted)
        if isinstance(decision, ParseFailure) and prompt not in DIRECT:
            decision = _read(
                await self._complete(reworded(messages, "verdict_reminder", language), cost), reference, extracted
            )
        return decision

    async def _complete(self, messages: list[dict[str, str]], cost: Cost) -> JudgeReply | JudgeFailure:
        direct = self.settings.prompt in DIRECT
        return cost.add(await self.client.complete(messages, extra_body=NO_THINKING if direct else None))


def question_of(settings: JudgeSettings, reminder: str) -> tuple[str, ...]:
    """What a result depends on beside the texts that are judged: part of its cache key."""
    versions = (prompt_version(name, settings.language) for name in (settings.prompt, reminder))
    return (*settings.identity(), *versions, reading_version())


def reworded(messages: list[dict[str, str]], reminder: str, language: str) -> list[dict[str, str]]:
    """The same question with a reminder of the form of its answer behind it."""
    text = render(reminder, language)[0]["content"]
    return [{"role": "user", "content": f"{messages[0]['content']}\n\n{text}"}]


def _read(outcome: JudgeReply | JudgeFailure, *compared: str) -> Decision:
    if isinstance(outcome, JudgeFailure):
        return ParseFailure(outcome.reason, outcome.detail) if outcome.reason in UNREADABLE else outcome
    if outcome.finish_reason == "length":
        return ParseFailure("truncated", outcome.text[-80:])  # the cut may stand before a change of mind
    return parse_verdict(outcome.text, *compared)


def _as_json(decision: Decision) -> dict[str, Any]:
    assert isinstance(decision, int), "failures are not kept"
    return {"value": decision}


def _from_json(stored: dict[str, Any]) -> int:
    value = stored["value"]
    if type(value) is not int or value not in (0, 1):
        raise ValueError(f"a stored verdict is {value!r}")
    return value
