"""The pattern judges of PatternEval (paper, appendix E): the labels of a visible response, with their reasons.

A judge with the prompt ``pattern_judge`` sees the image and says why; PatternRM reads question and response alone and
gives probabilities instead of reasons.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from foundation.labels import LABELS, as_digits, from_digits
from foundation.runs.records import Unlabelled
from foundation.settings.judges import JudgeSettings
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.endpoint.calls import Cost
from reward_workers.judges.endpoint.client import JudgeFailure, JudgeReply
from reward_workers.judges.judge import Judge
from reward_workers.judges.pattern_rm import PatternRM
from reward_workers.judges.prompts.render import render
from reward_workers.judges.questions import reply_or_failure, reworded
from reward_workers.judges.registry import judge_class
from reward_workers.judges.replies import ParseFailure, parse_labels


@dataclass(frozen=True, slots=True)
class Judged:
    """What a pattern judge said of one response.

    Attributes:
        labels: the decisions, None when there are none.
        why: why there are none, empty otherwise.
        reasons: the sentence behind a decision, by label; probabilities: in 0..1, by label, where the judge gives them.
    """

    labels: Mapping[str, bool] | None
    why: str = ""
    reasons: Mapping[str, str] = field(default_factory=dict)
    probabilities: Mapping[str, float] = field(default_factory=dict)


class PatternLabeller(Protocol):
    async def label(self, question: str, response: str, images: Sequence[str]) -> Judged: ...

    async def aclose(self) -> None: ...


@dataclass(frozen=True, slots=True)
class _Reading:
    decided: Mapping[str, bool]
    reasons: Mapping[str, str]


class PatternJudge(Judge[_Reading]):
    """Asks a general model with the written rubric and the image; an unreadable reply is asked for once more."""

    def __init__(self, settings: JudgeSettings, cache: JudgeCache | None = None) -> None:
        super().__init__(settings, cache, reminder="labels_reminder", encode=_as_json, decode=_from_json)

    async def label(self, question: str, response: str, images: Sequence[str]) -> Judged:
        """The labels of one visible response; `images` are URLs or data URLs."""
        seen = (hashlib.sha256(image.encode()).hexdigest() for image in images)
        reading, _ = await self._questions.answer(
            (question, response, *seen), lambda cost: self._ask(question, response, images, cost)
        )
        if not isinstance(reading, _Reading):
            return Judged(None, reading.reason)
        return Judged(reading.decided, reasons=reading.reasons)

    async def _ask(
        self, question: str, response: str, images: Sequence[str], cost: Cost
    ) -> _Reading | ParseFailure | JudgeFailure:
        messages = render("pattern_judge", self.settings.language, question=question, response=response)
        reading = _read(cost.add(await self.client.complete(with_images(messages, images))), response)
        if isinstance(reading, ParseFailure) and reading.reason != "truncated":
            again = reworded(messages, "labels_reminder", self.settings.language)
            reading = _read(cost.add(await self.client.complete(with_images(again, images))), response)
        return reading


class RewardModelLabeller:
    """PatternRM as a pattern judge: no image, no reasons."""

    def __init__(
        self, settings: JudgeSettings, threshold: Mapping[str, float], cache: JudgeCache | None = None
    ) -> None:
        self._pattern_rm = PatternRM(settings, threshold, cache)

    async def label(self, question: str, response: str, images: Sequence[str]) -> Judged:
        labels = await self._pattern_rm.label(question, response)
        if isinstance(labels, Unlabelled):
            return Judged(None, labels.reason)
        known = {label: p for label, p in labels.p.items() if p is not None}
        return Judged(labels.decided, probabilities=known)

    async def aclose(self) -> None:
        await self._pattern_rm.aclose()


def make_labeller(
    settings: JudgeSettings, threshold: Mapping[str, float], cache: JudgeCache | None = None
) -> PatternLabeller:
    """The labeller that the prompt of a judge asks for."""
    if judge_class(settings.prompt) is PatternRM:
        return RewardModelLabeller(settings, threshold, cache)
    return PatternJudge(settings, cache)


def with_images(messages: Sequence[Mapping[str, str]], images: Sequence[str]) -> list[dict[str, Any]]:
    """The messages with the images before the text of the first one, in the OpenAI form."""
    first, *others = messages
    shown = [{"type": "image_url", "image_url": {"url": image}} for image in images]
    text = {"type": "text", "text": first["content"]}
    return [{"role": first["role"], "content": [*shown, text]}, *(dict(message) for message in others)]


def reasons_of(reply: str, positions: Sequence[int]) -> tuple[str, ...]:
    """The text behind each decision, up to the line of the next one; none for a JSON reply, which has no positions."""
    if not positions:
        return ()
    starts = [reply.rfind("\n", 0, position) + 1 for position in positions]
    ends = [*starts[1:], len(reply)]
    return tuple(
        re.sub(r"\s+", " ", reply[position + 1 : max(end, position + 1)]).strip(" *_`-–—:：.。,，")
        for position, end in zip(positions, ends, strict=True)
    )


def _read(outcome: JudgeReply | JudgeFailure, response: str) -> _Reading | ParseFailure | JudgeFailure:
    reply = reply_or_failure(outcome)
    if not isinstance(reply, JudgeReply):
        return reply
    parsed = parse_labels(reply.text, response=response)
    if isinstance(parsed, ParseFailure):
        return ParseFailure("truncated", parsed.detail) if reply.finish_reason == "length" else parsed
    given = reasons_of(reply.text, parsed.positions) or ("",) * len(LABELS)
    reasons = {label: reason for label, reason in zip(LABELS, given, strict=True) if reason}
    return _Reading(parsed.decided, reasons)


def _as_json(reading: _Reading) -> dict[str, Any]:
    return {"decided": as_digits(reading.decided), "reasons": dict(reading.reasons)}


def _from_json(stored: dict[str, Any]) -> _Reading:
    reasons = {str(label): str(reason) for label, reason in dict(stored["reasons"]).items()}
    return _Reading(from_digits(stored["decided"]), reasons)
