r"""Arithmetic modulo a prime, with square roots kept as symbols: the ring in which identities are tested.

An element is an int, the residue, or a dict from a set of roots (a bit mask) to the residue before their product. Roots
are made one by one, and the square of each is an element of the ring before it: so \sqrt2 \cdot \sqrt2 is 2, and a sum
of roots can be divided by.
"""

from __future__ import annotations

from collections.abc import Hashable

Element = int | dict[int, int]

PRIME = 2**127 - 1

_MAX_ROOTS = 10
_MAX_TERMS = 64


class Undecided(Exception):
    """This way of deciding does not reach the question."""


class Ring:
    """The roots that were made so far, and arithmetic with them."""

    def __init__(self) -> None:
        self._squares: list[Element] = []
        self._known: dict[Hashable, int] = {}

    def root_of(self, square: Element, name: Hashable) -> Element:
        """The symbol whose square is this element; the same symbol for the same name."""
        index = self._known.get(name)
        if index is None:
            index = len(self._squares)
            if index >= _MAX_ROOTS:
                raise Undecided("too many roots")
            self._squares.append(square)
            self._known[name] = index
        return {1 << index: 1}

    def add(self, a: Element, b: Element) -> Element:
        if isinstance(a, int) and isinstance(b, int):
            return (a + b) % PRIME
        total = dict(_terms(a))
        for mask, residue in _terms(b).items():
            total[mask] = (total.get(mask, 0) + residue) % PRIME
        return _plain(total)

    def negative(self, a: Element) -> Element:
        if isinstance(a, int):
            return -a % PRIME
        return {mask: -residue % PRIME for mask, residue in a.items()}

    def multiply(self, a: Element, b: Element) -> Element:
        if isinstance(a, int) and isinstance(b, int):
            return a * b % PRIME
        if isinstance(a, int) or isinstance(b, int):
            factor, terms = (a, b) if isinstance(a, int) else (b, a)
            return _plain({mask: factor * residue % PRIME for mask, residue in _terms(terms).items()})  # type: ignore[operator]
        total: Element = 0
        for left, x in _terms(a).items():
            for right, y in _terms(b).items():
                term = _plain({left ^ right: x * y % PRIME})
                for index in _bits(left & right):
                    term = self.multiply(term, self._squares[index])
                total = self.add(total, term)
        if not isinstance(total, int) and len(total) > _MAX_TERMS:
            raise Undecided("too many products of roots")
        return total

    def inverse(self, a: Element) -> Element:
        """1 / a, by taking the roots out of the denominator from the youngest on.

        Raises:
            Undecided: a is zero, or divides zero.
        """
        if isinstance(a, int):
            if a == 0:
                raise Undecided("division by zero")
            return 1 if a == 1 else pow(a, -1, PRIME)
        youngest = max(a).bit_length() - 1
        bit = 1 << youngest
        conjugate: Element = {mask: -residue % PRIME if mask & bit else residue for mask, residue in a.items()}
        return self.multiply(conjugate, self.inverse(self.multiply(a, conjugate)))

    def power(self, a: Element, exponent: int) -> Element:
        """a to an integer power.

        Raises:
            Undecided: zero to a power that is not positive.
        """
        if exponent <= 0 and a == 0:
            raise Undecided("zero to the power of zero or below")
        if exponent < 0:
            return self.power(self.inverse(a), -exponent)
        if isinstance(a, int):
            return pow(a, exponent, PRIME)
        result: Element = 1
        while exponent:
            if exponent & 1:
                result = self.multiply(result, a)
            exponent >>= 1
            if exponent:
                a = self.multiply(a, a)
        return result


def key_of(a: Element) -> Hashable:
    """The element as a key of a dictionary."""
    return a if isinstance(a, int) else frozenset(a.items())


def _terms(a: Element) -> dict[int, int]:
    return {0: a} if isinstance(a, int) else a


def _plain(terms: dict[int, int]) -> Element:
    found = {mask: residue for mask, residue in terms.items() if residue}
    if not found:
        return 0
    return found[0] if len(found) == 1 and 0 in found else found


def _bits(mask: int) -> list[int]:
    return [index for index in range(mask.bit_length()) if mask >> index & 1]
