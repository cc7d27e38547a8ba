"""Quantities: a number with a percent sign, a currency, a degree mark or a unit (policy 4, 5, 6)."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from reward_workers.verifier.rules.notation.number import Number, parse_number, rounds_to, same_number
from reward_workers.verifier.rules.notation.unit_table import (
    COMPOUND_UNITS,
    CURRENCY_CODES,
    CURRENCY_SIGNS,
    SCALE_LETTERS,
    SCALE_WORDS,
    SHARED_SIGNS,
    SHORT_WORDS,
    UNITS,
)
from reward_workers.verifier.rules.outcome import Outcome

Unit = tuple[tuple[str, int], ...]
"""Canonical symbols with exponents, sorted: (('h', -1), ('km', 1))."""

PERCENT: Unit = (("%", 1),)
DEGREE: Unit = (("deg", 1),)
RADIAN: Unit = (("rad", 1),)

_MAX_CHARS = 300
_IN_UNIT = r"[^\d+=<>,;:\\|()\[\]!_{}-]*"
_TAIL = re.compile(
    rf"(?<![A-Za-z\\_^{{])\s*([^\W\d_°%]{_IN_UNIT}(?:\^[-{{}}0-9]+{_IN_UNIT})*|°\s*[A-Za-z ]*|%[A-Za-z ]*|[$€£¥₹₩¢])\Z"
)
_FACTOR = re.compile(r"([^\W\d_]+|°[CF]?|%)\s*(?:\^\s*\{?\s*(-?\d)\s*\}?|([23])(?!\w))?\s*(squared|cubed)?")
_SQUARES = (("square", 2), ("sq", 2), ("cubic", 3), ("cu", 3), ("平方", 2), ("立方", 3))
_SIGN_AND_REST = re.compile(r"([+-]?)(.*)", re.DOTALL)
_CODE = re.compile(
    rf"(?:{'|'.join(re.escape(code) for code in sorted(CURRENCY_CODES, key=len, reverse=True))})(?=[\s\d.])"
)
_IN_BRACKETS = re.compile(r"(?<=[\d)}])\s*[(\[]\s*([^\W\d][^()\[\]]*)[)\]]\Z")
_AS_FRACTION = re.compile(r"(?<=[\d)}\s])\s*\\frac\{\s*([^\W\d][^{}]*)\}\{\s*([^\W\d][^{}]*)\}\Z")
_HAN_SCALE = re.compile("万亿|[十百千]?[万亿]|百万|千万|[百千]")
_GREEK_UNIT = re.compile(r"\\mu\s*(?=(?:m|g|s|A|L|F)(?![a-zA-Z]))|\\Omega(?![a-zA-Z])")
_PLAIN_POWER = re.compile(r"(?<=[A-Za-z]{2})[23]\Z|(?<=[\d\s]m)[23]\Z")


@dataclass(frozen=True, slots=True)
class Quantity:
    """A number and its unit.

    Attributes:
        number: the exact number; its text may also be an irrational expression, then None.
        text: canonical text of the number part.
        unit: canonical unit, None without one.
        scale: what a word behind the number multiplies it by, 10**6 for 'million'; 1 without a word.
        letter: the letter that stands for the scale, such as k or M; '' when it is a word.
        glued: the unit is one bare letter glued to the number ('5m'), which may be a variable.
    """

    number: Number | None
    text: str
    unit: Unit | None = None
    scale: int = 1
    letter: str = ""
    glued: bool = False


@lru_cache(maxsize=4096)
def split_quantity(text: str, letters: bool = False) -> Quantity:
    """Split canonical text into number part, scale and unit; unit None when the tail is not a known unit.

    A small k alone is a thousand. K, M, B, T, m and b scale a number beside a currency, and the capitals also before
    something counted ('5M people'); alone they may be a unit or a variable.

    Args:
        letters: the other side says that a capital alone is a scale.
    """
    head = text.strip()
    if len(head) > _MAX_CHARS:
        return Quantity(parse_number(head), head)
    head, unit = _leading_currency(head)
    head, tail = _split_tail(head)
    if not tail:
        return Quantity(parse_number(head.strip()), head.strip(), unit)
    scaled = _scaled_tail(tail, unit, letters)
    if scaled is not None:
        scale, letter, unit = scaled
        return Quantity(parse_number(head.strip()), head.strip(), unit, scale, letter)
    found = parse_unit(tail) if unit is None else None
    if found is None:
        head = f"{head}{tail}"
        return Quantity(parse_number(head.strip()), head.strip(), unit)
    glued = len(tail) == 1 and tail.isalpha() and tail.isascii() and not head.endswith(" ")
    return Quantity(parse_number(head.strip()), head.strip(), found, glued=glued)


def _scaled_tail(tail: str, unit: Unit | None, letters: bool) -> tuple[int, str, Unit | None] | None:
    """(scale, its letter, unit) of a tail such as 'million', 'k', '万元', 'M people'; None when it has no scale.

    Args:
        unit: currency before the number.
    """
    word, rest = _scale_word(tail)
    after = parse_unit(rest) if rest else None
    if not word or (rest and (after is None or unit is not None)):
        return None
    unit = unit if after is None else after
    if word in SCALE_LETTERS:
        return (SCALE_LETTERS[word], word, unit) if _scales(word, unit, bool(rest), letters) else None
    return (SCALE_WORDS[word], "", unit) if parse_unit(tail) is None else None  # 千米 is a unit


def _scales(letter: str, unit: Unit | None, before_unit: bool, letters: bool) -> bool:
    """Whether a letter behind a number is a scale, by what stands beside it."""
    if unit is not None and dimension(unit) == {"money": 1}:
        return True
    if before_unit:
        return is_count(unit) and letter in ("k", "K", "M", "B")
    return letter == "k" or (letters and letter in ("K", "M", "B", "T"))


def _leading_currency(text: str) -> tuple[str, Unit | None]:
    """('-5', usd) of '-$5', '$-5' and 'USD -5'."""
    if text[:1].isdigit():
        return text, None
    match = _SIGN_AND_REST.fullmatch(text)
    sign, rest = match.groups() if match is not None else ("", text)
    code = _CODE.match(rest)
    if code is not None:
        return sign + rest[code.end() :].strip(), ((CURRENCY_CODES[code.group()], 1),)
    if rest[:1] in CURRENCY_SIGNS and len(rest) > 1:
        return sign + rest[1:].strip(), ((CURRENCY_SIGNS[rest[0]], 1),)
    return text, None


def _split_tail(text: str) -> tuple[str, str]:
    """('12 ', 'cm') of '12 cm', '12 (cm)' and '12 cm2'; the tail is '' when nothing like a unit ends the text."""
    if "\\" in text:
        text = _GREEK_UNIT.sub(lambda match: "Ω" if "O" in match.group() else "μ", text)
        quotient = _AS_FRACTION.search(text)
        if quotient is not None and parse_unit(f"{quotient.group(1)}/{quotient.group(2)}") is not None:
            return text[: quotient.start()], f"{quotient.group(1)}/{quotient.group(2)}"
    if text[-1:] in (")", "]"):
        bracket = _IN_BRACKETS.search(text)
        if bracket is not None and len(bracket.group(1)) > 1 and parse_unit(bracket.group(1)) is not None:
            return text[: bracket.start()], bracket.group(1)
    match = _TAIL.search(_PLAIN_POWER.sub(lambda power: f"^{power.group()}", text))
    if match is None or match.start(1) == 0:
        return text, ""
    return text[: match.start(1)], match.group(1).strip()


def _scale_word(tail: str) -> tuple[str, str]:
    """(word or letter, what stands behind it) of a tail that begins with a scale; ('', tail) otherwise."""
    first, _, rest = tail.partition(" ")
    if first in SCALE_LETTERS:
        return first, rest.strip()
    word = first.lower() if len(first) > 3 else first[:1].lower() + first[1:]  # 'MN' is a meganewton
    if word in SCALE_WORDS:
        return word, rest.strip()
    han = _HAN_SCALE.match(tail)
    return (han.group(), tail[han.end() :].strip()) if han is not None else ("", tail)


@lru_cache(maxsize=1024)
def parse_unit(text: str) -> Unit | None:
    """Canonical unit of a tail such as 'km/h', 'kilometers per hour', 'cm^2', 'square meters', '平方厘米'."""
    powers: dict[str, int] = {}
    text = re.sub(r"°\s+(?=[CF]\Z)", "°", text.strip())
    text = COMPOUND_UNITS.get(text) or COMPOUND_UNITS.get(text.lower(), text)
    if (known := _known(text)) is not None:
        return ((known[0], 1),)
    sides = re.split(r"/|\bper\b", text)
    if len(sides) > 2 or not all(side.strip() for side in sides):
        return None
    for direction, side in zip((1, -1), sides, strict=False):
        if not _collect(side.strip(), direction, powers):
            return None
    return tuple(sorted((symbol, power) for symbol, power in powers.items() if power)) or None


def _known(word: str) -> tuple[str, str, Fraction] | None:
    """Row of the table; capitals do not matter in a whole word."""
    found = UNITS.get(word)
    if found is None and (len(word) > 3 or word.lower() in SHORT_WORDS):
        found = UNITS.get(word.lower())
    return found


def _collect(side: str, direction: int, powers: dict[str, int]) -> bool:
    known = _known(side)
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
        known = None if match is None else _known(match.group(1))
        if match is None or known is None:
            return False
        power = {"squared": 2, "cubed": 3}.get(match.group(4) or "", int(match.group(2) or match.group(3) or 1))
        powers[known[0]] = powers.get(known[0], 0) + direction * extra * power
        position = match.end()
        while position < len(side) and side[position] in " *.":
            position += 1
    return True


_KINDS = {symbol: (dimension, scale) for symbol, dimension, scale in UNITS.values()}


@lru_cache(maxsize=1024)
def dimension(unit: Unit) -> Mapping[str, int]:
    """Powers of the base dimensions: {'length': 1, 'time': -1} for a speed."""
    total: dict[str, int] = {}
    for symbol, power in unit:
        dimension = _KINDS[symbol][0]
        total[dimension] = total.get(dimension, 0) + power
    return {name: power for name, power in total.items() if power}


def _scale(unit: Unit) -> Fraction:
    scale = Fraction(1)
    for symbol, power in unit:
        scale *= _KINDS[symbol][1] ** power
    return scale


def is_count(unit: Unit | None) -> bool:
    """Units that name what is counted (students, ways), not how it is measured."""
    return unit is not None and any(_KINDS[symbol][0].startswith("count") for symbol, _ in unit)


def compare_quantities(answer: Quantity, reference: Quantity, exact: bool = False) -> Outcome:
    """Compare two quantities whose number parts are both exact numbers."""
    if answer.number is None or reference.number is None:
        raise AssertionError("compare_quantities needs two numbers")
    if answer.scale != reference.scale:
        raise AssertionError("numbers of one scale are compared")
    if answer.glued and not reference.unit:
        return Outcome(None, "unit_or_variable")
    money = any(unit is not None and dimension(unit) == {"money": 1} for unit in (answer.unit, reference.unit))
    plain = same_number(answer.number, reference.number, exact or money)
    if PERCENT in (answer.unit, reference.unit):
        outcome = plain if answer.unit == reference.unit else _percent_on_one_side(answer, reference, plain)
        return Outcome(None, "rounded_percent") if outcome.value == 0 and _whole_percent(answer, reference) else outcome
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


def _whole_percent(answer: Quantity, reference: Quantity) -> bool:
    """One side is the other one in whole percent. Only the question says whether that is precise enough."""
    if answer.number is None or reference.number is None:
        return False
    found, expected = ([q.number.value] + [q.number.value * 100] * (q.unit is None) for q in (answer, reference))  # type: ignore[union-attr]
    pairs = [(a, r) for a in found for r in expected]
    to_reference = reference.unit == PERCENT and any(r and rounds_to(a, r, Fraction(1)) is not False for a, r in pairs)
    to_answer = answer.unit == PERCENT and any(a and rounds_to(r, a, Fraction(1)) is not False for a, r in pairs)
    return (to_reference and _is_whole(reference.number)) or (to_answer and _is_whole(answer.number))


def _is_whole(number: Number) -> bool:
    """Written without decimals."""
    return number.ulp is None and number.value.denominator == 1


def _hundredth(number: Number) -> Number:
    return replace(number, value=number.value / 100, ulp=None if number.ulp is None else number.ulp / 100)


def _maybe_radians(answer: Quantity, reference: Quantity) -> bool:
    """One side in degrees, the other a bare number near the same angle in radians."""
    if DEGREE not in (answer.unit, reference.unit) or answer.number is None or reference.number is None:
        return False
    return near_angle(answer.number, reference.number)


def near_angle(one: Number, other: Number) -> bool:
    """Whether one number may be the other angle in radians, within 5 %."""
    degree = Fraction(355, 113 * 180)
    for degrees, radians in ((one.value, other.value), (other.value, one.value)):
        if degrees and abs(radians - degrees * degree) <= abs(degrees * degree) / 20:
            return True
    return False


def _two_units(answer: Unit, reference: Unit, a: Number, r: Number) -> Outcome:
    """The same number in another unit is wrong, unless it is the same quantity there (0 m and 0 cm, -40 °C and °F)."""
    if dimension(answer) != dimension(reference):
        return Outcome(None, "other_dimension")
    if "angle" in dimension(answer):
        return Outcome(None, "angle_unit")
    names = {symbol for unit in (answer, reference) for symbol, _ in unit}
    if any(sign in names and names & set(currencies) for sign, currencies in SHARED_SIGNS.items()):
        return Outcome(None, "currency_sign")
    meets = a.value == 0 or _scale(answer) == _scale(reference) or (names == {"degC", "degF"} and a.value == -40)
    if a.value == r.value and not meets:
        return Outcome(0, "same_number_other_unit")
    return Outcome(None, "convertible_unit")
