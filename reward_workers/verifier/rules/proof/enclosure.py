"""Values of trees in floating point with a bound on their error, so that two values can be shown to differ.

Every step adds what it may have lost: `SLACK` times the result, four units in the last place, where a single operation
or function of the C library loses one at most. Real arithmetic, and complex arithmetic for field operations alone.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction

from reward_workers.verifier.rules.notation.expression import Node
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.proof.residues import Undecided

SLACK = 2.0**-50
"""Relative error of one step."""
TINY = 2.0**-1000
"""Absolute error of one step, for results so small that they have fewer digits."""
_MAX_POWER = 2000
_EXACT_BELOW = 2**53
"""Integers of this size are exact."""

Value = float | complex


@dataclass(frozen=True, slots=True)
class Enclosure:
    """A value and how far from it the exact one may lie."""

    value: Value
    error: float


Point = Mapping[str, float]
"""Values of the variables, which are exact."""


def enclose(node: Node, point: Point) -> Enclosure:
    """The value of a tree where its variables have these values.

    Raises:
        Undecided: no real value, too large, or an operator that has no bound here.
    """
    try:
        value, error = _enclose(node, point)
    except (OverflowError, ZeroDivisionError, ValueError, TypeError) as problem:
        raise Undecided(str(problem)) from problem
    if not (math.isfinite(abs(value)) and math.isfinite(error)):
        raise Undecided("not finite")
    return Enclosure(value, error)


Pair = tuple[Value, float]


def _enclose(node: Node, point: Point) -> Pair:
    kind = node[0]
    if kind == "num":
        return _exact(node[1])
    if kind == "var":
        return point[node[1]], 0.0
    if kind == "mul":
        return _multiplied(_enclose(node[1], point), _enclose(node[2], point))
    if kind == "add":
        return _added(_enclose(node[1], point), _enclose(node[2], point))
    if kind == "neg":
        value, error = _enclose(node[1], point)
        return -value, error
    if kind == "const":
        return {"pi": _stepped(math.pi, 0.0), "e": _stepped(math.e, 0.0), "i": (1j, 0.0)}[node[1]]
    if kind == "pow":
        return _power(node[1], node[2], point)
    if kind == "fn":
        return _FUNCTIONS[node[1]](_real(_enclose(node[2], point)))
    if kind in ("fact", "binom"):
        exact = rational_value(node)
        if exact is None:
            raise Undecided(f"{kind} of a variable")
        return _exact(exact)
    parts = [_enclose(child, point) for child in node[1:]]
    return _OPERATORS[kind](*parts)


def _exact(number: Fraction) -> Pair:
    top, bottom = number.numerator, number.denominator
    if bottom == 1 and -_EXACT_BELOW < top < _EXACT_BELOW:
        return float(top), 0.0
    value = top / bottom
    return value, abs(value) * SLACK + TINY


def _stepped(value: Value, error: float) -> Pair:
    return value, error + abs(value) * SLACK + TINY


def _real(part: Pair) -> tuple[float, float]:
    if isinstance(part[0], complex):
        raise Undecided("a function of a complex number")
    return part[0], part[1]


def _added(a: Pair, b: Pair) -> Pair:
    value = a[0] + b[0]
    return value, a[1] + b[1] + abs(value) * SLACK + TINY


def _multiplied(a: Pair, b: Pair) -> Pair:
    value = a[0] * b[0]
    return value, abs(a[0]) * b[1] + abs(b[0]) * a[1] + a[1] * b[1] + abs(value) * SLACK + TINY


def _divided(a: Pair, b: Pair) -> Pair:
    size = abs(b[0]) - b[1]
    if size <= abs(b[0]) / 2:
        raise Undecided("a denominator near zero")
    value = a[0] / b[0]
    return _stepped(value, 2 * (a[1] + abs(value) * b[1]) / size)


def _power(base: Node, exponent: Node, point: Point) -> Pair:
    fixed = rational_value(exponent)
    b = _enclose(base, point)
    if fixed is not None and fixed.denominator == 1:
        return _whole_power(b, int(fixed))
    if fixed == Fraction(1, 2):
        return _root(_real(b))
    e = _exact(fixed) if fixed is not None else _enclose(exponent, point)
    return _exponential(_real(_multiplied(e, _logarithm(_real(b)))))


def _whole_power(base: Pair, power: int) -> Pair:
    if power < 0:
        return _divided((1.0, 0.0), _whole_power(base, -power))
    if power == 0:
        if abs(base[0]) <= base[1]:
            raise Undecided("0^0 has no agreed value")
        return 1.0, 0.0
    if power > _MAX_POWER:
        raise Undecided("a large power")
    result: Pair = (1.0, 0.0)
    while power:
        if power & 1:
            result = _multiplied(result, base)
        power >>= 1
        if power:
            base = _multiplied(base, base)
    return result


def _above_zero(part: tuple[float, float]) -> float:
    """The least that the value may be."""
    low = part[0] - part[1]
    if low <= 0:
        raise Undecided("not clearly above zero")
    return low


def _root(part: tuple[float, float]) -> Pair:
    if part == (0.0, 0.0):
        return 0.0, 0.0
    return _stepped(math.sqrt(part[0]), part[1] / math.sqrt(_above_zero(part)))


def _logarithm(part: tuple[float, float]) -> Pair:
    return _stepped(math.log(part[0]), part[1] / _above_zero(part))


def _exponential(part: tuple[float, float]) -> Pair:
    value = math.exp(part[0])
    return _stepped(value, 2 * value * math.expm1(part[1]))


def _sine(part: tuple[float, float]) -> Pair:
    return math.sin(part[0]), part[1] + SLACK


def _cosine(part: tuple[float, float]) -> Pair:
    return math.cos(part[0]), part[1] + SLACK


def _tangent(part: tuple[float, float]) -> Pair:
    return _divided(_sine(part), _cosine(part))


def _cotangent(part: tuple[float, float]) -> Pair:
    return _divided(_cosine(part), _sine(part))


def _inverse(function: Callable[[tuple[float, float]], Pair]) -> Callable[[tuple[float, float]], Pair]:
    return lambda part: _divided((1.0, 0.0), function(part))


def _hyperbolic(sign: float) -> Callable[[tuple[float, float]], Pair]:
    def both(part: tuple[float, float]) -> Pair:
        up, down = _exponential(part), _exponential((-part[0], part[1]))
        return _multiplied((0.5, 0.0), _added(up, (sign * down[0], down[1])))

    return both


def _hyperbolic_tangent(part: tuple[float, float]) -> Pair:
    return _divided(_hyperbolic(-1.0)(part), _hyperbolic(1.0)(part))


def _arc(function: Callable[[float], float]) -> Callable[[tuple[float, float]], Pair]:
    """Arcsine and arccosine, well inside of -1 to 1."""

    def arc(part: tuple[float, float]) -> Pair:
        room = 1 - (abs(part[0]) + part[1]) ** 2
        if room < 2.0**-20:
            raise Undecided("at the end of an arc")
        return function(part[0]), 2 * part[1] / math.sqrt(room) + 4 * SLACK

    return arc


def _arctangent(part: tuple[float, float]) -> Pair:
    return math.atan(part[0]), part[1] + 2 * SLACK


_OPERATORS: dict[str, Callable[..., Pair]] = {
    "div": _divided,
    "abs": lambda a: (abs(a[0]), a[1] + abs(a[0]) * SLACK),
    "deg": lambda a: _multiplied(a, _stepped(math.pi / 180, 0.0)),
    "log": lambda a, base: _divided(_logarithm(_real(a)), _logarithm(_real(base))),
}
_FUNCTIONS: dict[str, Callable[[tuple[float, float]], Pair]] = {
    "sin": _sine, "cos": _cosine, "tan": _tangent, "cot": _cotangent, "sec": _inverse(_cosine), "csc": _inverse(_sine),
    "sinh": _hyperbolic(-1.0), "cosh": _hyperbolic(1.0), "tanh": _hyperbolic_tangent, "arcsin": _arc(math.asin),
    "arccos": _arc(math.acos), "arctan": _arctangent, "ln": _logarithm, "exp": _exponential,
}  # fmt: skip
