"""Two equations: the same up to a rational factor, or a point on one curve that is not on the other."""

from __future__ import annotations

from fractions import Fraction

from reward_workers.verifier.rules.notation.expression import Node
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.proof.residues import Undecided

Polynomial = list[int | Fraction]
"""Coefficients by rising power of one variable; integers as far as nothing is divided, which are ten times as fast."""

_MAX_DEGREE = 8
_MAX_BITS = 2000
_MAX_FACTOR = 10**6
FACTOR_BITS = 20.0
"""Two equations in lowest terms differ by no larger factor in practice; few factors leave chance little room."""


def rational_of(residue: int, prime: int) -> Fraction | None:
    """The fraction with numerator and denominator of 10^6 at most that has this residue; there is at most one."""
    last, current, last_factor, factor = prime, residue, 0, 1
    while current > _MAX_FACTOR:
        quotient = last // current
        last, current = current, last - quotient * current
        last_factor, factor = factor, last_factor - quotient * factor
    return Fraction(current, factor) if current and 0 < abs(factor) <= _MAX_FACTOR else None


def point_on_one_only(curve: Node, other: Node, names: list[str], point: dict[str, int]) -> bool:
    """Whether a real point satisfies the first equation and not the second; both as left side minus right side.

    All variables but one are fixed. Of what is left, a line has one root and a parabola with a positive discriminant
    two; the other equation, reduced by this one, vanishes at none or at one of them at most unless it is zero.
    """
    for name in names:
        fixed = {other_name: value for other_name, value in point.items() if other_name != name}
        try:
            first, second = _polynomial(curve, name, fixed), _polynomial(other, name, fixed)
        except Undecided:
            continue
        if len(first) not in (2, 3) or (len(first) == 3 and first[1] ** 2 <= 4 * first[0] * first[2]):
            continue
        if _remainder(second, first):
            return True
    return False


def _polynomial(node: Node, name: str, fixed: dict[str, int]) -> Polynomial:
    kind = node[0]
    if kind == "num":
        return _constant(node[1])
    if kind == "var":
        return [0, 1] if node[1] == name else _trimmed([fixed[node[1]]])
    if kind == "neg":
        return [-coefficient for coefficient in _polynomial(node[1], name, fixed)]
    if kind == "add":
        return _added(_polynomial(node[1], name, fixed), _polynomial(node[2], name, fixed))
    if kind == "mul":
        return _multiplied(_polynomial(node[1], name, fixed), _polynomial(node[2], name, fixed))
    if kind == "div":
        divisor = rational_value(node[2])  # by a number: a denominator with letters takes points away from the curve
        if not divisor:
            raise Undecided("a denominator with letters")
        return [Fraction(coefficient) / divisor for coefficient in _polynomial(node[1], name, fixed)]
    if kind == "pow":
        power = rational_value(node[2])
        if power is None or power.denominator != 1 or not 1 <= power <= _MAX_DEGREE:
            raise Undecided("no small power")
        base = _polynomial(node[1], name, fixed)
        result: Polynomial = [1]
        for _ in range(int(power)):
            result = _multiplied(result, base)
        return result
    exact = rational_value(node)
    if exact is None:
        raise Undecided("no polynomial")
    return _constant(exact)


def _constant(value: Fraction) -> Polynomial:
    return _trimmed([value.numerator if value.denominator == 1 else value])


def _added(one: Polynomial, other: Polynomial) -> Polynomial:
    longer, shorter = (one, other) if len(one) >= len(other) else (other, one)
    total = list(longer)
    for power, coefficient in enumerate(shorter):
        total[power] += coefficient
    return _trimmed(total)


def _multiplied(one: Polynomial, other: Polynomial) -> Polynomial:
    if not one or not other:
        return []
    if len(one) + len(other) > _MAX_DEGREE + 2:
        raise Undecided("a high degree")
    total: Polynomial = [0] * (len(one) + len(other) - 1)
    for power, coefficient in enumerate(one):
        for shift, factor in enumerate(other):
            total[power + shift] += coefficient * factor
    if any(_bits(coefficient) > _MAX_BITS for coefficient in total):
        raise Undecided("large coefficients")
    return _trimmed(total)


def _remainder(polynomial: Polynomial, divisor: Polynomial) -> Polynomial:
    """The remainder times a power of the leading coefficient, so that integers stay integers."""
    rest, lead = list(polynomial), divisor[-1]
    while len(rest) >= len(divisor):
        last, shift = rest[-1], len(rest) - len(divisor)
        rest = [coefficient * lead for coefficient in rest]
        for power, coefficient in enumerate(divisor):
            rest[power + shift] -= last * coefficient
        rest = _trimmed(rest)
    return rest


def _trimmed(polynomial: Polynomial) -> Polynomial:
    end = len(polynomial)
    while end and not polynomial[end - 1]:
        end -= 1
    return polynomial[:end]


def _bits(value: int | Fraction) -> int:
    return max(value.numerator.bit_length(), value.denominator.bit_length())
