"""What the user sees of a generation: the visible response, the reasoning, and flags.

The one place that knows it. Only the visible response is verified and labelled. Left-over think markers of a
non-thinking answer stay in it: they are leaked chain-of-thought. Nothing is cut out of the middle of a text.

Example:
    >>> split_channels("2+2</think>\\n\\\\boxed{4}<|im_end|>", mode="t", prompt_tail="open").visible
    '\\\\boxed{4}'
    >>> split_channels("so </think> 4<|im_end|>", mode="nt", prompt_tail="closed").visible
    'so </think> 4'
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from foundation.responses.families import PROMPT_TAILS, Family, Mode, PromptTail, check_mode, get_family
from foundation.responses.harmony import is_harmony, parse_harmony
from foundation.responses.markers import find_markers

Flag = Literal[
    "answer_in_reasoning_field",
    "reasoning_in_nt",
    "unclosed_think",
    "reopened_think",
    "no_visible_response",
]


@dataclass(frozen=True, slots=True)
class Channels:
    """One generation, split.

    Attributes:
        visible: what the user sees, without outer blanks and end-of-turn tokens; empty when there is nothing.
        reasoning: the reasoning channel; empty when there is none. Never judged.
        flags: ``answer_in_reasoning_field`` the server's parser put the answer there; ``reasoning_in_nt`` a reasoning
            channel in non-thinking mode; ``unclosed_think`` a think block that never closes; ``reopened_think``
            a think block opened again inside the answer; ``no_visible_response`` to be counted, never scored as text.
    """

    visible: str
    reasoning: str
    flags: frozenset[Flag]


def split_channels(
    output: str | Mapping[str, Any],
    *,
    mode: Mode,
    prompt_tail: PromptTail | None = None,
    finish_reason: str | None = None,
    family: str | Family = "qwen3_vl",
) -> Channels:
    """Split a generated text or a server's message into channels. Linear in its length.

    Args:
        output: the text decoded with special tokens kept, or a chat message with ``content`` and, where the server
            splits, ``reasoning`` or ``reasoning_content``.
        mode: "nt" or "t", as asked of the model.
        prompt_tail: how the rendered prompt ended (`modes.prompt_tail`); None when unknown (hosted model).
        finish_reason: as the server says; "length" means cut.
        family: name in `families.FAMILIES`, or a `Family`.

    Raises:
        ValueError: unknown mode, prompt tail or family; a message field that is not text.
    """
    check_mode(mode)
    fam = get_family(family)
    if prompt_tail is not None and prompt_tail not in PROMPT_TAILS:
        raise ValueError(f"prompt_tail={prompt_tail!r} is unknown; use one of {PROMPT_TAILS} or None")
    if isinstance(output, str):
        generated, field = output, ""
    else:
        generated = _text_of(output, "content")
        field = _text_of(output, "reasoning") or _text_of(output, "reasoning_content")
    content, field = _trim(generated, fam), _trim(field, fam)

    if fam.harmony and is_harmony(content):
        # Its end tokens are structure: they close the last message.
        channels = _split_harmony(generated, field, mode, prompt_tail, fam)
    elif field and (mode == "nt" or prompt_tail == "closed"):
        channels = _split_unexpected_reasoning(content, field, mode, prompt_tail, finish_reason, fam)
    elif field or mode == "nt":
        channels = Channels(content, field, frozenset())
    else:
        channels = _split_think_block(content, prompt_tail, fam)
    if channels.visible:
        return channels
    return Channels("", channels.reasoning, channels.flags | {"no_visible_response"})


def _split_unexpected_reasoning(
    content: str, field: str, mode: Mode, prompt_tail: PromptTail | None, finish_reason: str | None, fam: Family
) -> Channels:
    """A filled reasoning field although the prompt asked for none (rules 2 and 4)."""
    no_blocks = not fam.think_markers and not fam.harmony
    outside = prompt_tail == "closed" or no_blocks or (prompt_tail == "none" and not fam.thinks_unasked)
    if not content and outside and finish_reason != "length":
        return Channels(field, "", frozenset({"answer_in_reasoning_field"}))
    flags: frozenset[Flag] = frozenset({"reasoning_in_nt"}) if mode == "nt" else frozenset()
    return Channels(content, field, flags)


def _split_think_block(text: str, prompt_tail: PromptTail | None, fam: Family) -> Channels:
    """Thinking mode, one text (rule 3)."""
    opening = {pair[0] for pair in fam.think_markers}
    is_open = prompt_tail == "open"
    opened_at = 0
    closed: tuple[int, int] | None = None
    for marker in find_markers(text, (token for pair in fam.think_markers for token in pair)):
        # Inside an open block the first closing marker ends it however it stands; outside, a marker that is used as a
        # word of a sentence is the subject of the answer.
        if not is_open and marker.in_sentence:
            continue
        if marker.name in opening:
            if not is_open:
                is_open, opened_at = True, marker.start
        else:
            is_open, closed = False, (marker.start, marker.end)
    if closed is None:
        if not is_open:
            return Channels(text, "", frozenset())
        return Channels("", _without_opening(text, opening), frozenset({"unclosed_think"}))
    reasoning = _without_opening(text[: closed[0]], opening)
    if is_open and not text[closed[1] : opened_at].strip():
        return Channels("", reasoning, frozenset({"unclosed_think"}))
    visible = _trim(text[closed[1] :], fam)
    return Channels(visible, reasoning, frozenset({"reopened_think"}) if is_open else frozenset())


def _split_harmony(text: str, field: str, mode: Mode, prompt_tail: PromptTail | None, fam: Family) -> Channels:
    """Harmony text that no server has split (rule 5)."""
    parsed = parse_harmony(text, prompt_tail)
    reasoning = "\n".join(part for part in (field, parsed.analysis) if part)
    flags: set[Flag] = set()
    if mode == "nt" and reasoning:
        flags.add("reasoning_in_nt")
    if parsed.unclosed_analysis and not parsed.final:
        flags.add("unclosed_think")
    return Channels(_trim(parsed.final, fam), reasoning, frozenset(flags))


def _without_opening(text: str, opening: set[str]) -> str:
    """Reasoning text without blanks and without the marker that opened it."""
    text = text.strip()
    for token in opening:
        if text.startswith(token):
            return text[len(token) :].strip()
    return text


def _trim(text: str, fam: Family) -> str:
    """The text without outer blanks and without end-of-turn tokens at its very end."""
    end = len(text)
    while end:
        if text[end - 1].isspace():
            end -= 1
            continue
        token = next((token for token in fam.end_tokens if text.endswith(token, 0, end)), None)
        if token is None:
            break
        end -= len(token)
    return text[:end].lstrip()


def _text_of(message: Mapping[str, Any], key: str) -> str:
    """A field of a message as text: null is empty, text parts are joined."""
    value = message.get(key)
    if value is None:
        return ""
    if isinstance(value, str):
        return value
    if isinstance(value, list) and all(isinstance(part, Mapping) for part in value):
        return "".join(part["text"] for part in value if isinstance(part.get("text"), str))
    raise ValueError(f"message field {key!r} is {type(value).__name__}, expected text, a list of text parts or null")
