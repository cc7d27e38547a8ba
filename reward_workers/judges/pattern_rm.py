"""PatternRM: the four pattern labels of a visible response, from question and response alone (R47, R48 direct)."""

from __future__ import annotations

import math
import time
from dataclasses import replace
from itertools import product

from reward_workers.judges.answer_judge import NO_THINKING
from reward_workers.judges.client import JudgeClient, JudgeFailure, TokenLogprob
from reward_workers.judges.parse import ParsedLabels, ParseFailure, parse_labels
from reward_workers.judges.prompts import prompt_version, render
from reward_workers.judges.settings import JudgeSettings
from reward_workers.judges.sharing import SharedCalls
from reward_workers.records import Labels, LabelsUnscored

ANSWERS = tuple("CoT: {}\nRep: {}\nCon: {}\nPR: {}".format(*digits) for digits in product("01", repeat=4))
"""All that PatternRM may generate; vLLM enforces it, so that no text of a response can lead it elsewhere."""

KEPT_RESULTS = 8192
"""Label vectors remembered in one process."""


class PatternRM:
    """Asks the served PatternRM for the labels of one response.

    Args:
        settings: the section ``judges.pattern_rm``.
        threshold: a label is set where its probability is above this, in 0..1 (``reward_mix.threshold``). It needs the
            log-probabilities of the label tokens; without them the generated decision counts.
    """

    def __init__(self, settings: JudgeSettings, threshold: float) -> None:
        if settings.prompt != "pattern_rm":
            raise ValueError(f"judges.{settings.name}.prompt={settings.prompt!r} is not PatternRM's: use pattern_rm")
        if not 0.0 <= threshold <= 1.0:
            raise ValueError(f"reward_mix.threshold={threshold!r} is not a probability: set it in 0..1")
        self.settings = settings
        self.threshold = threshold
        self.client = JudgeClient(settings)
        self.calls = SharedCalls[Labels | LabelsUnscored](KEPT_RESULTS, keep=lambda result: isinstance(result, Labels))

    async def label(self, question: str, response: str) -> Labels | LabelsUnscored:
        """The labels of one visible response; latency is what this caller waited."""
        start = time.monotonic()
        key = (self.settings.model, prompt_version("pattern_rm"), question, response)
        result, _ = await self.calls.get(key, lambda: self._ask(question, response))
        return replace(result, latency_s=time.monotonic() - start)

    async def aclose(self) -> None:
        await self.client.aclose()

    async def _ask(self, question: str, response: str) -> Labels | LabelsUnscored:
        outcome = await self.client.complete(
            render("pattern_rm", question=question, response=response),
            logprobs=True,
            extra_body={**NO_THINKING, "structured_outputs": {"choice": ANSWERS}},
        )
        if isinstance(outcome, JudgeFailure):
            return LabelsUnscored(outcome.reason)
        parsed = parse_labels(outcome.text)
        if isinstance(parsed, ParseFailure):
            return LabelsUnscored("truncated" if outcome.finish_reason == "length" else parsed.reason)
        decided = (parsed.cot, parsed.rep, parsed.con, parsed.pr)
        p = label_probabilities(outcome.text, parsed, outcome.logprobs)
        cot, rep, con, pr = (
            value if probability is None else probability > self.threshold
            for value, probability in zip(decided, p, strict=True)
        )
        return Labels(cot, rep, con, pr, *p, source="pattern_rm")


def label_probabilities(
    text: str, parsed: ParsedLabels, tokens: tuple[TokenLogprob, ...] | None
) -> tuple[float | None, float | None, float | None, float | None]:
    """P("1") / (P("0") + P("1")) at the token of each decision; None where the server gives none.

    The tokens must spell the text from its start. A token may hold more than the digit (`` 1``, or a whole line); its
    rival is then the same token with the other digit. One that is not among the likeliest tokens counts as impossible.
    """
    if tokens is None or len(parsed.positions) != 4:
        return None, None, None, None
    ends: list[int] = []
    length = 0
    for token in tokens:
        length += len(token.token)
        ends.append(length)
    if not "".join(token.token for token in tokens).startswith(text):
        return None, None, None, None  # half characters or hidden tokens: positions would not match
    probabilities: list[float | None] = []
    index = 0
    for position in parsed.positions:
        while ends[index] <= position:
            index += 1
        begins = ends[index] - len(tokens[index].token)
        probabilities.append(_probability_of_one(tokens[index], position - begins))
    return probabilities[0], probabilities[1], probabilities[2], probabilities[3]


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
