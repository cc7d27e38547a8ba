"""What every judge does with a question: ask it once, keep an answer that could be read, and note what it cost."""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable, Mapping
from typing import Any, Generic, TypeVar

from foundation.settings.judges import JudgeSettings
from reward_workers.judges.endpoint.cache import CacheShelf, Json, JudgeCache, cache_key, reading_version
from reward_workers.judges.endpoint.calls import Cost, judge_call, note
from reward_workers.judges.endpoint.client import JudgeFailure, JudgeReply
from reward_workers.judges.endpoint.sharing import SharedCalls
from reward_workers.judges.prompts.render import prompt_version, render
from reward_workers.judges.replies import ParseFailure

KEPT_RESULTS = 8192
"""Answers remembered in one process."""

NO_THINKING: Mapping[str, Any] = {"chat_template_kwargs": {"enable_thinking": False}}
"""Request field of vLLM and SGLang that turns thinking off in templates with such a switch; ignored by the others."""

UNREADABLE = frozenset({"null", "refusal"})
"""Failures of a call in which the server did answer, without a text: asking again in other words can help."""

Read = TypeVar("Read")


class Questions(Generic[Read]):
    """The questions to one judge; an answer is what was read of a reply, or why nothing was.

    Args:
        settings: section of the judge.
        reminder: prompt with which a reply that cannot be read is asked for again.
        cache: where answers outlive this process; None keeps them in memory only.
        encode: an answer as JSON; decode: its inverse, ValueError, KeyError or TypeError for anything else.
    """

    def __init__(
        self,
        settings: JudgeSettings,
        reminder: str,
        cache: JudgeCache | None,
        encode: Callable[[Read], Json],
        decode: Callable[[Json], Read],
    ) -> None:
        def encode_kept(answer: Read | ParseFailure | JudgeFailure) -> Json:
            assert not isinstance(answer, ParseFailure | JudgeFailure), "failures are not kept"
            return encode(answer)

        self._judge = settings.name
        shelf = None if cache is None else CacheShelf[Read | ParseFailure | JudgeFailure](cache, encode_kept, decode)
        self._calls = SharedCalls[Read | ParseFailure | JudgeFailure](KEPT_RESULTS, keep=_was_read, shelf=shelf)
        # What an answer depends on beside the texts that are judged.
        versions = (prompt_version(name, settings.language) for name in (settings.prompt, reminder))
        self._asked = (*settings.identity(), *versions, reading_version())

    @property
    def in_memory(self) -> int:
        """Answers remembered now, at most `KEPT_RESULTS`."""
        return self._calls.in_memory

    async def answer(
        self, texts: tuple[str, ...], ask: Callable[[Cost], Awaitable[Read | ParseFailure | JudgeFailure]]
    ) -> tuple[Read | ParseFailure | JudgeFailure, float]:
        """The answer about these texts, and what the caller waited for it in seconds.

        Args:
            texts: what is judged; with the judge and its prompts they are the question.
            ask: puts it to the judge and adds its requests to the cost; another caller's may run in its place.
        """
        start = time.monotonic()
        cost = Cost()
        answer, answered_by = await self._calls.get(cache_key(*self._asked, *texts), lambda: ask(cost))
        latency_s = time.monotonic() - start
        failure = answer.reason if isinstance(answer, ParseFailure | JudgeFailure) else None
        note(judge_call(self._judge, answered_by, failure, cost, self._calls.shelf_is_off, latency_s))
        return answer, latency_s


def _was_read(answer: object) -> bool:
    return not isinstance(answer, ParseFailure | JudgeFailure)


def reworded(messages: list[dict[str, str]], reminder: str, language: str) -> list[dict[str, str]]:
    """The same question with a reminder of the form of its answer behind it."""
    text = render(reminder, language)[0]["content"]
    return [{"role": "user", "content": f"{messages[0]['content']}\n\n{text}"}]


def reply_or_failure(outcome: JudgeReply | JudgeFailure) -> JudgeReply | ParseFailure | JudgeFailure:
    """A failure that other words can cure counts as a reply that cannot be read."""
    if isinstance(outcome, JudgeFailure) and outcome.reason in UNREADABLE:
        return ParseFailure(outcome.reason, outcome.detail)
    return outcome
