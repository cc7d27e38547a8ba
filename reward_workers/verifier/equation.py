"""Equations and named values: ``x = 5``, ``f(x) = 2x + 1``, ``y = 2x + 1`` against ``2x - y + 1 = 0`` (policy 10)."""

from __future__ import annotations

import re

from reward_workers.verifier.outcome import Leaf, Outcome, Question

_NAME = re.compile(r"(?:[a-zA-Z]|\\[a-zA-Z]+)(?:_(?:[0-9a-zA-Z]|\{[0-9a-zA-Z]+\}))?'?(?:\s*\(\s*[a-zA-Z]\s*\))?")
_WORD_NAME = re.compile(r"[A-Za-z][A-Za-z ]{0,30}")


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
    """Two equations: same left side -> the right sides decide when equal; else the same curve up to a factor.

    Args:
        leaf: decides the question whether two equations describe the same curve.
        values: decides whether two right sides are the same value.
    """
    a, r = sides(answer), sides(reference)
    if a is None or r is None:
        return Outcome(None, "not_one_equation")
    if a[0].replace(" ", "") == r[0].replace(" ", "") and named_value(answer) is not None:
        return values(Question(a[1], r[1]))
    return leaf(Question(answer, reference, "equation"))
