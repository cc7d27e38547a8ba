"""The decisions of a pattern judge, one a label, read from its reply.

A reply is a row of items: a heading (a label's name, a number, or both) and a decision. Items form blocks that start at
the first label of the table. The last block must hold exactly its labels in order, and nothing before it may say
otherwise.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from foundation.labels import LABELS, TABLE
from reward_workers.judges.replies.reply_text import ParseFailure, answer_part, no_decision, plain


@dataclass(frozen=True, slots=True)
class ParsedLabels:
    """A decision on every label.

    Attributes:
        decided: the decisions, by label.
        positions: where each decision stands in the reply, in characters; empty when the reply was JSON.
    """

    decided: Mapping[str, bool]
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class _Item:
    """One item: place of its label in the table or `_OTHER`, decision or None, span from heading to decision."""

    label: int
    value: int | None
    start: int
    position: int
    end: int
    in_json: bool = False


_COUNT = len(TABLE)
_OTHER = _COUNT
"""Stands for the label of an item that belongs to none, beside the places 0.._COUNT-1 of the table."""

_NAMES = tuple(row.spellings for row in TABLE)
_NUMERALS = "一二三四五六七八九"[: _COUNT + 1]
"""Of the labels, and of one decision too many."""

_NAME = "|".join(f"(?P<label{index}>{names})" for index, names in enumerate(_NAMES))
_SUFFIX = r"(?:\s*(?:leak(?:age|ed|s)?|label|pattern|泄漏|泄露|外泄|问题|表述|性))?"
_DECORATION = r"[\s#*_+•·|`\"'{\[,;①-⑨-]{0,40}"
_WRAP = r"[\s*_`\"'\]\[]{0,20}"
_NUMBER = rf"(?:\(?(?P<number>[1-9])\s?[.):、|]|第(?P<ordinal>[{_NUMERALS}])[项条点]\s?[:、.]?)"
_NAMED = re.compile(
    rf"{_DECORATION}(?:{_NUMBER}{_DECORATION})?(?:{_NAME}){_SUFFIX}(?![A-Za-z])"
    rf"{_WRAP}(?:\([^()\n]{{0,80}}\))?{_WRAP}(?P<link>[:=|]|-+(?=\s)|[—–→]{{1,2}})?",
    re.IGNORECASE,
)
_NUMBERED = re.compile(rf"{_DECORATION}{_NUMBER}(?P<title>[^:\n]{{1,60}}[:=])?")
_LEAD = (
    rf"{_WRAP}(?:(?:decision|label|value|verdict|判定|判断|结论|结果|标签){_WRAP}[:=])?"
    r"[\s*_`\"'(\[$]{0,20}(?:\\boxed\{)?"
)
_ONES = ("1", "yes", "true", "是", "有")
_ZEROS = ("0", "no", "false", "否", "无", "没有")
_VALUE = "|".join((*_ONES, *_ZEROS))
_DECISION = re.compile(rf"{_LEAD}(?P<value>{_VALUE})(?![A-Za-z0-9_])", re.IGNORECASE)
# What turns a digit into something else: a number (0.8, 0,5, 1-2, 50%), an unfilled slot (1 / 0), a doubt (1?).
_CONTINUED = re.compile(
    r"[.,-][0-9]|%|[\s\])*_`\"']{0,10}"
    r"(?:\?|(?:/|\||\\|→|->|(?:or|and|vs)\b|或|和)[\s*_`\"'\[(]{0,10}[0-9]|\(?or\s[01]"
    r"|\(?(?:maybe|perhaps|probably|possibly|unsure|uncertain|可能|也许|不确定))|\s+[0-9](?![\w.])",
    re.IGNORECASE,
)
_LEAD_IN = re.compile(
    r"[\s*_#]{0,10}(?:final\s)?(?:answer|labels?|decisions?|verdict|判定|标签|结果)[\s*_]{0,4}:", re.IGNORECASE
)
_RETRACTED = re.compile(
    rf"(?:{'|'.join(_NAMES)})(?:\s(?:label|decision))?\s?"
    r"(?:should be|must be|is actually|应该?[为是]|改[为成])\s?[:*_`\"']{0,4}[01]",
    re.IGNORECASE,
)
_ANNOUNCED = re.compile(r"(?:decision|判定|判断)[*_`\s]{0,10}[:=]", re.IGNORECASE)
_OTHER_DECISION = re.compile(
    rf"{_DECORATION}(?:[{_COUNT + 1}-9]\s?[.):、])?[^\d\W][^:=\n]{{0,40}}[:=]{_WRAP}[01]{_WRAP}[.,;}}]?\s*"
)
_BETWEEN = re.compile(r"[\s*_`\"'\])]{0,20}(?:\([^()\n]{0,200}\))?[\s,;.|]{0,20}")
_BLANK = " \t*_`\"'|:=-{}[]()#"
_MAX_OBJECTS = 8
_DECISION_KEYS = ("label", "decision", "value", "score", "result", "present", "判定", "判断")


def parse_labels(text: str | None, response: str | None = None) -> ParsedLabels | ParseFailure:
    """The decisions of a pattern judge.

    Args:
        text: the reply; None when the server sent none.
        response: the response under test. When given, a block of decisions that also stands in it counts as an echo
            and not as a decision. Leave it out for a constrained reply, which cannot quote.

    Returns:
        The labels, or why the whole vector is unscored: null, empty, refusal, unclosed_thinking, no_decision,
        missing_labels, out_of_order, not_a_decision, extra_decision, blocks_differ, echo.
    """
    part = answer_part(text)
    if isinstance(part, ParseFailure):
        return part
    answer, offset = part
    in_json = _json_items(answer)
    if isinstance(in_json, ParseFailure):
        return in_json
    items = sorted(in_json + _line_items(_without(answer, in_json)), key=lambda item: (item.start, item.label))
    if not items:
        return no_decision(answer)
    blocks: list[list[_Item]] = []
    for item in items:
        if item.label == 0 or not blocks:
            blocks.append([])
        blocks[-1].append(item)
    if response is not None:
        quoted = _squeeze(plain(response))  # the reply is read in plain typography too
        blocks = [block for block in blocks if not _is_echo(answer, block, quoted)]
        if not blocks:
            return ParseFailure("echo")
    return _one_vector(blocks, answer, offset)


def _one_vector(blocks: list[list[_Item]], answer: str, offset: int) -> ParsedLabels | ParseFailure:
    last = blocks[-1]
    labels = [item.label for item in last]
    for item in last:
        if item.value is None:
            return ParseFailure("not_a_decision", answer[item.start : item.start + 80].strip())
    if labels != list(range(_COUNT)):
        named = ",".join((*LABELS, "other")[label] for label in labels[: 2 * _COUNT])
        if not set(range(_COUNT)) <= set(labels):
            return ParseFailure("missing_labels", named)
        return ParseFailure("extra_decision" if len(labels) > _COUNT else "out_of_order", named)
    for item in (item for block in blocks[:-1] for item in block):
        if item.value is not None and item.label < _OTHER and item.value != last[item.label].value:
            return ParseFailure("blocks_differ", LABELS[item.label])
    positions = () if any(item.in_json for item in last) else tuple(offset + item.position for item in last)
    if _RETRACTED.search(answer, last[-1].end):
        return ParseFailure("blocks_differ", "a decision is taken back")
    return ParsedLabels({label: bool(item.value) for label, item in zip(LABELS, last, strict=True)}, positions)


def _is_echo(answer: str, block: list[_Item], quoted: str) -> bool:
    return len(block) >= _COUNT and _squeeze(answer[block[0].start : block[-1].end]) in quoted


def _squeeze(text: str) -> str:
    return re.sub(r"[\s*_`#>|-]+", "", text).lower()


# --- lines ----------------------------------------------------------------------------------------------------------


def _line_items(answer: str) -> list[_Item]:
    """Items written as lines, as rows of a table, or as one comma-separated row."""
    items: list[_Item] = []
    waiting: _Item | None = None  # a heading whose decision has not come yet
    start = 0
    for line in answer.split("\n"):
        at, start = start, start + len(line) + 1
        if line.lstrip().startswith(">"):
            continue  # a quotation: the words of somebody else
        found = _items_of(line, at)
        if not found and waiting is not None:
            item = _decision_below(line, at, waiting)
            if item is not None:
                items[-1] = item
                waiting = None
        elif not found and items and _OTHER_DECISION.fullmatch(line):
            items.append(_Item(_OTHER, 0, at, at, at + len(line)))
        elif found:
            items += found
            last = found[-1]
            waiting = last if last.value is None and not answer[last.position : at + len(line)].strip(_BLANK) else None
    return items


def _items_of(line: str, at: int) -> list[_Item]:
    items: list[_Item] = []
    lead_in = _LEAD_IN.match(line)
    position = lead_in.end() if lead_in is not None else 0
    while True:
        named = _NAMED.match(line, position)
        item = _named_item(line, at, position, named) if named is not None else None
        if item is None and position == 0:
            item = _numbered_item(line, at)
        if item is None:
            return items
        items.append(item)
        if item.value is None:
            return items
        between = _BETWEEN.match(line, item.end - at)
        position = between.end() if between is not None else len(line)
        if position >= len(line):
            return items


def _named_item(line: str, at: int, start: int, head: re.Match[str]) -> _Item | None:
    label = _label_in(head)
    number = _number(head)
    if number is not None and number != label + 1:
        label = _OTHER  # the number says one label and the name another
    decided = _decision(line, head.end())
    if decided is None and head["link"] is None and line[head.end() :].strip(_BLANK):
        return None  # a sentence that begins with the name
    if decided is None:
        announced = list(_ANNOUNCED.finditer(line, head.end()))
        decided = _decision(line, announced[0].end()) if len(announced) == 1 else None
    if decided is None:
        return _Item(label, None, at + start, at + head.end(), at + head.end())
    return _Item(label, decided[0], at + start, at + decided[1], at + decided[2])


def _numbered_item(line: str, at: int) -> _Item | None:
    """``2. 0 - reason`` or ``2. some heading: 0``; a numbered sentence is no item."""
    head = _NUMBERED.match(line)
    if head is None:
        return None
    after_number = head.start("title") if head["title"] is not None else head.end()
    decided = _decision(line, after_number)
    if decided is None and head["title"] is not None:
        decided = _decision(line, head.end())
    if decided is None:
        return None
    number = _number(head)
    label = _OTHER if number is None else min(number - 1, _OTHER)
    return _Item(label, decided[0], at, at + decided[1], at + decided[2])


def _decision_below(line: str, at: int, heading: _Item) -> _Item | None:
    """The decision of a heading that stood alone; None while the line is blank or a sentence before the decision."""
    decided = _decision(line, len(line) - len(line.lstrip(_BLANK)))
    if decided is None:
        announced = list(_ANNOUNCED.finditer(line))
        decided = _decision(line, announced[0].end()) if len(announced) == 1 else None
    if decided is None:
        return None
    return _Item(heading.label, decided[0], heading.start, at + decided[1], at + decided[2])


def _decision(line: str, position: int) -> tuple[int, int, int] | None:
    """Value, start and end of the decision that begins here; None when what begins here is none."""
    match = _DECISION.match(line, position)
    if match is None or _CONTINUED.match(line, match.end()):
        return None
    return int(match["value"].lower() in _ONES), match.start("value"), match.end()


def _label_in(head: re.Match[str]) -> int:
    return next(index for index in range(_COUNT) if head[f"label{index}"] is not None)


def _number(head: re.Match[str]) -> int | None:
    if head["number"] is not None:
        return int(head["number"])
    return None if head["ordinal"] is None else _NUMERALS.index(head["ordinal"]) + 1


# --- JSON -----------------------------------------------------------------------------------------------------------


def _json_items(answer: str) -> list[_Item] | ParseFailure:
    """Items of JSON objects. An object has no order of its own, so its keys may stand in any."""
    items: list[_Item] = []
    decoder = json.JSONDecoder(object_pairs_hook=tuple)
    start = answer.find("{")
    for _ in range(_MAX_OBJECTS):
        if start < 0:
            break
        try:
            pairs, end = decoder.raw_decode(answer, start)
        except (ValueError, RecursionError):
            start = answer.find("{", start + 1)
            continue
        while len(pairs) == 1 and isinstance(pairs[0][1], tuple):
            pairs = pairs[0][1]  # {"labels": {...}}
        labels = [_label_of(key) for key, _ in pairs]
        values = [_json_decision(value) for _, value in pairs]
        named = [label for label in labels if label is not None]
        other = any(label is None and value is not None for label, value in zip(labels, values, strict=True))
        if named and (other or len(set(named)) != len(named)):
            return ParseFailure("extra_decision", answer[start:end][:80])
        items += [
            _Item(label, value, start, start, end, in_json=True)
            for label, value in zip(labels, values, strict=True)
            if label is not None
        ]
        start = answer.find("{", end)
    return items


def _without(answer: str, items: list[_Item]) -> str:
    for start, end in {(item.start, item.end) for item in items}:
        answer = answer[:start] + re.sub(r"[^\n]", " ", answer[start:end]) + answer[end:]
    return answer


def _label_of(key: str) -> int | None:
    match = _NAMED.fullmatch(key.strip())
    return None if match is None else _label_in(match)


def _json_decision(value: Any) -> int | None:
    if isinstance(value, tuple):  # an object: {"decision": 1, "reason": "..."}
        chosen = [inner for key, inner in value if key.lower() in _DECISION_KEYS]
        return _json_decision(chosen[0]) if len(chosen) == 1 and not isinstance(chosen[0], tuple) else None
    if isinstance(value, int) and value in (0, 1):  # True and False are integers too
        return int(value)
    if isinstance(value, str) and value.strip().lower() in (*_ONES, *_ZEROS):
        return int(value.strip().lower() in _ONES)
    return None
