r"""The value of a tree at a random point of a finite ring: two trees with other values are not the same formula.

Each variable, and \pi, is a random residue. Square roots are symbols with a known square. Exponentials follow
e^{a+b} = e^a e^b: each monomial of an exponent gets a random residue z, and e^{k m} is z^k; sine and cosine are
(z - 1/z)/2i and (z + 1/z)/2. Logarithms of rational numbers are sums over their primes. Whatever else there is (\ln x,
\arctan x, x^{1/3}) is a random residue for each argument.

Every relation that is used here holds for the functions themselves, so that equal formulas under these relations have
equal values for certain. Other formulas differ by a polynomial in independent random residues whose coefficients are
not all zero modulo the prime, since `size` keeps them below it. Its degree is below 2^52, and it vanishes at a random
point with a probability of 2^52 / 2^127 at most (Schwartz and Zippel).
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Hashable
from fractions import Fraction

from reward_workers.verifier.rules.notation.expression import Node
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.proof.residues import PRIME, Element, Ring, Undecided, key_of

Monomial = tuple[tuple[str, int], ...]
Sum = dict[Monomial, Fraction]

_MAX_FACTOR = 10**4
"""Exponent of one random residue. 320 leaves, `size.MAX_GROWTH`, this and a factor of 2 for each of ten roots: 2^52."""
MAX_WHOLE = 16
"""Integer part of an exponent that also has letters."""
_SHARES = 60
"""An exponent may be any multiple of 1/60 of its monomial."""
_MAX_MONOMIALS = 16
_MAX_SUM_POWER = 6
_TRIAL_LIMIT = 1000

_ONE: Monomial = ()
_PI: Monomial = (("\\pi", 1),)


class Signature:
    """Values of trees at one point; both sides of a question share the point.

    Args:
        seed: bytes that choose every residue, 16 or more.
    """

    def __init__(self, seed: bytes) -> None:
        self.ring = Ring()
        self._seed = seed
        self._residues: dict[Hashable, int] = {}
        self._numbers_of_arguments: dict[Hashable, int] = {}

    def value(self, node: Node) -> Element:
        """The value of a tree.

        Raises:
            Undecided: a pole, or something that has no value here.
        """
        kind, ring = node[0], self.ring
        if kind == "num":
            return self._number(node[1])
        if kind == "var":
            return self._residue(("variable", node[1]))
        if kind == "add":
            return ring.add(self.value(node[1]), self.value(node[2]))
        if kind == "mul":
            return ring.multiply(self.value(node[1]), self.value(node[2]))
        if kind == "neg":
            return ring.negative(self.value(node[1]))
        if kind == "div":
            return ring.multiply(self.value(node[1]), ring.inverse(self.value(node[2])))
        if kind == "pow":
            return self._power(node[1], node[2])
        if kind == "const":
            return self._constant(node[1])
        if kind == "fn":
            return self._function(node[1], node[2])
        if kind == "log":
            return ring.multiply(self._logarithm(node[1]), ring.inverse(self._logarithm(node[2])))
        if kind == "deg":
            return ring.multiply(
                self.value(node[1]), ring.multiply(self._constant("pi"), self._number(Fraction(1, 180)))
            )
        exact = rational_value(node)
        if exact is not None:
            return self._number(exact)
        if kind == "abs":
            return self._residue(("abs", key_of(self.value(node[1]))))
        raise Undecided(f"operator {kind}")

    def _residue(self, name: Hashable) -> int:
        """The random residue of a name, never 0; names get theirs in the order in which they come up."""
        found = self._residues.get(name)
        if found is None:
            digest = hashlib.blake2b(self._seed + len(self._residues).to_bytes(2, "big"), digest_size=32).digest()
            found = self._residues[name] = int.from_bytes(digest, "big") % (PRIME - 1) + 1
        return found

    def _number(self, value: Fraction) -> Element:
        top = value.numerator % PRIME
        if value.denominator == 1:
            return top
        return self.ring.multiply(top, self.ring.inverse(value.denominator % PRIME))

    def _constant(self, name: str) -> Element:
        if name == "pi":
            return self._residue(("constant", "pi"))
        if name == "e":
            return self._exponential({_ONE: Fraction(1)}, "e")
        return self.ring.root_of(PRIME - 1, "i")

    def _power(self, base: Node, exponent: Node) -> Element:
        fixed = rational_value(exponent)
        if base == ("const", "e"):
            return self._exponential({_ONE: fixed} if fixed is not None else self._sum(exponent), "e")
        if fixed is None:
            return self._power_of_sum(base, self._sum(exponent))
        if fixed.denominator == 1:
            return self.ring.power(self.value(base), int(fixed))
        if fixed.denominator == 2:
            return self.ring.power(self._root(base), fixed.numerator)
        known = rational_value(base)
        if known is not None:
            exact = _exact_root(known, fixed.denominator)
            if exact is not None:
                return self.ring.power(self._number(exact), fixed.numerator)
            if known <= 0:
                raise Undecided("a root of a negative number, or of zero")
        return self._residue(("power", key_of(self.value(base)), fixed))

    def _root(self, base: Node) -> Element:
        """The principal square root: of a rational number by its primes, of anything else as a symbol of its own."""
        known = rational_value(base)
        if known is None:
            square = self.value(base)
            if square == 0:
                raise Undecided("root of zero")
            return self.ring.root_of(square, ("root", key_of(square)))
        if known == 0:
            return 0
        outside: int = 1
        root: Element = 1
        for prime, power in _factors(abs(known.numerator) * known.denominator).items():
            outside *= prime ** (power // 2)
            if power % 2:
                root = self.ring.multiply(root, self.ring.root_of(prime % PRIME, prime))
        root = self.ring.multiply(root, self._number(Fraction(outside, known.denominator)))
        return root if known > 0 else self.ring.multiply(root, self._constant("i"))

    def _power_of_sum(self, base: Node, exponent: Sum) -> Element:
        """``2^{n+3}``, ``x^{2n-1}``: the integer part of the exponent as a power, the rest by random residues."""
        whole = exponent.pop(_ONE, Fraction(0))
        if whole.denominator != 1 or abs(whole) > MAX_WHOLE:
            raise Undecided("a fraction or a large number in an exponent with letters")
        known = rational_value(base)
        if known is None:
            value = self.value(base)
            result = self._exponential(exponent, ("base", key_of(value)))
        elif known > 0:
            value, result = self._number(known), 1
            for prime, power in _factors_of_fraction(known).items():
                raised = {monomial: share * power for monomial, share in exponent.items()}
                result = self.ring.multiply(result, self._exponential(raised, ("base", prime)))
        else:
            raise Undecided("a negative base and an exponent with letters")
        return self.ring.multiply(result, self.ring.power(value, int(whole))) if whole else result

    def _exponential(self, exponent: Sum, base: Hashable) -> Element:
        result: Element = 1
        for monomial, share in exponent.items():
            factor = share * _SHARES
            if factor.denominator != 1 or abs(factor) > _MAX_FACTOR:
                raise Undecided("an exponent of this size")
            result = self.ring.multiply(result, self.ring.power(self._residue((base, monomial)), int(factor)))
        return result

    def _turn(self, angle: Sum) -> Element:
        """e^{i angle}; multiples of 15 degrees exactly."""
        rest = dict(angle)
        result: Element = 1
        twelfths = rest.get(_PI, Fraction(0)) * 12
        if twelfths.denominator == 1:
            rest.pop(_PI, None)
            result = self._exact_turn(int(twelfths % 24))
        return self.ring.multiply(result, self._exponential(rest, "turn"))

    def _exact_turn(self, twelfths: int) -> Element:
        """e^{i pi n/12} for n = 4a + 3b: a sixth and b eighths of a whole turn."""
        if twelfths == 0:
            return 1
        i = self._constant("i")
        if twelfths % 6 == 0:
            return self.ring.power(i, twelfths // 6)
        half = self._number(Fraction(1, 2))
        eighths = 3 * twelfths % 4
        result: Element = 1
        if eighths:
            diagonal = self.ring.multiply(self.ring.add(1, i), self.ring.root_of(2, 2))
            result = self.ring.power(self.ring.multiply(half, diagonal), eighths)
        sixths = (twelfths - 3 * eighths) // 4 % 6
        if sixths:
            sixth = self.ring.add(1, self.ring.multiply(i, self.ring.root_of(3, 3)))
            result = self.ring.multiply(result, self.ring.power(self.ring.multiply(half, sixth), sixths))
        return result

    def _function(self, name: str, argument: Node) -> Element:
        ring, half = self.ring, self._number(Fraction(1, 2))
        if name == "ln":
            return self._logarithm(argument)
        if name == "exp":
            return self._exponential(self._sum(argument), "e")
        if name in ("sinh", "cosh", "tanh"):
            up, down = self._both(argument, lambda exponent: self._exponential(exponent, "e"))
            cosine, sine = (
                ring.multiply(half, ring.add(up, down)),
                ring.multiply(half, ring.add(up, ring.negative(down))),
            )
            return {"sinh": sine, "cosh": cosine}[name] if name != "tanh" else ring.multiply(sine, ring.inverse(cosine))
        if name in ("sin", "cos", "tan", "cot", "sec", "csc"):
            up, down = self._both(argument, self._turn)
            cosine = ring.multiply(half, ring.add(up, down))
            by_i = ring.multiply(ring.negative(self._constant("i")), half)
            sine = ring.multiply(by_i, ring.add(up, ring.negative(down)))
            return self._circular(name, sine, cosine)
        return self._residue((name, key_of(self.value(argument))))

    def _both(self, argument: Node, function: Callable[[Sum], Element]) -> tuple[Element, Element]:
        """Its values at the argument and at minus the argument."""
        exponent = self._sum(argument)
        opposite = {monomial: -share for monomial, share in exponent.items()}
        return function(exponent), function(opposite)

    def _circular(self, name: str, sine: Element, cosine: Element) -> Element:
        ring = self.ring
        if name in ("sin", "cos"):
            return sine if name == "sin" else cosine
        if name in ("tan", "cot"):
            top, bottom = (sine, cosine) if name == "tan" else (cosine, sine)
            return ring.multiply(top, ring.inverse(bottom))
        return ring.inverse(cosine if name == "sec" else sine)

    def _logarithm(self, argument: Node) -> Element:
        """ln of a rational number by its primes, of a power of e by its exponent, of anything else by its argument."""
        if argument == ("const", "e"):
            return 1
        if argument[0] == "pow" and argument[1] == ("const", "e"):
            exponent = rational_value(argument[2])
            if exponent is not None:
                return self._number(exponent)
        known = rational_value(argument)
        if known is None:
            return self._residue(("ln", key_of(self.value(argument))))
        if known <= 0:
            raise Undecided("logarithm of a number that is not positive")
        total: Element = 0
        for prime, power in _factors_of_fraction(known).items():
            total = self.ring.add(total, self.ring.multiply(power % PRIME, self._residue(("ln of", prime))))
        return total

    def _sum(self, node: Node) -> Sum:
        """An exponent or angle as a sum of monomials with rational factors."""
        kind = node[0]
        fixed = rational_value(node)
        if fixed is not None:
            return {_ONE: fixed} if fixed else {}
        if kind == "var":
            return {((node[1], 1),): Fraction(1)}
        if node == ("const", "pi"):
            return {_PI: Fraction(1)}
        if kind == "neg":
            return {monomial: -share for monomial, share in self._sum(node[1]).items()}
        if kind == "add":
            return _added(self._sum(node[1]), self._sum(node[2]))
        if kind == "mul":
            return _multiplied(self._sum(node[1]), self._sum(node[2]))
        if kind == "deg":
            return _multiplied(self._sum(node[1]), {_PI: Fraction(1, 180)})
        if kind == "div" and (divisor := rational_value(node[2])):
            return {monomial: share / divisor for monomial, share in self._sum(node[1]).items()}
        if kind == "pow" and (power := rational_value(node[2])) in range(1, _MAX_SUM_POWER + 1):
            base, result = self._sum(node[1]), {_ONE: Fraction(1)}
            for _ in range(int(power)):  # type: ignore[arg-type]
                result = _multiplied(result, base)
            return result
        key = key_of(self.value(node))
        number = self._numbers_of_arguments.setdefault(key, len(self._numbers_of_arguments))
        return {((f"#{number}", 1),): Fraction(1)}


def _added(one: Sum, other: Sum) -> Sum:
    total = dict(one)
    for monomial, share in other.items():
        total[monomial] = total.get(monomial, Fraction(0)) + share
    return {monomial: share for monomial, share in total.items() if share}


def _multiplied(one: Sum, other: Sum) -> Sum:
    if len(one) * len(other) > _MAX_MONOMIALS:
        raise Undecided("a long exponent")
    total: Sum = {}
    for left, x in one.items():
        for right, y in other.items():
            powers = dict(left)
            for name, power in right:
                powers[name] = powers.get(name, 0) + power
            total = _added(total, {tuple(sorted(powers.items())): x * y})
    return total


def _factors_of_fraction(value: Fraction) -> dict[int, int]:
    """Powers of the primes of a positive fraction."""
    below = {prime: -power for prime, power in _factors(value.denominator).items()}
    return _factors(value.numerator) | below


def _factors(value: int) -> dict[int, int]:
    """Powers of the primes below 1,000 in a positive integer, and what is left as one more factor."""
    if value.bit_length() > 200:
        raise Undecided("a large number")
    found: dict[int, int] = {}
    divisor = 2
    while divisor < _TRIAL_LIMIT and divisor * divisor <= value:
        while value % divisor == 0:
            found[divisor] = found.get(divisor, 0) + 1
            value //= divisor
        divisor += 1 if divisor == 2 else 2
    if value > 1:
        root = math.isqrt(value)
        found |= {root: 2} if root * root == value else {value: 1}
    return found


def _exact_root(value: Fraction, degree: int) -> Fraction | None:
    """The rational root of a positive rational number; None when it has none."""
    if value <= 0 or degree > 64:
        return None
    parts = []
    for part in (value.numerator, value.denominator):
        if part.bit_length() > 200:
            return None
        root = round(part ** (1 / degree))
        if root**degree != part:
            return None
        parts.append(root)
    return Fraction(parts[0], parts[1])
