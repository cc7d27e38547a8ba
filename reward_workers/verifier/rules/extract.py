r"""Find the answer: the content of the last ``\boxed{...}`` of the visible text, in linear time (policy 1)."""

from __future__ import annotations

import re
from dataclasses import dataclass

_BRACED = re.compile(r"\\boxed\s*\{")
_BARE = re.compile(r"\\boxed\s*([0-9]+)(?![0-9]|[.,]\d|[A-Za-z/^_%{!]|\\(?:[dtc]?frac|cdot|times|sqrt|pi|%))")
_THINK_OPEN = "<think>"
_THINK_CLOSE = "</think>"


@dataclass(frozen=True, slots=True)
class Extraction:
    """The answer in a response.

    Attributes:
        content: text inside the last box, stripped; None when there is no usable box.
        reason: ``ok``, ``no_box``, ``empty_box``, ``unclosed_box`` or ``unclosed_think``.
        n_boxes: braced boxes in the text that was searched.
    """

    content: str | None
    reason: str
    n_boxes: int = 0


def extract_boxed(visible: str) -> Extraction:
    r"""Return the last box after the last ``</think>``.

    A ``<think>`` that is never closed hides everything, so a box in it does not count. Of nested boxes the innermost
    counts. ``\boxed 7`` (digits only: neither ``\boxed 7.5`` nor ``\boxed 7x``) counts when there is no braced box.

    >>> extract_boxed(r"first \boxed{17}, no: \boxed{\frac{1}{2}}").content
    '\\frac{1}{2}'
    >>> extract_boxed("The total is 36.").reason
    'no_box'
    """
    close = visible.rfind(_THINK_CLOSE) if _THINK_CLOSE in visible else -1  # rfind alone is slow where there is none
    text = visible[close + len(_THINK_CLOSE) :] if close >= 0 else visible
    if _THINK_OPEN in text:
        return Extraction(None, "unclosed_think")
    first = text.find("\\boxed")
    boxes = list(_BRACED.finditer(text, first)) if first >= 0 else []
    if not boxes:
        digits = _BARE.findall(text, first) if first >= 0 else []
        return Extraction(digits[-1], "ok", 0) if digits else Extraction(None, "no_box")
    start, n_boxes = boxes[-1].end(), len(boxes)
    end = closing_brace(text, start)
    if end < 0:
        return Extraction(None, "unclosed_box", n_boxes)
    content = text[start:end].strip()
    return Extraction(content, "ok", n_boxes) if content else Extraction(None, "empty_box", n_boxes)


_BRACE_OR_ESCAPE = re.compile(r"\\.|[{}]", re.DOTALL)


def closing_brace(text: str, start: int) -> int:
    r"""Index of the brace that closes the group opened just before ``start``; -1 when it never closes.

    A backslash escapes the next character, so ``\{`` and ``\}`` do not count and ``\\{`` does.
    """
    first = text.find("}", start)
    if first < 0:
        return -1
    inside = text[start:first]
    if "{" not in inside and "\\" not in inside:
        return first
    depth = 1
    for match in _BRACE_OR_ESCAPE.finditer(text, start):
        found = match.group()
        if found == "{":
            depth += 1
        elif found == "}":
            depth -= 1
            if depth == 0:
                return match.start()
    return -1
