r"""Contradiction (label con): two answers that cannot both hold, neither of them taken back.

Only where the pair can be pointed at: two statements of the answer, or two sentences in a row that give one
thing two values. Parts of a question, conditions, hedges and corrections make the rule abstain.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from reward_workers.detectors.deliberation import corrects_itself
from reward_workers.detectors.sentences import Sentence
from reward_workers.verifier.rules.decide import verify_rules
from reward_workers.verifier.rules.extract import closing_brace

MAX_STATEMENTS = 32
"""Statements of the answer that are looked at; a text with more is a list, and no rule speaks."""

_NUMBER = r"[+-]?\d[\d,]*(?:\.\d+)?(?:/\d+)?%?"
_VALUE = (
    rf"(?P<value>\(?[A-H]\)?(?![\w'])(?!\s+[a-z])|{_NUMBER}(?![\w.]*\w)|(?:yes|no|true|false)\b|是的|不是|正确|错误)"
)
_ANSWER = re.compile(
    r"\b(?:the|my|our)\s+(?:final\s+|correct\s+|right\s+)?(?:answer|choice|option)\s+(?:is|must be|should be)\s*:?\s*"
    rf"(?:option\s+)?\$?{_VALUE}"
    rf"|(?:^|\b(?:final|correct)\s+)answer\s*[:：]\s*(?:option\s+)?\$?{_VALUE.replace('value', 'labelled')}"
    rf"|(?:答案|正确选项)(?:应该|应|就)?(?:是|为|选|[:：])\s*(?:选项)?{_VALUE.replace('value', 'chinese')}"
    r"|(?:故选|应选|所以选|因此选|选择)\s*(?:选项)?(?P<chosen>[A-H])(?![A-Za-z])",
    re.IGNORECASE,
)
_BOX = re.compile(r"\\boxed\s*\{")
_CONCLUDES = re.compile(r"\b(?:so|thus|hence|therefore|answer|final|result)\b|因此|所以|答案|综上|故", re.IGNORECASE)
_CONDITION = re.compile(
    r"\b(?:if|when|unless|assum\w+|suppos\w+|case|either|or|might|(?-i:may)|could|would|possibly|perhaps|about|approximately|"
    r"around|not|isn't|respectively|instead|rather|initially|at first|mistake\w*|incorrect\w*|wrong|"
    r"correct(?:ed|ion))\b"
    r"|若|如果|假设|情况|可能|大约|约|分别|或|而不是|并非|不选|纠正|更正|其实|错",
    re.IGNORECASE,
)
_PARTS = re.compile(
    r"\b(?:part|question|problem|case|scenario|sub-?question|method|approach|blank)\s*\(?(?:[a-d]|\d|[ivx]{1,3})\b\)?"
    r"|(?:^|\s)\((?:[a-d]|\d|[ivx]{1,3})\)\s|（[1-9一二三四]）|第[一二三四1-9](?:问|小题|题|空|种)|小问",
    re.IGNORECASE,
)
_SYMBOL_BEFORE = re.compile(r"([A-Za-z]\w*(?:_\{?\w+\}?)?)\s*=\s*\$*\s*$")

_COUNTS = "zero|one|two|three|four|five|six|seven|eight|nine|ten"
_DIGITS = {
    **{word: str(number) for number, word in enumerate(_COUNTS.split("|"))},
    **{character: str(number) for number, character in enumerate("一二三四五六七八九十", start=1)},
    "两": "2",
    "no": "0",
    "a": "1",
    "an": "1",
}
_THERE = re.compile(rf"there (?:is|are) (?P<value>no|an?|\d+|{_COUNTS}) (?P<what>.+?)[.!]?", re.IGNORECASE)
_THERE_ZH = re.compile(
    r"(?P<where>.{0,20}?)有(?P<value>\d+|[一二两三四五六七八九十])(?P<what>[个只条张名位辆本块].+?)[。！]?"
)
_IS = re.compile(
    rf"(?P<what>the .+?) (?:is|are|equals) (?P<value>\d[\d,.]*|{_COUNTS}|yes|no|red|blue|green|yellow|black|white|"
    r"orange|purple|pink|brown|gr[ae]y)[.!]?",
    re.IGNORECASE,
)
_SERIES = re.compile(
    r"\b(?:next|other|another|following|previous|first|second|third|last|new|current|remaining)\b", re.IGNORECASE
)
_LEAD_IN = re.compile(r"(?:(?:so|thus|hence|therefore|indeed|again|clearly)\b,?\s+)+", re.IGNORECASE)


@dataclass(frozen=True, slots=True)
class Statement:
    """One statement of the answer: its value, the kind of the value, and the sentence (by index) that makes it."""

    value: str
    kind: str
    sentence: int
    boxed: bool
    symbol: str = ""


def find_contradiction(sentences: Sequence[Sentence]) -> str | None:
    """``two_answers`` or ``two_values``; None where no rule speaks."""
    if _two_values(sentences):
        return "two_values"
    return "two_answers" if _two_answers(sentences) else None


def statements_of(sentences: Sequence[Sentence]) -> list[Statement]:
    """Statements of the answer in order: "the answer is X" and boxes, where X is a letter, a number, yes or no."""
    found = []
    for index, sentence in enumerate(sentences):
        for match in _ANSWER.finditer(sentence.text):
            value = next(part for part in match.groups() if part)
            found.append(Statement(value.strip("()").upper(), _kind(value), index, boxed=False))
        for match in _BOX.finditer(sentence.text):
            end = closing_brace(sentence.text, match.end())
            if end < 0:
                break  # an unclosed box holds the rest of the sentence
            value = sentence.text[match.end() : end].strip()
            symbol = _SYMBOL_BEFORE.search(sentence.text[max(0, match.start() - 40) : match.start()])
            if _kind(value):
                found.append(Statement(value, _kind(value), index, True, symbol.group(1) if symbol else ""))
        if len(found) > MAX_STATEMENTS:
            break
    return found


def _two_answers(sentences: Sequence[Sentence]) -> bool:
    found = statements_of(sentences)
    if len(found) < 2 or len(found) > MAX_STATEMENTS or any(_PARTS.search(sentence.text) for sentence in sentences):
        return False
    last = found[-1]
    for one in found[:-1]:
        if one.sentence == last.sentence or one.kind != last.kind or not _differ(one, last):
            continue
        if one.boxed and (one.symbol != last.symbol or not _CONCLUDES.search(sentences[one.sentence].text)):
            continue  # an intermediate result, or the value of something else
        if one.boxed and last.boxed and not _CONCLUDES.search(sentences[last.sentence].text):
            continue  # several boxes may hold the parts of one answer
        between = sentences[one.sentence : last.sentence + 1]
        taken_back = corrects_itself("\n".join(sentence.text for sentence in between), between)
        if not taken_back and not any(_CONDITION.search(sentence.text) for sentence in between):
            return True
    return False


def _kind(value: str) -> str:
    bare = value.strip("()$ ").removesuffix(r"\%")
    if re.fullmatch("[A-H]", bare):
        return "letter"
    if re.fullmatch(_NUMBER, bare):
        return "number"
    return "truth" if bare.casefold() in ("yes", "no", "true", "false", "是的", "不是", "正确", "错误") else ""


def _differ(one: Statement, other: Statement) -> bool:
    """Whether the verifier's rules say, both ways round, that the two are different answers."""
    pair = (one.value, other.value)
    return all(verify_rules(rf"\boxed{{{a}}}", b).value == 0 for a, b in (pair, pair[::-1]))


def _two_values(sentences: Sequence[Sentence]) -> bool:
    """Two sentences in a row that are the same but for the value."""
    for one, other in pairwise(sentences):
        if one.listed or other.listed:
            continue
        for pattern in (_THERE, _THERE_ZH, _IS):
            first, second = (pattern.fullmatch(_LEAD_IN.sub("", sentence.text, count=1)) for sentence in (one, other))
            if (
                first is None
                or second is None
                or _SERIES.search(one.text)
                or _CONDITION.search(f"{one.text} {other.text}")
            ):
                continue
            a, b = first.groupdict(), second.groupdict()
            values = _number(a.pop("value")), _number(b.pop("value"))
            if a == b and values[0] != values[1]:
                return True
    return False


def _number(value: str) -> str:
    return _DIGITS.get(value.casefold(), value.casefold())
