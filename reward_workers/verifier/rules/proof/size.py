"""How large the coefficients and the degree of a formula may be, as a quotient of two polynomials in its atoms.

Sizes are the logarithms of the sums of the absolute coefficients, which add up under multiplication. A square root is
an atom that weighs as much as its square, so that replacing its square by a number makes nothing larger.
"""

from __future__ import annotations

import math
from typing import NamedTuple

from reward_workers.verifier.rules.notation.expression import Node, walk
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.proof.residues import PRIME, Undecided
from reward_workers.verifier.rules.proof.signature import MAX_WHOLE

MAX_BITS = math.log2(PRIME) - 2
"""Coefficients below the prime are not zero modulo the prime."""
MAX_GROWTH = 10**6
"""Product of the exponents on one path of a tree: the degree is at most this for each leaf."""
_MAX_ARGUMENT_BITS = MAX_BITS / 2 - 2
"""Of the argument of a function, which is compared with other arguments."""
_EXACT_TURN = (20.0, 12.0)
"""Sine or cosine of an angle with pi: powers of (1 + i sqrt3)/2 and (1 + i)/sqrt2."""


class Size(NamedTuple):
    """Bits of the numerator and of the denominator, and the product of exponents."""

    top: float = 0.0
    bottom: float = 0.0
    growth: int = 1


_ATOM = Size()


def difference_bits(one: Size, other: Size) -> float:
    """Bits of the numerator of a difference."""
    return max(one.top + other.bottom, other.top + one.bottom) + 1


def minus(one: Size, other: Size) -> Size:
    """Size of a difference, or of a sum."""
    return Size(difference_bits(one, other), one.bottom + other.bottom, max(one.growth, other.growth))


def size_of(node: Node) -> Size:
    """Size of a tree.

    Raises:
        Undecided: the argument of a function is too large to be told from another one.
    """
    kind = node[0]
    if kind == "num":
        return Size(_bits(node[1].numerator), _bits(node[1].denominator))
    if kind in ("var", "const"):
        return _ATOM
    if kind == "pow":
        return _power(node[1], node[2])
    if kind == "fn":
        return _function(node[1], node[2])
    if kind in ("fact", "binom", "abs"):
        exact = rational_value(node)
        if exact is not None:
            return Size(_bits(exact.numerator), _bits(exact.denominator))
        return max((_argument(child) for child in node[1:]), key=lambda size: size.growth)
    parts = [size_of(child) for child in node[1:]]
    if kind == "neg":
        return parts[0]
    if kind == "deg":
        return Size(parts[0].top, parts[0].bottom + 8, parts[0].growth)
    one, other = parts
    largest = max(one.growth, other.growth)
    if kind == "add":
        return minus(one, other)
    if kind == "mul":
        return Size(one.top + other.top, one.bottom + other.bottom, largest)
    if kind == "div":
        return Size(one.top + other.bottom, one.bottom + other.top, largest)
    if kind == "log":
        return Size(9.0, 9.0, max(_argument(node[1]).growth, _argument(node[2]).growth))
    raise Undecided(f"operator {kind}")


def _bits(value: int) -> float:
    return math.log2(abs(value)) if value else 0.0


def _argument(node: Node) -> Size:
    size = size_of(node)
    if size.top + size.bottom > _MAX_ARGUMENT_BITS:
        raise Undecided("a large argument")
    return Size(growth=size.growth)


def _power(base: Node, exponent: Node) -> Size:
    fixed = rational_value(exponent)
    if base == ("const", "e"):
        return _argument(exponent)
    size = size_of(base)
    if fixed is None:
        growth = max(size.growth, _argument(exponent).growth) * MAX_WHOLE
        _argument(base)
        return Size(MAX_WHOLE * (size.top + size.bottom), MAX_WHOLE * (size.top + size.bottom), growth)
    times = abs(fixed.numerator)
    if fixed.denominator == 2:
        if rational_value(base) is None:
            _argument(base)
        size = Size(size.top + size.bottom, size.bottom, size.growth)
    elif fixed.denominator != 1 and rational_value(base) is None:
        return _argument(base)
    top, bottom = (size.top, size.bottom) if fixed >= 0 else (size.bottom, size.top)
    return Size(times * top, times * bottom, size.growth * max(1, times))


def _function(name: str, argument: Node) -> Size:
    growth = _argument(argument).growth
    if name in ("sinh", "cosh"):
        return Size(1.0, 1.0, growth)
    if name == "tanh":
        return Size(2.0, 2.0, growth)
    if name in ("sin", "cos", "tan", "cot", "sec", "csc"):
        turns = any(part == ("const", "pi") or part[0] == "deg" for part in walk(argument))
        top, bottom = _EXACT_TURN if turns else (1.0, 1.0)
        return Size(top, bottom, growth) if name in ("sin", "cos") else Size(top + bottom, top + bottom, growth)
    return Size(9.0, 0.0, growth) if name == "ln" else Size(growth=growth)
