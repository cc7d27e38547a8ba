"""What is read from a server's answer before anybody parses its text: message, log-probabilities, Retry-After.

Nobody has checked what a server sends, so nothing here trusts a type.
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
    """The first choice of a body, which is parsed JSON or a text; malformed log-probabilities count as absent.

    Args:
        needs_text: a message without content is unusable; False reads it as an empty one, for a model whose answer may
            be reasoning alone. A refusal is then the text that the user sees.
    """
    choices = _field(body, "choices")
    if not isinstance(choices, list):
        return Unusable("bad_body", f"no list of choices in a {type(body).__name__}")
    if not choices:
        return Unusable("empty_choices", "the list of choices is empty")
    message = _field(choices[0], "message")
    text = _field(message, "content")
    finish_reason = _field(choices[0], "finish_reason")
    if not isinstance(text, str):
        refusal = _text(message, "refusal")
        if needs_text and refusal:
            return Unusable("refusal", refusal[:200])
        if needs_text or message is None:
            return Unusable("null", f"message.content is {type(text).__name__}, finish_reason {finish_reason}")
        text = refusal
    return Completion(
        text,
        finish_reason if isinstance(finish_reason, str) else None,
        _logprobs(_field(_field(choices[0], "logprobs"), "content")),
        reasoning=_text(message, "reasoning") or _text(message, "reasoning_content"),
        n_prompt_tokens=_count(body, "prompt_tokens"),
        n_tokens=_count(body, "completion_tokens"),
    )


def _text(message: Any, name: str) -> str:
    value = _field(message, name)
    return value if isinstance(value, str) else ""


def _count(body: Any, name: str) -> int | None:
    value = _field(_field(body, "usage"), name)
    return value if type(value) is int and value >= 0 else None


def _field(value: Any, name: str) -> Any:
    """A field of a JSON object; None where there is no such field or no object."""
    return value.get(name) if isinstance(value, dict) else None


def _logprobs(given: Any) -> tuple[TokenLogprob, ...] | None:
    if not isinstance(given, list) or not given:
        return None
    tokens = []
    for entry in given:
        own = _pair(entry)
        rivals = _field(entry, "top_logprobs") or []
        if not isinstance(rivals, list):
            return None
        top = [_pair(rival) for rival in rivals]
        if own is None or None in top:
            return None
        tokens.append(TokenLogprob(*own, tuple(rival for rival in top if rival is not None)))
    return tuple(tokens)


def _pair(entry: Any) -> tuple[str, float] | None:
    token, logprob = _field(entry, "token"), _field(entry, "logprob")
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
