"""The harmony format of GPT-oss: a text of messages, each in a channel (channel rule 5).

    <|start|>assistant<|channel|>analysis<|message|>...<|end|><|start|>assistant<|channel|>final<|message|>...<|return|>

`analysis` is reasoning, `final` is what the user sees, a message to a tool or from one is neither.
"""

from __future__ import annotations

from dataclasses import dataclass

from foundation.responses.families import PromptTail
from foundation.responses.markers import find_markers

_ENDS = ("<|end|>", "<|return|>", "<|call|>")
_TOKENS = ("<|start|>", "<|channel|>", "<|message|>", *_ENDS)


@dataclass(frozen=True, slots=True)
class HarmonyText:
    """The channels of a harmony text.

    Attributes:
        final: messages of the final channel, joined by newlines.
        analysis: messages of the analysis channel, joined by newlines.
        unclosed_analysis: the text ends inside an analysis message.
    """

    final: str
    analysis: str
    unclosed_analysis: bool


def is_harmony(text: str) -> bool:
    """Whether the text has harmony structure (a server may have split it already)."""
    return any(marker.name in ("<|channel|>", "<|message|>") for marker in find_markers(text, _TOKENS))


def parse_harmony(text: str, prompt_tail: PromptTail | None) -> HarmonyText:
    """Split a generated harmony text; `prompt_tail` says what the text before the first marker continues.

    Args:
        text: generated text with special tokens; the prompt ended with ``<|start|>assistant`` or inside a channel.
        prompt_tail: "open" the prompt ended inside analysis, "closed" inside final, otherwise before any channel.
    """
    final: list[str] = []
    analysis: list[str] = []
    header = {"open": "<|channel|>analysis", "closed": "<|channel|>final"}.get(prompt_tail or "", "assistant")
    in_message = prompt_tail in ("open", "closed")
    body_start = header_start = 0
    for marker in find_markers(text, _TOKENS):
        if in_message:
            # Inside a message only an end or the start of the next one is structure.
            if marker.name in ("<|channel|>", "<|message|>"):
                continue
            _collect(header, text[body_start : marker.start], final, analysis)
            in_message = False
            header, header_start = "", marker.start if marker.name == "<|start|>" else marker.end
        elif marker.name == "<|message|>":
            header += text[header_start : marker.start]
            in_message, body_start = True, marker.end
        elif marker.name == "<|start|>":
            header, header_start = "", marker.start
    if in_message:
        _collect(header, text[body_start:], final, analysis)
    unclosed = in_message and _channel(header) == "analysis"
    return HarmonyText("\n".join(final), "\n".join(analysis), unclosed)


def _collect(header: str, body: str, final: list[str], analysis: list[str]) -> None:
    channel = _channel(header)
    if channel and body.strip():
        (final if channel == "final" else analysis).append(body.strip())


def _channel(header: str) -> str | None:
    """Channel of a message to the user, None for tool traffic and other channels."""
    role, has_channel, rest = header.partition("<|channel|>")
    role = role.removeprefix("<|start|>").strip()
    words = rest.split()
    # "assistant to=functions.f" and "functions.f to=assistant" are no plain assistant role.
    if not has_channel or not words or role not in ("", "assistant") or any(word.startswith("to=") for word in words):
        return None
    channel = words[0].partition("<|")[0]
    return channel if channel in ("final", "analysis") else None
