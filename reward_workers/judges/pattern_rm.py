"""PatternRM: the pattern labels of a visible response, from question and response alone (paper, Table 4)."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Self

from foundation.labels import LABELS, all_vectors, as_digits, as_lines, from_digits
from foundation.runs.records import Labels, Unlabelled
from foundation.settings.judges import JudgeSettings
from foundation.settings.sections import RewardMix
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.endpoint.calls import Cost
from reward_workers.judges.endpoint.client import JudgeFailure, JudgeReply
from reward_workers.judges.endpoint.completion import TokenLogprob
from reward_workers.judges.judge import Judge
from reward_workers.judges.prompts.render import render
from reward_workers.judges.questions import NO_THINKING, reply_or_failure, reworded
from reward_workers.judges.replies import ParsedLabels, ParseFailure, parse_labels

ANSWERS = tuple(map(as_lines, all_vectors()))
"""All that PatternRM may generate; vLLM enforces it, so that no text of a response can lead it elsewhere."""

Probabilities = Mapping[str, float | None]


@dataclass(frozen=True, slots=True)
class LabelReading:
    """A reply as read, before any threshold.

    Attributes:
        decided: the decisions that were generated, by label.
        p: probability of each label in 0..1, None where the server gives none.
    """

    decided: Mapping[str, bool]
    p: Probabilities


Reading = LabelReading | ParseFailure | JudgeFailure


class PatternRM(Judge[LabelReading]):
    """Asks the served PatternRM for the labels of one response.

    vLLM constrains the reply to one of `ANSWERS`. A server that ignores the constraint may answer anything: a reply
    that cannot be read is then asked for once more with the form of the answer spelt out. A response is labelled once
    and then taken from memory or from the cache, also with a temperature above 0.

    Args:
        settings: the section ``judges.pattern_rm``.
        threshold: by label, in 0..1: a label is set where its probability is above it (``reward_mix.threshold``). It
            needs the log-probabilities of the label tokens; without them the generated decision counts.
        cache: where readings outlive this process; None keeps them in memory only.
    """

    def __init__(
        self, settings: JudgeSettings, threshold: Mapping[str, float], cache: JudgeCache | None = None
    ) -> None:
        for label in LABELS:
            if not 0.0 <= threshold[label] <= 1.0:
                raise ValueError(
                    f"reward_mix.threshold.{label}={threshold[label]!r} is not a probability: set it in 0..1"
                )
        super().__init__(settings, cache, reminder="labels_reminder", encode=_as_json, decode=_from_json)
        self.threshold = dict(threshold)

    @classmethod
    def for_reward(cls, settings: JudgeSettings, mix: RewardMix, cache: JudgeCache | None) -> Self:
        return cls(settings, mix.threshold.model_dump(), cache)

    async def label(self, question: str, response: str) -> Labels | Unlabelled:
        """The labels of one visible response; latency is what this caller waited."""
        texts = (question, response)
        reading, latency_s = await self._questions.answer(texts, lambda cost: self._ask(*texts, cost))
        if not isinstance(reading, LabelReading):
            return Unlabelled(reading.reason, latency_s)
        decided = {
            label: value if (likely := reading.p[label]) is None else likely > self.threshold[label]
            for label, value in reading.decided.items()
        }
        return Labels(decided, reading.p, "pattern_rm", latency_s)

    async def _ask(self, question: str, response: str, cost: Cost) -> Reading:
        messages = render("pattern_rm", question=question, response=response)
        reading = _read(await self._complete(messages, cost), response)
        if isinstance(reading, ParseFailure) and reading.reason != "truncated":
            again = reworded(messages, "labels_reminder", self.settings.language)
            reading = _read(await self._complete(again, cost), response)
        return reading

    async def _complete(self, messages: list[dict[str, str]], cost: Cost) -> JudgeReply | JudgeFailure:
        extra_body = {**NO_THINKING, "structured_outputs": {"choice": ANSWERS}}
        return cost.add(await self.client.complete(messages, logprobs=True, extra_body=extra_body))


def _read(outcome: JudgeReply | JudgeFailure, response: str) -> Reading:
    reply = reply_or_failure(outcome)
    if not isinstance(reply, JudgeReply):
        return reply
    # A constrained reply cannot quote; any other may, and a block that stands in the response is then no decision.
    parsed = parse_labels(reply.text, response=None if reply.text.strip() in ANSWERS else response)
    if isinstance(parsed, ParseFailure):
        return ParseFailure("truncated", parsed.detail) if reply.finish_reason == "length" else parsed
    return LabelReading(parsed.decided, label_probabilities(reply.text, parsed, reply.logprobs))


def _as_json(reading: LabelReading) -> dict[str, Any]:
    return {"decided": as_digits(reading.decided), "p": [reading.p[label] for label in LABELS]}


def _from_json(stored: dict[str, Any]) -> LabelReading:
    p = stored["p"]
    if any(value is not None and not (type(value) is float and 0.0 <= value <= 1.0) for value in p):
        raise ValueError(f"stored probabilities are {p!r}")
    return LabelReading(from_digits(stored["decided"]), dict(zip(LABELS, p, strict=True)))


def label_probabilities(text: str, parsed: ParsedLabels, tokens: tuple[TokenLogprob, ...] | None) -> Probabilities:
    """P("1") / (P("0") + P("1")) at the token of each decision; None where the server gives none.

    The tokens must spell the text from its start. A token may hold more than the digit (`` 1``, or a whole line); its
    rival is then the same token with the other digit. One that is not among the likeliest tokens counts as impossible.
    """
    unknown: Probabilities = dict.fromkeys(LABELS)
    if tokens is None or not parsed.positions:
        return unknown
    ends: list[int] = []
    length = 0
    for token in tokens:
        length += len(token.token)
        ends.append(length)
    if not "".join(token.token for token in tokens).startswith(text):
        return unknown  # half characters or hidden tokens: positions would not match
    probabilities: list[float | None] = []
    index = 0
    for position in parsed.positions:
        while ends[index] <= position:
            index += 1
        begins = ends[index] - len(tokens[index].token)
        probabilities.append(_probability_of_one(tokens[index], position - begins))
    return dict(zip(LABELS, probabilities, strict=True))


def _probability_of_one(token: TokenLogprob, at: int) -> float | None:
    """``at`` is where the digit stands in the token; blanks around a rival do not matter."""
    decided = {(token.token[:at] + digit + token.token[at + 1 :]).strip(): digit for digit in "01"}
    mass = {"0": 0.0, "1": 0.0}
    for rival, logprob in {**dict(token.top), token.token: token.logprob}.items():
        digit = decided.get(rival.strip())
        if digit is not None:
            mass[digit] += math.exp(logprob)
    total = mass["0"] + mass["1"]
    return mass["1"] / total if total > 0.0 else None
