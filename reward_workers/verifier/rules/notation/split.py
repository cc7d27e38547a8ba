"""Split canonical text at the top level of its brackets, in one pass (policy 9)."""

from __future__ import annotations

import re

_OPEN = "([{"
_CLOSE = ")]}"
_WORD_SEPARATOR = re.compile(r"\b(?:and|or)\b|[和或与]", re.IGNORECASE)
_GROUPED_NUMBER = re.compile(r"(?<![0-9.,])[1-9][0-9]{0,2}(?:,[0-9]{3})+(?![0-9]|,[0-9])")


def split_top(text: str, separators: str) -> list[str] | None:
    r"""Parts between separators that stand outside every bracket, stripped; None when brackets never balance.

    ``\{`` and ``{`` are both brackets. An interval such as ``[0,1)`` closes with either kind of bracket.
    """
    parts: list[str] = []
    depth = start = 0
    for index, character in enumerate(text):
        if character in _OPEN:
            depth += 1
        elif character in _CLOSE:
            depth -= 1
            if depth < 0:
                return None
        elif depth == 0 and character in separators:
            parts.append(text[start:index].strip())
            start = index + 1
    parts.append(text[start:].strip())
    return None if depth else parts


def split_parts(text: str, grouped_numbers: bool = True) -> list[str] | None:
    """Parts of a bare list: separated by comma, semicolon, 'and', 'or'. None when brackets do not balance.

    Args:
        grouped_numbers: read ``1,234`` as one number; otherwise as two parts.
    """
    if grouped_numbers and "," in text:
        text = _GROUPED_NUMBER.sub(lambda match: match.group().replace(",", ""), text)
    if not text.isascii() or "and" in text.lower() or "or" in text.lower():
        text = _WORD_SEPARATOR.sub(lambda match: ";", text)
    parts = split_top(text, ",;")
    if parts is None:
        return None
    return [part for part in parts if part] if len(parts) > 1 else parts


def outer_bracket(text: str) -> tuple[str, str, str] | None:
    r"""(open, inside, close) when one bracket pair encloses the whole text; open is ``(``, ``[`` or ``\{``."""
    if text.startswith(r"\{") and text.endswith(r"\}"):
        inside = text[2:-2]
        return ("\\{", inside.strip(), "\\}") if _encloses(text, 1) else None
    if text[:1] in ("(", "[") and text[-1:] in (")", "]") and _encloses(text, 0):
        return text[0], text[1:-1].strip(), text[-1]
    return None


def _encloses(text: str, start: int) -> bool:
    depth = 0
    for index in range(start, len(text)):
        if text[index] in _OPEN:
            depth += 1
        elif text[index] in _CLOSE:
            depth -= 1
            if depth == 0:
                return index == len(text) - 1
    return False
