"""Numeric check of two trees at random points, with mpmath; runs in the symbolic child process only.

It does not use the symbolic library's parser, so a part that one parser drops cannot make both agree.
"""

from __future__ import annotations

import random
from fractions import Fraction
from typing import Any

import mpmath  # type: ignore[import-untyped]

from reward_workers.verifier.rules.notation.expression import Node

DIGITS = 50
AGREE = mpmath.mpf(10) ** -35
"""Relative difference below which two values agree."""
ZERO = mpmath.mpf(10) ** -45
"""What a value that is 0 may come out as; alone it proves nothing, see `equivalence`."""

_POSITIVE_POINTS = 4
_SIGNED_POINTS = 3
_MAX_EXPONENT = 10**6

Point = dict[str, Any]


class Undefined(ArithmeticError):
    """The tree has no finite value at this point."""


def sample_points(names: list[str]) -> list[tuple[Point, bool]]:
    """(point, all coordinates positive): random rationals, the same for the same names."""
    if not names:
        return [({}, True)]
    stream = random.Random("|".join(names))  # noqa: S311 - sampling, not a secret
    points = []
    for index in range(_POSITIVE_POINTS + _SIGNED_POINTS):
        positive = index < _POSITIVE_POINTS
        point = {}
        for name in names:
            value = Fraction(stream.randint(101, 3301), 1009)
            point[name] = to_mp(value if positive or stream.random() < 0.4 else -value)
        points.append((point, positive))
    return points


def to_mp(value: Fraction) -> Any:
    return mpmath.mpf(value.numerator) / value.denominator


def evaluate(node: Node, point: Point) -> Any:
    """Complex value of a tree at a point.

    Raises:
        Undefined: division by zero, pole, or a power too large to hold.
    """
    try:
        value = _value(node, point)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError) as error:
        raise Undefined(str(error)) from error
    if not mpmath.isfinite(value):
        raise Undefined("not finite")
    return value


def _value(node: Node, point: Point) -> Any:
    kind = node[0]
    if kind == "num":
        return to_mp(node[1])
    if kind == "var":
        return point[node[1]]
    if kind == "const":
        return {"pi": +mpmath.pi, "e": +mpmath.e, "i": mpmath.mpc(0, 1)}[node[1]]
    if kind == "fn":
        return _function(node[1], _value(node[2], point))
    parts = [_value(child, point) for child in node[1:]]
    if kind == "add":
        return parts[0] + parts[1]
    if kind == "mul":
        return parts[0] * parts[1]
    if kind == "div":
        return parts[0] / parts[1]
    if kind == "neg":
        return -parts[0]
    if kind == "abs":
        return abs(parts[0])
    if kind == "deg":
        return parts[0] * mpmath.pi / 180
    if kind == "log":
        return mpmath.log(parts[0]) / mpmath.log(parts[1])
    if kind == "pow":
        if abs(parts[1]) > _MAX_EXPONENT:
            raise OverflowError("exponent too large")
        if parts[0] == 0 and parts[1] == 0:
            raise ZeroDivisionError("0^0 has no agreed value")
        return mpmath.power(parts[0], parts[1])
    if kind == "fact":
        return mpmath.factorial(parts[0])
    if kind == "binom":
        return mpmath.binomial(parts[0], parts[1])
    raise AssertionError(f"operator {kind}")


_FUNCTIONS = {
    "sin": mpmath.sin, "cos": mpmath.cos, "tan": mpmath.tan, "cot": mpmath.cot, "sec": mpmath.sec, "csc": mpmath.csc,
    "sinh": mpmath.sinh, "cosh": mpmath.cosh, "tanh": mpmath.tanh, "arcsin": mpmath.asin, "arccos": mpmath.acos,
    "arctan": mpmath.atan, "ln": mpmath.log, "exp": mpmath.exp,
}  # fmt: skip


def _function(name: str, argument: Any) -> Any:
    return _FUNCTIONS[name](argument)


def relative_difference(a: Any, r: Any) -> Any:
    """|a - r| over the larger magnitude; 0 when both are 0 but for rounding errors, as sin(pi) is."""
    scale = max(abs(a), abs(r))
    return abs(a - r) / scale if scale > ZERO else mpmath.mpf(0)


def is_real(value: Any) -> bool:
    return bool(abs(mpmath.im(value)) <= AGREE * max(1, abs(value)))
