"""Equations and named values: ``x = 5``, ``f(x) = 2x + 1``, ``y = 2x + 1`` against ``2x - y + 1 = 0`` (policy 10)."""

from __future__ import annotations

import re

from reward_workers.verifier.rules.outcome import Leaf, Outcome, Question

_NAME = re.compile(
    r"(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_(?:[0-9a-zA-Z]|\{[0-9a-zA-Z]+\}))?'?(?:\s*\(\s*[0-9a-zA-Z]\s*\))?"
    r"|m?\s*(?:\\angle(?![a-zA-Z])|∠)\s*[A-Z]{1,3}"
)
_CALL = re.compile(r"[a-zA-Z]'?\s*\(\s*([a-zA-Z])\s*\)")
_SEQUENCE = re.compile(r"[a-zA-Z]_\{?[a-z]\}?")
_WORD_NAME = re.compile(
    r"(?!.*\b(?:not|no|never|if|unless|except|false|wrong)\b)[A-Za-z][A-Za-z ]{0,30}", re.IGNORECASE
)


def sides(text: str) -> tuple[str, str] | None:
    """Left and right of the one '=' sign; None without one, with more, or with another relation."""
    if text.count("=") != 1 or "<" in text or ">" in text or "\\le " in text or "\\ge " in text or "\\ne " in text:
        return None
    left, _, right = text.partition("=")
    left, right = left.strip(), right.strip()
    return (left, right) if left and right else None


def named_value(text: str) -> tuple[str, str] | None:
    """(name, value) of ``x = 5`` and ``f(x) = ...``; None when the left side is no name."""
    found = sides(text)
    if found is None or not (_NAME.fullmatch(found[0]) or _WORD_NAME.fullmatch(found[0])):
        return None
    return found


def compare_equations(answer: str, reference: str, leaf: Leaf, values: Leaf) -> Outcome:
    """Two equations: same left side -> the right sides decide; else the same curve up to a factor.

    ``f(x) = 2x + 1`` and ``y = 2x + 1`` say the same under other names, which only the question can allow.

    Args:
        leaf: decides the question whether two equations describe the same curve.
        values: decides whether two right sides are the same value.
    """
    a, r = sides(answer), sides(reference)
    if a is None or r is None:
        return Outcome(None, "not_one_equation")
    if named_value(answer) is not None and a[0].replace(" ", "") == r[0].replace(" ", ""):
        return values(Question(a[1], r[1]))
    calls = [_CALL.fullmatch(side) for side in (a[0], r[0])]
    sequences = all(_SEQUENCE.fullmatch(side) for side in (a[0], r[0]))
    if any(calls) or sequences:
        same_argument = sequences or len({call.group(1) for call in calls if call}) == 1
        outcome = values(Question(a[1], r[1]))
        return outcome if outcome.value == 0 and same_argument else Outcome(None, "other_name")
    return leaf(Question(answer, reference, "equation"))
