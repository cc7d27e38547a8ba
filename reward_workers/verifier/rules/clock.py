"""Times of day, dates and ratios: things written with colons and dashes (policy 6)."""

from __future__ import annotations

import re
from datetime import date
from fractions import Fraction

from reward_workers.verifier.rules.outcome import Outcome

_TIME = re.compile(r"(\d{1,2})\s*:\s*(\d{2})(?:\s*:\s*(\d{2}))?\s*([ap])?\.?\s?(m)?\.?", re.IGNORECASE)
_RATIO = re.compile(r"\d+(?:\.\d+)?(?:\s*:\s*\d+(?:\.\d+)?)+")
_ISO = re.compile(r"(\d{4})[-/.](\d{1,2})[-/.](\d{1,2})")
_HAN_DATE = re.compile(r"(\d{4})\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日?")
_MONTH_FIRST = re.compile(r"([A-Za-z]{3,9})\.?\s+(\d{1,2})(?:st|nd|rd|th)?,?\s+(\d{4})")
_DAY_FIRST = re.compile(r"(\d{1,2})(?:st|nd|rd|th)?\s+([A-Za-z]{3,9})\.?,?\s+(\d{4})")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_LONG_MONTHS = "january february march april may june july august september october november december"
_MONTH_NAMES = {*_MONTHS, "sept", *_LONG_MONTHS.split()}


def parse_time(text: str) -> tuple[int, int, str] | None:
    """(hour, seconds within the hour, 'a' | 'p' | '') of a clock time, None for anything else."""
    match = _TIME.fullmatch(text.strip())
    if match is None or bool(match.group(4)) != bool(match.group(5)):
        return None
    hour, minute, second = int(match.group(1)), int(match.group(2)), int(match.group(3) or 0)
    if hour > 24 or minute > 59 or second > 59:
        return None
    return hour, minute * 60 + second, (match.group(4) or "").lower()


def compare_time(answer: str, reference: str) -> Outcome:
    """Clock times; the half of the day may be given on one side only, which stays unresolved."""
    a, r = parse_time(answer), parse_time(reference)
    if a is None or r is None:
        return Outcome(None, "not_a_time")
    if a[1] == r[1] and a[2] == r[2] and a[0] == r[0]:
        return Outcome(1, "same_time")
    if a[1] != r[1]:
        return Outcome(0, "other_time")
    if a[0] % 12 == r[0] % 12 and "" in (a[2], r[2]) and len({_half(a), _half(r)} - {""}) < 2:
        return Outcome(None, "half_of_day")
    return Outcome(0, "other_time")


def _half(clock: tuple[int, int, str]) -> str:
    """'a' or 'p' where it is said or the hour says it (0, 13 to 24), '' otherwise."""
    if clock[2]:
        return clock[2]
    return "a" if clock[0] in (0, 24) else "p" if clock[0] > 12 else ""


def parse_ratio(text: str) -> list[Fraction] | None:
    """Terms of a ratio such as 2:3, None for anything else."""
    text = re.sub(r"(?<=\d)\s+to\s+(?=\d)", ":", text)
    if not _RATIO.fullmatch(text) or len(text) > 200:
        return None
    return [Fraction(term.strip()) for term in text.split(":")]


def compare_ratio(answer: str, reference: str) -> Outcome:
    """Ratios term by term; a multiple of the reference is unresolved (was the simplest form asked for?)."""
    a, r = parse_ratio(answer), parse_ratio(reference)
    if a is None or r is None:
        return Outcome(None, "ratio_form")
    if a == r:
        return Outcome(1, "same_ratio")
    if len(a) == len(r) and all(a[i] * r[j] == a[j] * r[i] for i in range(len(a)) for j in range(i)):
        return Outcome(None, "multiple_of_ratio")
    return Outcome(0, "other_ratio")


def parse_date(text: str) -> tuple[date, str] | None:
    """(date, format) for the unambiguous formats; None for others such as 03/05/2024."""
    for pattern, order, form in ((_ISO, (1, 2, 3), "iso"), (_HAN_DATE, (1, 2, 3), "han")):
        match = pattern.fullmatch(text)
        if match:
            year, month, day = (int(match.group(index)) for index in order)
            return _valid_date(year, month, day, form)
    for pattern, day_group, month_group, form in ((_MONTH_FIRST, 2, 1, "month_first"), (_DAY_FIRST, 1, 2, "day_first")):
        match = pattern.fullmatch(text)
        if match and match.group(month_group).lower() in _MONTH_NAMES:
            index = _MONTHS.index(match.group(month_group).lower()[:3]) + 1
            return _valid_date(int(match.group(3)), index, int(match.group(day_group)), form)
    return None


def _valid_date(year: int, month: int, day: int, form: str) -> tuple[date, str] | None:
    try:
        return date(year, month, day), form
    except ValueError:
        return None


def compare_date(answer: str, reference: str) -> Outcome:
    """Same day in the same format -> 1, in another format -> unresolved; two unambiguous different days -> 0."""
    a, r = parse_date(answer), parse_date(reference)
    if a is None or r is None:
        return Outcome(None, "date_format")
    if a[0] != r[0]:
        return Outcome(0, "other_date")
    return Outcome(1, "same_date") if a[1] == r[1] else Outcome(None, "date_format")
