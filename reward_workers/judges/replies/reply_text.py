"""What the two parsers share: reading a judge's reply as text, without the thinking before it and without typography.

Every step keeps the length of the text or cuts at its start, so that a position in the result is a position in the
reply (the label probabilities are read at such positions).
"""

from __future__ import annotations

import re
from dataclasses import dataclass

_TYPOGRAPHY = {0xFF01 + offset: 0x21 + offset for offset in range(94)} | str.maketrans(  # full-width ASCII, and
    "。【】“”「」『』‘’\u3000\u00a0\u2028\u2029\r\v\f",
    '.[]""""""\'\'  \n\n\n\n\n',
)
_CLOSE = r"(?:</think>|\[/THINK\]|◁/think▷|<\|channel\|>final<\|message\|>)"
_OPEN = r"(?:<think>|\[THINK\]|◁think▷)"
_CLOSE_MARKER = re.compile(_CLOSE, re.IGNORECASE)
_OPENING = re.compile(rf"\s*{_OPEN}", re.IGNORECASE)
_OPENING_LINE = re.compile(rf"^[ \t]*{_OPEN}[ \t]*$", re.IGNORECASE | re.MULTILINE)
_OPEN_MARKER = re.compile(_OPEN, re.IGNORECASE)
_QUOTING = "\"'`([{ \t“‘「『（"
_WINDOW = 160
_REFUSAL = re.compile(
    r"\b(?:i(?:'m| am) (?:sorry|unable|not able)|i (?:cannot|can't|can not|won't) |as an ai\b"
    r"|cannot (?:assist|comply|help))"
    r"|抱歉|对不起|无法(?:回答|协助|提供|完成)|不能(?:回答|协助|提供)",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class ParseFailure:
    """A reply that holds no usable decision.

    Attributes:
        reason: short code such as ``empty``, ``missing_labels``, ``not_a_decision``, ``verdicts_differ``.
        detail: what was found, at most 80 characters, for the log; text of a model.
    """

    reason: str
    detail: str = ""


def plain(text: str) -> str:
    """The text in plain typography: full-width letters and Chinese punctuation become ASCII, one for one."""
    return text.translate(_TYPOGRAPHY)


def answer_part(text: str | None) -> tuple[str, int] | ParseFailure:
    """The reply after its thinking, in plain typography, and the position in the reply where it starts.

    Returns a failure for null, an empty reply, and thinking that was never closed (cut off before the verdict).
    """
    if text is None:
        return ParseFailure("null")
    start = _end_of_thinking(text)
    answer = plain(text[start:])
    opened = _OPENING.match(answer) or _OPENING_LINE.search(answer)
    if opened is not None:
        return ParseFailure("unclosed_thinking", answer[opened.start() :].strip()[:80])
    if not answer.strip():
        return ParseFailure("empty")
    return answer, start


def _end_of_thinking(text: str) -> int:
    """Where the answer starts: after the last closing marker that closes something.

    A judge of leaked thinking quotes such markers in its reasons, so a marker counts only when it stands as a model
    emits it: on a line of its own, directly after a word or sentence, or as the first one of a reply that opened.
    """
    end = 0
    opened = _OPENING.match(text) is not None
    for marker in _CLOSE_MARKER.finditer(text):
        line_before = text[max(0, marker.start() - _WINDOW) : marker.start()].rpartition("\n")[2]
        line_after = text[marker.end() : marker.end() + _WINDOW].partition("\n")[0]
        own_line = not line_before.strip() and not line_after.strip()
        emitted = not line_before or (
            line_before[-1] not in _QUOTING
            and line_after[:1] not in ("'", '"', "`")
            and not _OPEN_MARKER.search(line_before)
        )
        if own_line or emitted or (opened and end == 0):
            end = marker.end()
    return end


def no_decision(answer: str) -> ParseFailure:
    """The failure of a reply without any decision: told apart from a refusal, which names itself early."""
    return ParseFailure("refusal" if _REFUSAL.search(answer[:400]) else "no_decision", answer.strip()[:80])
