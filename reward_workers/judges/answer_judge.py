"""The fallback judge: does an extracted answer mean the same as the reference? (R49, last stage of the cascade)"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

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


class AnswerJudge:
    """Asks the fallback judge; a reply that cannot be read is asked for once more in other words.

    The compact protocol has no other words, so its replies get no second try.
    """

    def __init__(self, settings: JudgeSettings) -> None:
        if settings.prompt not in ("answer_equivalence", "answer_equivalence_compact"):
            raise ValueError(
                f"judges.{settings.name}.prompt={settings.prompt!r} does not ask about an answer: "
                "use answer_equivalence or answer_equivalence_compact"
            )
        self.settings = settings
        self.client = JudgeClient(settings)
        self.calls = SharedCalls[Verdict](KEPT_RESULTS, keep=lambda verdict: verdict.value is not None)

    async def judge(self, question: str, reference: str, extracted: str) -> Verdict:
        """The verdict on one extracted answer.

        Returns:
            Stage ``judge``; value 1 or 0 with reason ``judge_correct`` or ``judge_incorrect``, or value None with
            reason ``judge_<why>`` when the judge failed or its reply could not be read. Latency is what the caller
            waited.
        """
        start = time.monotonic()
        version = prompt_version(self.settings.prompt, self.settings.language)
        key = (self.settings.model, version, question, reference, extracted)
        verdict, _ = await self.calls.get(key, lambda: self._ask(question, reference, extracted))
        return replace(verdict, latency_s=time.monotonic() - start)

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _ask(self, question: str, reference: str, extracted: str) -> Verdict:
        prompt, language = self.settings.prompt, self.settings.language
        messages = render(prompt, language, question=question, reference=reference, extracted=extracted)
        value = _read(await self._complete(messages))
        if isinstance(value, ParseFailure) and prompt not in DIRECT:
            reminder = render("verdict_reminder", language)[0]["content"]
            reworded = [{"role": "user", "content": f"{messages[0]['content']}\n\n{reminder}"}]
            value = _read(await self._complete(reworded))
        if isinstance(value, int):
            return Verdict(value, "judge", "judge_correct" if value else "judge_incorrect", extracted)
        return Verdict(None, "judge", f"judge_{value.reason}", extracted)

    async def _complete(self, messages: list[dict[str, str]]) -> JudgeReply | JudgeFailure:
        direct = self.settings.prompt in DIRECT
        return await self.client.complete(messages, extra_body=NO_THINKING if direct else None)


def _read(outcome: JudgeReply | JudgeFailure) -> int | ParseFailure | JudgeFailure:
    """The verdict; a null reply counts as unreadable, not as a failed call, because asking again can help."""
    if isinstance(outcome, JudgeFailure):
        return ParseFailure("null", outcome.detail) if outcome.reason == "null" else outcome
    if outcome.finish_reason == "length":
        return ParseFailure("truncated", outcome.text[-80:])  # the cut may stand before a change of mind
    return parse_verdict(outcome.text)
