r"""Decide a question of the rules without the symbolic library, where two witnesses of our own agree.

1 needs both: the values of the two trees in a finite ring are the same (`signature`), and so are their values at random
points in floating point, within the bound on their error (`enclosure`). 0 needs one point with positive coordinates
where the values differ by more than any rounding can explain. Anything else stays a question for the symbolic stage.
All points are drawn from a hash of both texts, so that the same question gets the same answer.
"""

from __future__ import annotations

import hashlib
from fractions import Fraction
from functools import lru_cache

from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.notation.equation import sides
from reward_workers.verifier.rules.notation.expression import Node, NotAnExpression, parse, walk
from reward_workers.verifier.rules.notation.number import Number, parse_number, rounds_to
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.outcome import Leaf, Outcome, Question
from reward_workers.verifier.rules.proof.curve import FACTOR_BITS, point_on_one_only, rational_of
from reward_workers.verifier.rules.proof.enclosure import Enclosure, enclose
from reward_workers.verifier.rules.proof.residues import PRIME, Undecided
from reward_workers.verifier.rules.proof.signature import Signature
from reward_workers.verifier.rules.proof.size import MAX_BITS, MAX_GROWTH, Size, difference_bits, minus, size_of

_DIFFERENT = 1e-9
"""Relative difference that proves another value; what is nearer is left to the 50 digits of the symbolic stage."""
_DECIMALS_DIFFERENT = 0.05
"""A decimal within an expression may be a rounding: only a large difference proves another value."""
_AGREE = 1e-7
"""Bound on the error, relative to the values or to 1, at which values that agree count as a witness."""
_POINTS = 2


def prove_first(leaf: Leaf) -> Leaf:
    """A leaf that asks the given one only what is not decided here."""

    def proven(question: Question) -> Outcome:
        return prove(question) or leaf(question)

    return proven


@lru_cache(maxsize=4096)
def prove(question: Question) -> Outcome | None:
    r"""Outcome of a question in canonical form, None when it needs the symbolic stage.

    >>> prove(Question("(x-1)(x+4)", "x^2+3x-4"))
    Outcome(value=1, reason='proven_equal')
    >>> prove(Question("2x-y+2=0", "y=2x+1", "equation")).reason
    'point_on_one_curve_only'
    >>> prove(Question(r"\sqrt{x^2}", "x")) is None
    True
    """
    seed = hashlib.blake2b(f"{question.relation}\n{question.answer}\n{question.reference}".encode()).digest()
    try:
        return _equations(question, seed) if question.relation == "equation" else _expressions(question, seed)
    except (Undecided, NotAnExpression):
        return None


@lru_cache(maxsize=4096)
def _tree(text: str) -> tuple[Node, frozenset[str]]:
    """Tree and variables of a text that the guard lets through."""
    node = parse(text)
    if guard.blocked(text) is not None:
        raise Undecided("stopped by the guard")
    return node, frozenset(part[1] for part in walk(node) if part[0] == "var")


@lru_cache(maxsize=4096)
def _size(text: str) -> Size:
    return size_of(parse(text))


def look_alike(names: list[str]) -> bool:
    """Two names that differ in nothing but case, or as ``\\phi`` and ``\\varphi`` do."""
    return len({name.lower().removeprefix("var") for name in names}) != len(names)


def _expressions(question: Question, seed: bytes) -> Outcome | None:
    (answer, in_answer), (reference, in_reference) = _tree(question.answer), _tree(question.reference)
    names = sorted(in_answer | in_reference)
    if look_alike(names):
        return None
    if not names:
        rounded = _rounding(answer, reference, parse_number(question.answer), parse_number(question.reference))
        if rounded is not None:
            return rounded
    decimals = "." in question.answer + question.reference
    points = [_point(names, seed, index) for index in range(_POINTS if names else 1)]
    agreed = 0
    for point in points:
        a, r = enclose(answer, point), enclose(reference, point)
        if _differ(a, r, _DECIMALS_DIFFERENT if decimals else _DIFFERENT) and _comparable(a, r, answer, reference):
            return Outcome(0, "other_value")
        agreed += _agree(a, r)
    if agreed < len(points) or not _small(_size(question.answer), _size(question.reference)):
        return None
    signature = Signature(seed)
    return Outcome(1, "proven_equal") if signature.value(answer) == signature.value(reference) else None


def _point(names: list[str], seed: bytes, index: int) -> dict[str, float]:
    """A value between 0.1 and 3.3 for each variable, exact in floating point."""
    digest = hashlib.blake2b(seed + bytes([index]), digest_size=2 * len(names)).digest() if names else b""
    return {
        name: (103 + int.from_bytes(digest[2 * number : 2 * number + 2], "big") % 3200) / 1024
        for number, name in enumerate(names)
    }


