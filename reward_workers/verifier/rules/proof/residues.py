r"""Arithmetic modulo a prime, with square roots kept as symbols: the ring in which identities are tested.

An element is an int, the residue, or a dict from a set of roots (a bit mask) to the residue before their product. Roots
are made one by one, and the square of each is an element of the ring before it: so \sqrt2 \cdot \sqrt2 is 2, and a sum
of roots can be divided by.
"""

from __future__ import annotations

from collections.abc import Hashable

Element = int | dict[int, int]

_OFFSETS = (
    51, 81, 165, 273, 385, 421, 463, 573, 625, 757, 817, 847, 1173, 1287, 1783, 1875, 1975, 2247, 2283, 2337, 2427,
    2431, 2433, 2457, 2497, 2895, 3045, 3117, 3177, 3193, 3201, 3205, 3285, 3301, 3303, 3645, 3757, 3771, 3907,
    4143, 4183, 4201, 4251, 4443, 4641, 4845, 4885, 5151, 5193, 5467, 5493, 5647, 5751, 5823, 5985, 6031, 6067,
    6141, 6207, 6253, 6307, 6337, 6535, 6693,
)  # fmt: skip
PRIMES = tuple(2**128 + offset for offset in _OFFSETS)
"""The smallest 64 primes above 2^128."""

_MAX_ROOTS = 10
_MAX_TERMS = 64


class Undecided(Exception):
    """This way of deciding does not reach the question."""


class Ring:
    """Residues of one prime and the roots that were made so far."""

    def __init__(self, prime: int) -> None:
        self.prime = prime
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
            return (a + b) % self.prime
        total = dict(_terms(a))
        for mask, residue in _terms(b).items():
            total[mask] = (total.get(mask, 0) + residue) % self.prime
        return _plain(total)

    def negative(self, a: Element) -> Element:
        if isinstance(a, int):
            return -a % self.prime
        return {mask: -residue % self.prime for mask, residue in a.items()}

    def multiply(self, a: Element, b: Element) -> Element:
        if isinstance(a, int) and isinstance(b, int):
            return a * b % self.prime
        if isinstance(a, int) or isinstance(b, int):
            factor, terms = (a, b) if isinstance(a, int) else (b, a)
            return _plain({mask: factor * residue % self.prime for mask, residue in _terms(terms).items()})  # type: ignore[operator]
        total: Element = 0
        for left, x in _terms(a).items():
            for right, y in _terms(b).items():
                term = _plain({left ^ right: x * y % self.prime})
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
            return 1 if a == 1 else pow(a, -1, self.prime)
        youngest = max(a).bit_length() - 1
        bit = 1 << youngest
        conjugate: Element = {mask: -residue % self.prime if mask & bit else residue for mask, residue in a.items()}
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
            return pow(a, exponent, self.prime)
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
