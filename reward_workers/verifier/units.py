"""Quantities: a number with a percent sign, a currency, a degree mark or a unit (policy 4, 5, 6)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction

from reward_workers.verifier.number import Number, parse_number, same_number
from reward_workers.verifier.outcome import Outcome
from reward_workers.verifier.unit_table import CURRENCY_SIGNS, SCALE_WORDS, UNITS

Unit = tuple[tuple[str, int], ...]
"""Canonical symbols with exponents, sorted: (('h', -1), ('km', 1))."""

PERCENT: Unit = (("%", 1),)
DEGREE: Unit = (("deg", 1),)
RADIAN: Unit = (("rad", 1),)

_MAX_CHARS = 300
_IN_UNIT = r"[^\d+=<>,;:\\|()\[\]!_{}-]*"
_TAIL = re.compile(rf"(?<![A-Za-z\\_^{{])\s*([^\W\d_°%]{_IN_UNIT}(?:\^[-{{}}0-9]+{_IN_UNIT})*|[°%][A-Za-z ]*)\Z")
_FACTOR = re.compile(r"([^\W\d_]+|[°%][CF]?)\s*(?:\^\s*\{?\s*(-?\d)\s*\}?)?")
_SQUARES = (("square", 2), ("sq", 2), ("cubic", 3), ("cu", 3), ("平方", 2), ("立方", 3))


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit.

    Attributes:
        number: the exact number; its text may also be an irrational expression, then None.
        text: canonical text of the number part.
        unit: canonical unit, None without one.
        scale_word: 'million', 'dozen', ... after the number; '' without.
        glued: the unit is one bare letter glued to the number ('5m'), which may be a variable.
    """

    number: Number | None
    text: str
    unit: Unit | None = None
    scale_word: str = ""
    glued: bool = False


def split_quantity(text: str) -> Quantity:
    """Split canonical text into number part and unit; unit None when the tail is not a known unit."""
    head, scale_word, glued = text.strip(), "", False
    unit: Unit | None = None
    if len(head) > _MAX_CHARS:
        return Quantity(parse_number(head), head)
    sign, rest = re.match(r"([+-]?)(.*)", head, re.DOTALL).groups()  # type: ignore[union-attr]
    if rest and rest[0] in CURRENCY_SIGNS:
        head, unit = sign + rest[1:].strip(), ((CURRENCY_SIGNS[rest[0]], 1),)
    match = _TAIL.search(head)
    if match is not None and match.start(1) > 0:
        tail, before = match.group(1).strip(), head[: match.start(1)]
        scale_word, tail = _scale_word(tail)
        found = parse_unit(tail) if tail else None
        if unit is None and found is not None:
            glued = len(tail) == 1 and tail.isalpha() and tail.isascii() and not before.endswith(" ")
            head, unit = before.strip(), found
        elif scale_word and not tail:
            head = before.strip()
        else:
            scale_word = ""
    return Quantity(parse_number(head), head, unit, scale_word, glued)


def _scale_word(tail: str) -> tuple[str, str]:
    first, _, rest = tail.partition(" ")
    if first.lower() in SCALE_WORDS:
        return SCALE_WORDS[first.lower()], rest.strip()
    if tail[0] in "万亿千百":
        return tail[0], tail[1:].strip()
    return "", tail


def parse_unit(text: str) -> Unit | None:
    """Canonical unit of a tail such as 'km/h', 'kilometers per hour', 'cm^2', 'square meters', '平方厘米'."""
    powers: dict[str, int] = {}
    sides = re.split(r"/|\bper\b", text)
    if len(sides) > 2 or not all(side.strip() for side in sides):
        return None
    for direction, side in zip((1, -1), sides, strict=False):
        if not _collect(side.strip(), direction, powers):
            return None
    return tuple(sorted((symbol, power) for symbol, power in powers.items() if power)) or None


