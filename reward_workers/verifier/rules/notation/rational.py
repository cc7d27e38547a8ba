"""Exact rational value of a constant expression, with bounds on the size of every intermediate number."""

from __future__ import annotations

import math
from fractions import Fraction

from reward_workers.verifier.rules.notation.expression import Node

_MAX_BITS = 4096


def rational_value(node: Node) -> Fraction | None:
    """Exact value of a constant rational expression; None when it has variables, is irrational, or is too large."""
    kind = node[0]
    if kind == "num":
        value: Fraction = node[1]
        return value
    if kind in ("var", "const", "fn", "deg", "log"):
        return None
    first = rational_value(node[1])
    if first is None:
        return None
    if len(node) == 2:
        return _operate(kind, [first])
    second = rational_value(node[2])
    return None if second is None else _operate(kind, [first, second])


def _operate(kind: str, parts: list[Fraction]) -> Fraction | None:
    result: Fraction | None
    if kind == "add":
        result = parts[0] + parts[1]
    elif kind == "mul":
        result = parts[0] * parts[1]
    elif kind == "div":
        result = parts[0] / parts[1] if parts[1] else None
    elif kind == "neg":
        result = -parts[0]
    elif kind == "abs":
        result = abs(parts[0])
    elif kind == "pow":
        result = _power(parts[0], parts[1])
    elif kind == "fact":
        small = parts[0].denominator == 1 and 0 <= parts[0] <= 200
        result = Fraction(math.factorial(int(parts[0]))) if small else None
    elif kind == "binom":
        small = parts[0].denominator == parts[1].denominator == 1 and 0 <= parts[1] <= parts[0] <= 500
        result = Fraction(math.comb(int(parts[0]), int(parts[1]))) if small else None
    else:
        raise AssertionError(f"operator {kind}")
    return result if result is not None and _bits(result) <= _MAX_BITS else None


def _power(base: Fraction, exponent: Fraction) -> Fraction | None:
    if exponent.denominator == 2 and base >= 0:
        top, bottom = math.isqrt(base.numerator), math.isqrt(base.denominator)
        if top * top != base.numerator or bottom * bottom != base.denominator:
            return None
        base, exponent = Fraction(top, bottom), exponent * 2
    if exponent.denominator != 1 or (base == 0 and exponent <= 0):
        return None
    if base not in (0, 1, -1) and abs(exponent) * _bits(base) > _MAX_BITS:
        return None
    return base ** int(exponent % 2 if base in (1, -1) else exponent)


def _bits(value: Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
