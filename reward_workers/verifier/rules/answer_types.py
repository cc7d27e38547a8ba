"""The answer types that data rows may name, and how one is inferred from a reference."""

from __future__ import annotations

import re

from reward_workers.verifier.rules.clock import parse_date
from reward_workers.verifier.rules.text import YES_NO_ALONE

ANSWER_TYPES = (
    "integer", "decimal", "fraction", "percent", "unit", "currency", "angle", "expression", "equation", "list", "set",
    "ordered_list", "tuple", "interval", "matrix", "choice", "multi_choice", "text", "yesno", "time", "date", "ratio",
    "chart_numeric", "year", "doc_text",
)  # fmt: skip

_ALIASES = {
    "yes_no": "yesno", "boolean": "yesno", "number": "decimal", "numeric": "decimal", "float": "decimal",
    "int": "integer", "multiple_choice": "choice", "string": "text", "point": "tuple",
}  # fmt: skip

_CHOICE = re.compile(r"\(?[A-J]\)?\.?")
_CLOCK = re.compile(r"\d{1,2}\s*:\s*\d{2}(?::\d{2})?\s*(?:[ap]\.?\s?m\.?)?", re.IGNORECASE)
_RATIO = re.compile(r"\d+(?:\.\d+)?(?:\s*:\s*\d+(?:\.\d+)?)+")
_DATE = re.compile(r"\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}")
_GROUPS_OF_DIGITS = re.compile(r"\+?\d+(?:-\d+){2,}")


def check_answer_type(answer_type: str | None) -> str:
    """Canonical name, '' for None.

    Raises:
        ValueError: a name that no rule knows.
    """
    if answer_type is None or answer_type == "":
        return ""
    name = _ALIASES.get(answer_type, answer_type)
    if name not in ANSWER_TYPES:
        known = ", ".join((*ANSWER_TYPES, *_ALIASES))
        raise ValueError(f"answer_type={answer_type!r} is not known; use one of: {known}; or leave it out to infer it")
    return name


def infer(reference: str) -> str:
    """Type of a canonical reference when its row names none; '' when the form decides (numbers, lists, ...).

    ``555-010-2233`` is a number to read out and no difference.
    """
    if _CHOICE.fullmatch(reference):
        return "choice"
    if YES_NO_ALONE.fullmatch(reference):
        return "yesno"
    if _CLOCK.fullmatch(reference):
        return "time"
    if _RATIO.fullmatch(reference):
        return "ratio"
    if _DATE.fullmatch(reference) or parse_date(reference) is not None:
        return "date"
    return "doc_text" if _GROUPS_OF_DIGITS.fullmatch(reference) else ""