def _collect(side: str, direction: int, powers: dict[str, int]) -> bool:
    known = UNITS.get(side) or UNITS.get(side.lower())
    if known is not None:
        powers[known[0]] = powers.get(known[0], 0) + direction
        return True
    extra = 1
    for prefix, power in _SQUARES:
        if side.lower().startswith(prefix) and (prefix > "~" or side[len(prefix) : len(prefix) + 1] in (" ", ".")):
            side, extra = side[len(prefix) :].lstrip(". "), power
            break
    position = 0
    while position < len(side):
        match = _FACTOR.match(side, position)
        if match is None:
            return False
        known = UNITS.get(match.group(1)) or UNITS.get(match.group(1).lower())
        if known is None:
            return False
        powers[known[0]] = powers.get(known[0], 0) + direction * extra * int(match.group(2) or 1)
        position = match.end()
        while position < len(side) and side[position] in " *.":
            position += 1
    return True


_KINDS = {symbol: (dimension, scale) for symbol, dimension, scale in UNITS.values()}


def _dimension(unit: Unit) -> dict[str, int]:
    total: dict[str, int] = {}
    for symbol, power in unit:
        dimension = _KINDS[symbol][0]
        total[dimension] = total.get(dimension, 0) + power
    return {name: power for name, power in total.items() if power}


def is_count(unit: Unit | None) -> bool:
    """Units that name what is counted (students, ways), not how it is measured."""
    return unit is not None and any(_KINDS[symbol][0].startswith("count") for symbol, _ in unit)


def compare_quantities(answer: Quantity, reference: Quantity, exact: bool = False) -> Outcome:
    """Compare two quantities whose number parts are both exact numbers."""
    if answer.number is None or reference.number is None:
        raise AssertionError("compare_quantities needs two numbers")
    if answer.scale_word != reference.scale_word:
        return Outcome(None, "scale_word")
    if answer.glued and not reference.unit:
        return Outcome(None, "unit_or_variable")
    money = any(unit is not None and _dimension(unit) == {"money": 1} for unit in (answer.unit, reference.unit))
    plain = same_number(answer.number, reference.number, exact or money)
    if PERCENT in (answer.unit, reference.unit) and answer.unit != reference.unit:
        return _percent_on_one_side(answer, reference, plain)
    if answer.unit == reference.unit:
        return plain
    if answer.unit is None or reference.unit is None:
        if RADIAN in (answer.unit, reference.unit) or _maybe_radians(answer, reference):
            return Outcome(None, "angle_unit")
        return plain
    return _two_units(answer.unit, reference.unit, answer.number, reference.number)


def _percent_on_one_side(answer: Quantity, reference: Quantity, plain: Outcome) -> Outcome:
    if answer.unit is not None and reference.unit is not None:
        return Outcome(None, "percent_and_unit")
    if plain.value == 1 or answer.number is None or reference.number is None:
        return plain
    if answer.unit == PERCENT:
        scaled = same_number(_hundredth(answer.number), reference.number)
    else:
        scaled = same_number(answer.number, _hundredth(reference.number))
    if scaled.reason == "equal_number":
        return Outcome(1, "percent_as_decimal")
    if scaled.value == 1:
        return Outcome(None, "rounded_percent")
    return plain if scaled.value == 0 else scaled


def _hundredth(number: Number) -> Number:
    return replace(number, value=number.value / 100, ulp=None if number.ulp is None else number.ulp / 100)


def _maybe_radians(answer: Quantity, reference: Quantity) -> bool:
    """One side in degrees, the other a bare number near the same angle in radians."""
    if DEGREE not in (answer.unit, reference.unit) or answer.number is None or reference.number is None:
        return False
    degrees, other = (answer, reference) if answer.unit == DEGREE else (reference, answer)
    if degrees.number is None or other.number is None or degrees.number.value == 0:
        return False
    radians = degrees.number.value * Fraction(355, 113 * 180)
    return abs(other.number.value - radians) <= abs(radians) / 20


def _two_units(answer: Unit, reference: Unit, a: Number, r: Number) -> Outcome:
    same_value = a.value == r.value
    if _dimension(answer) != _dimension(reference):
        return Outcome(None, "other_dimension")
    if same_value and a.value != 0:
        return Outcome(0, "same_number_other_unit")
    return Outcome(None, "convertible_unit")