def _differ(a: Enclosure, r: Enclosure, threshold: float) -> bool:
    """Values that are clearly not the same, with room to spare for the bounds."""
    difference = abs(a.value - r.value)
    return difference > 8 * (a.error + r.error) and difference > threshold * max(abs(a.value), abs(r.value))


def _agree(a: Enclosure, r: Enclosure) -> bool:
    error = a.error + r.error
    return abs(a.value - r.value) <= error and error <= _AGREE * max(1.0, abs(a.value))


def _comparable(a: Enclosure, r: Enclosure, answer: Node, reference: Node) -> bool:
    """Real values, or complex ones of field operations alone, which depend on no choice of a branch."""
    if not isinstance(a.value, complex) and not isinstance(r.value, complex):
        return True
    return _single_valued(answer) and _single_valued(reference)


def _single_valued(node: Node) -> bool:
    for part in walk(node):
        if part[0] == "pow":
            exponent = rational_value(part[2])
            if exponent is None or exponent.denominator != 1:
                return False
        elif part[0] not in ("num", "var", "const", "add", "mul", "div", "neg"):
            return False
    return True


def _small(answer: Size, reference: Size, factor_bits: float = 0.0) -> bool:
    """Whether chance is all that could make the values of two formulas equal in the ring."""
    if max(answer.growth, reference.growth) > MAX_GROWTH:
        return False
    return difference_bits(answer, reference) + factor_bits < MAX_BITS


def _rounding(answer: Node, reference: Node, a: Number | None, r: Number | None) -> Outcome | None:
    """A constant against a decimal: rounding by policy 3; None when neither side is a rounded number.

    Raises:
        Undecided: the constant lies too near to where the rounding changes.
    """
    if r is not None and r.ulp is not None:
        fits = _rounds_to(answer, r.value, r.ulp)
        if fits is not True:
            return Outcome(0, "does_not_round_to_reference")
        return Outcome(None, "rounding_convention") if r.scientific else Outcome(1, "rounds_to_reference")
    if a is not None and a.value != 0 and (a.ulp is not None or a.value.denominator == 1):
        if rational_value(reference) is not None:
            return None
        low, high = _range(reference)
        if low <= a.value <= high:
            return None  # perhaps the same number in another form
        fits = _rounds_to(reference, a.value, a.ulp or Fraction(1))
        return Outcome(None, "coarser_rounding") if fits is not False else Outcome(0, "no_rounding_of_reference")
    return None


def _rounds_to(node: Node, rounded: Fraction, ulp: Fraction) -> bool | None:
    """`number.rounds_to` for a real constant that is known within a bound."""
    exact = rational_value(node)
    if exact is not None:
        return rounds_to(exact, rounded, ulp)
    low, high = (rounds_to(end, rounded, ulp) for end in _range(node))
    if low is not high:
        raise Undecided("near the end of a rounding")
    return low


def _range(node: Node) -> tuple[Fraction, Fraction]:
    """Between which numbers a real constant lies."""
    value = enclose(node, {})
    if isinstance(value.value, complex):
        raise Undecided("a complex constant")
    middle, error = Fraction(value.value), Fraction(8 * value.error)
    return middle - error, middle + error


def _equations(question: Question, seed: bytes) -> Outcome | None:
    pairs = sides(question.answer), sides(question.reference)
    if pairs[0] is None or pairs[1] is None:
        return None
    found = [[_tree(side) for side in pair] for pair in (pairs[0], pairs[1])]
    answer, reference = (("add", left, ("neg", right)) for (left, _), (right, _) in found)
    names = sorted({name for pair in found for _, side in pair for name in side})
    if not names or look_alike(names):
        return None
    factor = _factor(answer, reference, seed)
    if factor is not None:
        sizes = [[_size(side) for side in pair] for pair in (pairs[0], pairs[1])]
        if not _small(minus(*sizes[0]), minus(*sizes[1]), FACTOR_BITS):
            return None
        scaled = ("mul", ("num", factor), reference)
        points = [_point(names, seed, index) for index in range(_POINTS)]
        if all(_agree(enclose(answer, point), enclose(scaled, point)) for point in points):
            return Outcome(1, "same_curve")
    elif "." not in question.answer + question.reference:
        for point in ({name: 2 + seed[index + 1] % 97 for index, name in enumerate(names)}, dict.fromkeys(names, 0)):
            if point_on_one_only(answer, reference, names, point) or point_on_one_only(reference, answer, names, point):
                return Outcome(0, "point_on_one_curve_only")
    return None


def _factor(answer: Node, reference: Node, seed: bytes) -> Fraction | None:
    """The small rational number c with answer = c * reference in the ring; None without one."""
    signature = Signature(seed)
    ring = signature.ring
    try:
        factor = ring.multiply(signature.value(answer), ring.inverse(signature.value(reference)))
    except Undecided:
        return None
    return rational_of(factor, PRIME) if isinstance(factor, int) else None
