"""What is read from a server's answer before anybody parses its text: message, log-probabilities, Retry-After.

The ``openai`` library does not validate what servers send, so nothing here trusts a type.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any


@dataclass(frozen=True, slots=True)
class TokenLogprob:
    """One generated token: its text, its log-probability, and the likeliest tokens at its place."""

    token: str
    logprob: float
    top: tuple[tuple[str, float], ...]


@dataclass(frozen=True, slots=True)
class Completion:
    """The first choice of a chat completion.

    Attributes:
        text: the content, not stripped.
        finish_reason: why it ended, as the server says.
        logprobs: one entry a token; None where the server gives none.
        reasoning: what the server split off as reasoning (``reasoning`` or ``reasoning_content``); empty without.
        n_prompt_tokens, n_tokens: tokens read and generated, reasoning included; None where the server does not say.
    """

    text: str
    finish_reason: str | None
    logprobs: tuple[TokenLogprob, ...] | None
    reasoning: str = ""
    n_prompt_tokens: int | None = None
    n_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Unusable:
    """A body without a text: ``bad_body`` (no completion at all), ``empty_choices``, ``null``, ``refusal``."""

    reason: str
    detail: str


def read_completion(body: Any, needs_text: bool = True) -> Completion | Unusable:
    """The first choice of what the library made of a body; malformed log-probabilities count as absent.

    Args:
        needs_text: a message without content is unusable; False reads it as an empty one, for a model whose answer may
            be reasoning alone. A refusal is then the text that the user sees.
    """
    choices = getattr(body, "choices", None)
    if not isinstance(choices, list):
        return Unusable("bad_body", f"no list of choices in a {type(body).__name__}")
    if not choices:
        return Unusable("empty_choices", "the list of choices is empty")
    message = getattr(choices[0], "message", None)
    text = getattr(message, "content", None)
    finish_reason = getattr(choices[0], "finish_reason", None)
    if not isinstance(text, str):
        refusal = getattr(message, "refusal", None)
        said = refusal if isinstance(refusal, str) else ""
        if needs_text and said:
            return Unusable("refusal", said[:200])
        if needs_text or message is None:
            return Unusable("null", f"message.content is {type(text).__name__}, finish_reason {finish_reason}")
        text = said
    return Completion(
        text,
        finish_reason if isinstance(finish_reason, str) else None,
        _logprobs(getattr(getattr(choices[0], "logprobs", None), "content", None)),
        reasoning=_text(message, "reasoning") or _text(message, "reasoning_content"),
        n_prompt_tokens=_count(body, "prompt_tokens"),
        n_tokens=_count(body, "completion_tokens"),
    )


def _text(message: Any, name: str) -> str:
    value = getattr(message, name, None)
    return value if isinstance(value, str) else ""


def _count(body: Any, name: str) -> int | None:
    value = getattr(getattr(body, "usage", None), name, None)
    return value if type(value) is int and value >= 0 else None


def _logprobs(given: Any) -> tuple[TokenLogprob, ...] | None:
    if not isinstance(given, list) or not given:
        return None
    tokens = []
    for entry in given:
        own = _pair(entry)
        top = [_pair(rival) for rival in getattr(entry, "top_logprobs", None) or ()]
        if own is None or None in top:
            return None
        tokens.append(TokenLogprob(*own, tuple(rival for rival in top if rival is not None)))
    return tuple(tokens)


def _pair(entry: Any) -> tuple[str, float] | None:
    token, logprob = getattr(entry, "token", None), getattr(entry, "logprob", None)
    if not isinstance(token, str) or isinstance(logprob, bool) or not isinstance(logprob, (int, float)):
        return None
    return None if math.isnan(logprob) or logprob > 1e-3 else (token, min(float(logprob), 0.0))


def retry_after_s(header: str | None) -> float:
    """Seconds that a Retry-After header asks for, a number or an HTTP date (RFC 9110, 10.2.3); 0 for anything else."""
    if header is None:
        return 0.0
    text = header.strip()
    try:
        seconds = float(text)
    except ValueError:
        try:
            date = parsedate_to_datetime(text)
        except ValueError:
            return 0.0
        seconds = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
    return max(0.0, seconds) if math.isfinite(seconds) else 0.0
