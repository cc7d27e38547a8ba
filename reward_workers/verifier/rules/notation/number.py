"""Numbers as exact rationals, how precisely they were written, and when two of them agree (policy 3, 4, 11)."""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

from reward_workers.verifier.rules.notation.expression import NotAnExpression, parse
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.outcome import Outcome

MAX_DIGITS = 1000
_MAX_EXPONENT = 400

_INTEGER = re.compile(r"[+-]?\s?[0-9]+")
_DECIMAL = re.compile(r"([+-]?)\s?([0-9]*)\.([0-9]*)")
_GROUPED = re.compile(r"[+-]?[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?")
_OTHER_GROUPS = re.compile(r"([+-]?[1-9][0-9]{0,2}(?:([., '])[0-9]{3})(?:\2[0-9]{3})*)([.,][0-9]+)?")
_DECIMAL_COMMA = re.compile(r"[+-]?[0-9]+,[0-9]+")
_SCIENTIFIC = re.compile(
    r"([+-]?[0-9]+(?:\.[0-9]+)?|[+-]?\.[0-9]+)\s?(?:[eE]|[*xX]\s?10\s?\^\s?)\{?\s?([+-]?[0-9]{1,12})\s?\}?"
)
_FRACTION = re.compile(r"([+-]?)\\frac\{([0-9]{1,300})\}\{([0-9]{1,300})\}|([+-]?)([0-9]{1,300})/([0-9]{1,300})")
_MIXED = re.compile(r"([+-]?)([0-9]{1,300})\s+([0-9]{1,300})/([0-9]{1,300})")
_HAN_DIGITS = {digit: value for value, digit in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_HAN_BELOW_100 = "[一二三四五六七八九]?十[一二三四五六七八九]?|[一二两三四五六七八九]"
_HAN_FRACTION = re.compile(
    rf"([+-]|负)?(?:([0-9]{{1,300}}|{_HAN_BELOW_100})\s?又\s?)?"
    rf"(?:([0-9]{{1,300}}|{_HAN_BELOW_100})分之([0-9]{{1,300}}|{_HAN_BELOW_100})"
    r"|([0-9]{1,300})/([0-9]{1,300})|\\frac\{([0-9]{1,300})\}\{([0-9]{1,300})\})"
)
"""``二又四分之三``, ``2又3/4``, ``三分之二``; 百分之 is a percent sign and not read here."""
_INDIAN_GROUPS = re.compile(r"[+-]?[1-9][0-9]?(?:,[0-9]{2})+,[0-9]{3}")
_REPEATING = re.compile(r"([+-]?)([0-9]*)\.([0-9]*)\\(?:overline|bar|dot)\s?\{?([0-9]+)\}?")


@dataclass(frozen=True, slots=True)
class Number:
    """An exact value and the size of the last written digit.

    Attributes:
        value: exact value of what was written.
        ulp: place of the last digit (1/100 for 0.75); None for integers, fractions and repeating decimals.
        scientific: written with a power of ten, where the digits say a precision and not the decimals.
    """

    value: Fraction
    ulp: Fraction | None = None
    scientific: bool = False


@lru_cache(maxsize=4096)
def parse_number(text: str) -> Number | None:
    r"""The number that canonical text writes down; None when it is not a rational number or is too large to hold.

    >>> parse_number("2\\frac{1}{3}").value
    Fraction(7, 3)
    """
    if _INTEGER.fullmatch(text):
        return Number(Fraction(int(text.replace(" ", "")))) if len(text) <= MAX_DIGITS else None
    if _GROUPED.fullmatch(text):
        return parse_number(text.replace(",", "")) if len(text) <= MAX_DIGITS else None
    match = _DECIMAL.fullmatch(text)
    if match is not None:
        return _decimal(*match.groups()) if len(text) <= MAX_DIGITS else None
    match = _FRACTION.fullmatch(text)
    if match is not None:
        sign, top, bottom = match.group(1, 2, 3) if match.group(2) else match.group(4, 5, 6)
        return Number(Fraction(int(sign + top), int(bottom))) if int(bottom) else None
    match = _SCIENTIFIC.fullmatch(text)
    if match is not None:
        return _scientific(match.group(1), int(match.group(2)))
    match = _MIXED.fullmatch(text)
    if match is not None:
        return _mixed(match.group(1), *(int(group) for group in match.groups()[1:]))
    match = _REPEATING.fullmatch(text)
    if match is not None and len(text) <= MAX_DIGITS:
        return _repeating(*match.groups())
    if "又" in text or "分之" in text:
        return _han_fraction(text)
    if "=" in text or not any(character.isdigit() for character in text):
        return None
    try:
        value = rational_value(parse(text))
    except NotAnExpression:
        return None
    return None if value is None else Number(value)


def other_readings(text: str) -> tuple[Fraction, ...]:
    """The same digits with comma and point in the other role: 1.234 as 1234, 3,5 as 3.5.

    Groups of two digits, as in 5,00,000, are read in the Indian way.

    >>> other_readings("1.234,56")
    (Fraction(30864, 25),)
    """
    if len(text) > MAX_DIGITS:
        return ()
    found = []
    groups = _OTHER_GROUPS.fullmatch(text)
    if groups is not None and (groups.group(3) or "x")[0] != groups.group(2):
        whole = groups.group(1).replace(groups.group(2), "")
        found.append(Fraction(whole + (groups.group(3) or "").replace(",", ".")))
    if _INDIAN_GROUPS.fullmatch(text):
        found.append(Fraction(text.replace(",", "")))
    if _DECIMAL_COMMA.fullmatch(text):
        found.append(Fraction(text.replace(",", ".")))
    return tuple(found)


def _han_fraction(text: str) -> Number | None:
    """Proper fractions, alone or behind a whole number; None for anything else with these signs."""
    match = _HAN_FRACTION.fullmatch(text)
    if match is None:
        return None
    sign, whole, bottom, top = match.group(1, 2, 3, 4)
    if bottom is None:
        top, bottom = match.group(5, 6) if match.group(5) else match.group(7, 8)
    parts = [_han_integer(part) for part in (whole or "0", top, bottom)]
    mixed = _mixed(sign or "", *parts) if whole or parts[2] == 0 else Number(Fraction(parts[1], parts[2]))
    if mixed is None or not (sign == "负" or (sign == "-" and not whole)):
        return mixed
    return replace(mixed, value=-mixed.value)


def _han_integer(text: str) -> int:
    """Value of digits, or of a Chinese number word below 100."""
    if text.isdigit():
        return int(text)
    tens, ten, ones = text.rpartition("十")
    return 10 * (_HAN_DIGITS[tens] if tens else 1) * bool(ten) + (_HAN_DIGITS[ones] if ones else 0)


def _decimal(sign: str, whole: str, decimals: str) -> Number | None:
    if not whole and not decimals:
        return None
    if not decimals:
        return Number(Fraction(int(sign + whole)))
    return Number(Fraction(int(sign + whole + decimals), 10 ** len(decimals)), Fraction(1, 10 ** len(decimals)))


def _scientific(mantissa: str, exponent: int) -> Number | None:
    if abs(exponent) > _MAX_EXPONENT or len(mantissa) > MAX_DIGITS:
        return None
    decimals = len(mantissa.partition(".")[2])
    scale = Fraction(10) ** exponent
    return Number(Fraction(mantissa) * scale, scale / 10**decimals, scientific=True)


def _mixed(sign: str, whole: int, top: int, bottom: int) -> Number | None:
    if not 0 < top < bottom:
        return None
    value = whole + Fraction(top, bottom)
    return Number(-value if sign == "-" else value)


def _repeating(sign: str, whole: str, fixed: str, cycle: str) -> Number:
    value = Fraction(int(whole or "0")) + (
        Fraction(int(fixed + cycle) - int(fixed or "0"), 10 ** len(fixed) * (10 ** len(cycle) - 1))
    )
    return Number(-value if sign == "-" else value)


def same_number(answer: Number, reference: Number, exact: bool = False) -> Outcome:
    """Compare by policy 3.

    Args:
        exact: amounts that are not rounded (money, years): a rounding is never accepted as equal.
    """
    if answer.value == reference.value:
        return Outcome(1, "equal_number")
    if reference.ulp is not None and rounds_to(answer.value, reference.value, reference.ulp) is not False:
        if exact or reference.scientific or rounds_to(answer.value, reference.value, reference.ulp) is None:
            return Outcome(None, "rounding_convention")
        return Outcome(1, "rounds_to_reference")
    if _coarser_rounding(answer, reference):
        return Outcome(None, "coarser_rounding")
    return Outcome(0, "different_number")


def rounds_to(value: Fraction, rounded: Fraction, ulp: Fraction) -> bool | None:
    """Whether `value` rounds to `rounded` at this place; None for an exact half that was rounded down."""
    distance = abs(value - rounded)
    if distance * 2 < ulp:
        return True
    if distance * 2 > ulp:
        return False
    return True if abs(rounded) > abs(value) else None


def _coarser_rounding(answer: Number, reference: Number) -> bool:
    """The answer keeps at least one significant digit and is the reference, rounded to the answer's last place."""
    if answer.ulp is None and (answer.value.denominator != 1 or reference.value.denominator == 1):
        return False
    if answer.value == 0 or (answer.value < 0) != (reference.value < 0):
        return False
    return rounds_to(reference.value, answer.value, answer.ulp or Fraction(1)) is not False


def within_tolerance(answer: Number, reference: Number, tolerance: Fraction) -> Outcome:
    """Chart reading (policy 11): |answer - reference| <= tolerance * |reference|."""
    if abs(answer.value - reference.value) <= tolerance * abs(reference.value):
        return Outcome(1, "within_tolerance")
    return Outcome(0, "outside_tolerance")
