"""Where think markers stand in a text, and which of them are only talked about (channel rule 7).

A marker inside code, between quotes, or used as a word of a sentence is text. Every pass is linear in the text.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass

_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»", "‹": "›", "「": "」", "『": "』", "《": "》"}
# A fence opens a line, or follows a marker on the line that closed the reasoning.
_FENCE = re.compile(r"(?:^|(?<=[>▷])) {0,3}(`{3,}|~{3,})([^`\n]*)$", re.MULTILINE)
_BACKTICKS = re.compile(r"`+")


@dataclass(frozen=True, slots=True)
class Marker:
    """One marker in a text.

    Attributes:
        start, end: character offsets, end exclusive.
        name: the marker itself, such as ``</think>``.
        in_sentence: stands like a word between words ("the </think> token"): possibly talked about.
    """

    start: int
    end: int
    name: str
    in_sentence: bool


def find_markers(text: str, tokens: Iterable[str]) -> list[Marker]:
    """All occurrences of the tokens outside of code and quotes, in order."""
    alternatives = sorted({token for token in tokens if token}, key=len, reverse=True)
    if not alternatives:
        return []
    hits = list(re.finditer("|".join(re.escape(token) for token in alternatives), text))
    if not hits:
        return []
    spans = code_spans(text)
    starts = [start for start, _ in spans]
    found = []
    for hit in hits:
        start, end = hit.span()
        span = bisect_right(starts, start) - 1
        if span >= 0 and end <= spans[span][1]:
            continue
        if start > 0 and end < len(text) and _QUOTES.get(text[start - 1]) == text[end]:
            continue
        found.append(Marker(start, end, hit.group(), _in_sentence(text, start, end)))
    return found


def _in_sentence(text: str, start: int, end: int) -> bool:
    """A word and one blank before, one blank and a lower-case word behind, all on one line."""
    before, behind = text[max(start - 2, 0) : start], text[end : end + 2]
    return (
        len(before) == 2
        and len(behind) == 2
        and before[1] == behind[0] == " "
        and (before[0].isalnum() or before[0] in ",;")
        and behind[1].islower()
    )


def code_spans(text: str) -> list[tuple[int, int]]:
    """Closed code fences and inline code, as sorted offsets that do not overlap."""
    fences = _fences(text)
    spans: list[tuple[int, int]] = []
    cursor = 0
    for start, end in fences:
        spans += _inline_code(text, cursor, start)
        spans.append((start, end))
        cursor = end
    return spans + _inline_code(text, cursor, len(text))


def _fences(text: str) -> list[tuple[int, int]]:
    """Fenced blocks that are closed. A second opening line with a language means that the first was never closed."""
    spans: list[tuple[int, int]] = []
    opened: tuple[int, str] | None = None
    for line in _FENCE.finditer(text):
        fence, info = line.group(1), line.group(2).strip()
        closes = opened is not None and not info and fence[0] == opened[1][0] and len(fence) >= len(opened[1])
        if opened is not None and closes:
            spans.append((opened[0], line.end()))
            opened = None
        elif opened is None or info:
            opened = (line.start(), fence)
    return spans


def _inline_code(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Inline code of one line: a run of backticks up to the next run of the same length."""
    spans: list[tuple[int, int]] = []
    line_start = start
    while line_start < end:
        newline = text.find("\n", line_start, end)
        line_end = end if newline < 0 else newline
        runs = [run.span() for run in _BACKTICKS.finditer(text, line_start, line_end)]
        following: list[int | None] = [None] * len(runs)
        latest: dict[int, int] = {}
        for i in range(len(runs) - 1, -1, -1):
            length = runs[i][1] - runs[i][0]
            following[i] = latest.get(length)
            latest[length] = i
        i = 0
        while i < len(runs):
            partner = following[i]
            if partner is None:
                i += 1
                continue
            spans.append((runs[i][0], runs[partner][1]))
            i = partner + 1
        line_start = line_end + 1
    return spans
