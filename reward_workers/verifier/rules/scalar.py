"""One value against one value: numbers, quantities, named values, expressions (policy 3 to 6, 8)."""

from __future__ import annotations

import math
import re
from dataclasses import replace
from fractions import Fraction

from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.notation.equation import compare_equations, named_value
from reward_workers.verifier.rules.notation.expression import FUNCTIONS, GREEK, parse, variables, walk
from reward_workers.verifier.rules.notation.number import Number, other_readings, within_tolerance
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.notation.split import split_top
from reward_workers.verifier.rules.notation.unit_table import SCALE_LETTERS
from reward_workers.verifier.rules.notation.units import (
    DEGREE,
    PERCENT,
    Quantity,
    compare_quantities,
    is_count,
    near_angle,
    split_quantity,
)
from reward_workers.verifier.rules.outcome import Leaf, Outcome, Question
from reward_workers.verifier.rules.text import compare_text, has_number_word, is_prose, says_zero

CHART_TOLERANCE = Fraction(5, 100)
"""Relaxed accuracy of chart questions (policy 11)."""

_ROUNDED = ("different_number", "coarser_rounding", "rounding_convention", "rounds_to_reference", "rounded_percent")
_EXACT_KINDS = ("year", "currency")
_NUMERIC_KINDS = ("integer", "decimal", "fraction", "percent", "unit", "currency", "angle", "chart_numeric", "")
_UNKNOWNS = {"x", "y", "z"}
_CIRCULAR = ("sin", "cos", "tan", "cot", "sec", "csc")
_OF_A_PRODUCT = ("num", "var", "const", "mul", "div", "pow", "neg")
_APPROXIMATE = re.compile(r"\\(?:approx|sim|simeq)(?![a-zA-Z])|~")
_ABOUT = re.compile(
    r"\A(?:\\approx(?![a-zA-Z])|~|大约为?|约为?|(?:about|approximately|approx\.?|roughly|around)(?![a-zA-Z]))\s*"
    r"(?=[-+]?\s?[$€£¥₹₩]?\s?(?:[0-9.]|\\frac))",
    re.IGNORECASE,
)
"""A word or sign that says 'about' before a number."""
_ABOUT_FORMULA = re.compile(r"\A(?:大约为?|约为?|about|approximately|roughly|around)\s*[(\\]", re.IGNORECASE)
_ABOUT_ROOM = Fraction(1, 5)
"""How far a number that is said to be about right may lie from the other one before it is wrong for certain."""
_LONE_LETTER = re.compile(r"[-+]?\s?[0-9][0-9.,]*\s?([kKMBTmb])")
_SAME_DIGITS = 0.3
"""Relative room in which two numbers count as the same digits with another power of ten."""
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|in|equiv)(?![a-zA-Z])")
_ORDINAL = re.compile(r"\A[+-]?\d+\s*\^?\s*\{?\s*(?:st|nd|rd|th)\s*\}?\Z", re.IGNORECASE)
_CONSTANT = re.compile(r"(?:\A|[+-])\s*[CK](?:_\{?\w\}?)?\s*(?=\Z|[+-])")
_SMALL_CONSTANT = re.compile(r"(?:\A|[+-])\s*[ck]\s*(?=\Z|[+-])")
_OTHER_COEFFICIENT = re.compile(r"(?<![A-Za-z\\])[ab](?![A-Za-z])")
_YEAR = re.compile(r"[+-]?[0-9]{1,6}(?:\.[0-9]*)?|[0-9],[0-9]{3}")
_DIGIT = re.compile(r"[0-9]")
_CAPITALS = re.compile(r"[A-Z]{2,}")
_CALL = re.compile(r"(?<![A-Za-z\\])(?:[fgFG]\([^()]*\)|h\(\w\))")
_LEADING_NUMBER = re.compile(r"([+-]?\s?[0-9][0-9,]*(?:\.[0-9]+)?)\s*([^\W\d_]+)\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_BARE_LOG = re.compile(r"(?:\\|\b)log(?![a-zA-Z_]|\s*_)")
_NATURAL_LOG = re.compile(r"(?:\\|\b)ln(?![a-zA-Z])")
_TRIGONOMETRIC = re.compile(r"sin|cos|tan|cot|sec|csc")
_WORD = re.compile(r"(?<![A-Za-z\\])[A-Za-z]{3,}")
_FORMULA = re.compile(r"[\\+*/^()]")
_MATHEMATICAL_WORDS = frozenset(FUNCTIONS) | GREEK | {"sqrt", "log"}
_BASED = re.compile(r"\d_\{?\d")


def compare_scalar(answer: str, reference: str, kind: str, leaf: Leaf, in_list: bool = False) -> Outcome:
    """Compare two single values in canonical form.

    Args:
        kind: answer type of the data row, '' when unknown.
        leaf: decides what needs the symbolic stage.
        in_list: parts of a list; a word that counts things then binds the number to a thing.
    """
    exact = _ABOUT.sub("", answer), _ABOUT.sub("", reference)
    if exact != (answer, reference):
        return _about(exact[0], exact[1], kind, leaf, in_list)
    if any(_APPROXIMATE.search(text) or _ABOUT_FORMULA.match(text) for text in (answer, reference)):
        return Outcome(None, "approximation")
    a, r = named_value(answer), named_value(reference)
    if (a or r) and _one_lone_letter(answer if a is None else a[1], reference if r is None else r[1]):
        return Outcome(None, "scale_word")  # 'n = 5k' has a k of its own
    if a is not None and r is not None:
        if a[0].replace(" ", "") == r[0].replace(" ", ""):
            return compare_scalar(a[1], r[1], kind, leaf, in_list)
    elif a is not None and not _RELATION.search(reference):
        answer = a[1]
    elif r is not None and not _RELATION.search(answer):
        reference = r[1]
    if _ORDINAL.match(answer) or _ORDINAL.match(reference):
        return Outcome(None, "ordinal")
    if kind == "year":
        answer, reference = answer.removesuffix("年"), reference.removesuffix("年")
        if _DIGIT.search(answer) and not (_YEAR.fullmatch(answer) and _YEAR.fullmatch(reference)):
            return Outcome(None, "not_a_year")
    left, right = _quantities(answer, reference, kind)
    if right.number is not None and left.number is not None:
        outcome = compare_numbers(left, right, kind, in_list)
        if outcome.value == 0 and (_letter_says(answer, right) or _letter_says(reference, left)):
            return Outcome(None, "unit_or_variable")
        return outcome
    if right.number is not None:
        return _against_number(answer, left, right, kind, leaf)
    return _compare_expressions(answer, reference, left, right, kind, leaf)


def _about(answer: str, reference: str, kind: str, leaf: Leaf, in_list: bool) -> Outcome:
    """Two numbers, one of them said to be about right: open where they are near each other and not the same."""
    found, expected = split_quantity(answer).number, split_quantity(reference).number
    if found is None or expected is None:
        return Outcome(None, "approximation")
    outcome = compare_scalar(answer, reference, kind, leaf, in_list)
    if outcome.reason in ("different_number", "outside_tolerance"):
        left, right = _quantities(answer, reference, kind)
        values = [q.number.value * q.scale for q in (left, right) if q.number is not None]
        if abs(values[0] - values[1]) <= _ABOUT_ROOM * max(map(abs, values)):
            return Outcome(None, "approximation")
    return outcome


def _one_lone_letter(answer: str, reference: str) -> bool:
    """One side is a number with a letter that scales it or is a variable, the other one is not."""
    return bool(_LONE_LETTER.fullmatch(answer)) != bool(_LONE_LETTER.fullmatch(reference))


def _letter_says(text: str, other: Quantity) -> bool:
    """``5 K`` beside 5000: five kelvin or five thousand."""
    match = _LONE_LETTER.fullmatch(text)
    if match is None or other.number is None:
        return False
    number = split_quantity(text[: match.start(1)].strip()).number
    return number is not None and number.value * SCALE_LETTERS[match.group(1)] == other.number.value * other.scale


def _quantities(answer: str, reference: str, kind: str) -> tuple[Quantity, Quantity]:
    """Both sides; a capital behind a number is a scale where the other side has that scale as a word, or the letter."""
    left, right = _quantity(answer, kind), _quantity(reference, kind)
    lettered = answer[-1:] in ("K", "M", "B", "T") or reference[-1:] in ("K", "M", "B", "T")
    if kind == "expression" or not lettered or left.scale == right.scale != 1:
        return left, right
    with_letters = split_quantity(answer, letters=True), split_quantity(reference, letters=True)
    if with_letters[0].scale != with_letters[1].scale or with_letters[0].scale == 1:
        return left, right
    both_letters = with_letters[0].letter and with_letters[1].letter
    return (left, right) if both_letters and kind != "chart_numeric" else with_letters


def _quantity(text: str, kind: str) -> Quantity:
    """Split off the unit, unless its one letter is more likely a variable."""
    quantity = split_quantity(text)
    if quantity.letter == "k" and quantity.unit is None and kind in ("expression", "equation"):
        return Quantity(None, text)
    if quantity.number is None and quantity.unit == DEGREE and _TRIGONOMETRIC.search(text):
        return Quantity(None, text)
    if quantity.unit is not None and (kind == "expression" or (quantity.number is None and kind != "unit")):
        letters = max(map(len, re.findall(r"[^\W\d_]+", text[len(quantity.text) :])), default=2)
        if letters == 1 or "\\mu" in text:
            return Quantity(None, text)
    return replace(quantity, glued=False) if quantity.glued and kind == "unit" else quantity


def compare_numbers(answer: Quantity, reference: Quantity, kind: str, in_list: bool = False) -> Outcome:
    """Compare two quantities that have numbers; arguments as those of `compare_scalar`."""
    if in_list and is_count(answer.unit) != is_count(reference.unit):
        return Outcome(None, "counted_thing")
    if answer.scale != reference.scale:
        return _two_scales(answer, reference, kind, in_list)
    outcome = compare_quantities(answer, reference, exact=kind in _EXACT_KINDS)
    if answer.number is None or reference.number is None:
        raise AssertionError("two numbers are compared")
    if outcome.value == 0 and outcome.reason != "same_number_other_unit":
        if reference.number.value in other_readings(answer.text) or answer.number.value in other_readings(
            reference.text
        ):
            return Outcome(None, "number_notation")
        if (
            kind == "angle"
            and DEGREE not in (answer.unit, reference.unit)
            and near_angle(answer.number, reference.number)
        ):
            return Outcome(None, "angle_unit")
    return _chart_tolerance(answer, reference, outcome) if kind == "chart_numeric" else outcome


def _two_scales(answer: Quantity, reference: Quantity, kind: str, in_list: bool) -> Outcome:
    """Numbers with other words such as million, or one without: written out in full, they are compared as numbers.

    The one without may be in millions by its axis or table: where a power of ten lies between them, they stay open.
    """
    letters = {answer.letter, reference.letter} - {""}
    kelvin = (("K", 1),) in (answer.unit, reference.unit)
    if 12 in (answer.scale, reference.scale) or PERCENT in (answer.unit, reference.unit) or (letters and kelvin):
        return Outcome(None, "scale_word")
    if reference.letter == "k" and reference.unit is None and kind not in _NUMERIC_KINDS[:-1]:
        return Outcome(None, "scale_word")  # a reference such as 2k, for every k
    full = _in_full(answer), _in_full(reference)
    outcome = compare_numbers(full[0], full[1], kind, in_list)
    if outcome.value != 0:
        return outcome
    if letters & {"m", "b"} or (1 in (answer.scale, reference.scale) and _power_of_ten_apart(full[0], full[1])):
        return Outcome(None, "scale_word")
    return outcome


def _in_full(quantity: Quantity) -> Quantity:
    """3.2 million as 3,200,000, known to the last digit that was written."""
    number = quantity.number
    if number is None:
        raise AssertionError("a number is scaled")
    if quantity.scale == 1:
        return quantity
    ulp = number.ulp if number.ulp is not None or number.value.denominator != 1 else Fraction(1)
    scaled = Number(number.value * quantity.scale, None if ulp is None else ulp * quantity.scale, scientific=True)
    return replace(quantity, number=scaled, scale=1, letter="", glued=False)


def _power_of_ten_apart(one: Quantity, other: Quantity) -> bool:
    """About the same digits, and another order of magnitude."""
    if one.number is None or other.number is None or not one.number.value or not other.number.value:
        return False
    ratio = one.number.value / other.number.value
    if ratio < 0:
        return False
    digits = math.log10(ratio.numerator) - math.log10(ratio.denominator)
    power = round(digits)
    return power != 0 and abs(10 ** (digits - power) - 1) <= _SAME_DIGITS


def _chart_tolerance(answer: Quantity, reference: Quantity, outcome: Outcome) -> Outcome:
    """Policy 11 in the place of rounding, once both sides are numbers with units that can be compared."""
    if answer.number is None or reference.number is None:
        raise AssertionError("two numbers are compared")
    if outcome.reason not in _ROUNDED:
        return outcome
    near = within_tolerance(answer.number, reference.number, CHART_TOLERANCE)
    if near.value == 1 or (answer.unit == PERCENT) == (reference.unit == PERCENT):
        return near
    scaled = replace(answer.number, value=answer.number.value * (Fraction(1, 100) if answer.unit == PERCENT else 100))
    return within_tolerance(scaled, reference.number, CHART_TOLERANCE)


def _against_number(answer: str, left: Quantity, right: Quantity, kind: str, leaf: Leaf) -> Outcome:
    """The reference is a number and the answer is not written as one."""
    if right.unit == DEGREE and left.unit != DEGREE and _DIGIT.search(answer):
        return Outcome(None, "angle_unit")
    if kind == "angle" and left.unit != DEGREE and "\\pi" in answer:
        return Outcome(None, "angle_unit")
    if has_number_word(answer) or (right.number is not None and right.number.value == 0 and says_zero(answer)):
        return Outcome(None, "number_word")
    if _BASED.search(answer) or _BASED.search(right.text):
        return Outcome(None, "number_base")
    if _LEADING_NUMBER.match(answer):
        return _number_and_word(answer, right, kind)
    if _RELATION.search(answer):
        return Outcome(None, "relation_for_number")
    stopped = guard.blocked(left.text)
    if stopped is None and _has_word(answer) and not _DIGIT.search(answer):
        return Outcome(0, "prose_for_number")
    if stopped is None:
        if _one_log_convention(left.text, right.text):
            return Outcome(None, "log_convention")
        if left.unit is not None and right.unit is not None and left.unit != right.unit:
            return Outcome(None, "other_unit")
        if right.scale != 1 or left.scale != 1:
            return Outcome(None, "scale_word")
        outcome = leaf(Question(left.text, right.text))
        if outcome.value == 0 and kind == "chart_numeric":
            return Outcome(None, "not_a_number")
        return _zero_that_stands(outcome, left.text, right.text, kind)
    if stopped != "not_an_expression":
        return Outcome(None, stopped)
    digits = _NUMBER.findall(answer)
    if not digits:
        return Outcome(0, "prose_for_number") if is_prose(answer) else Outcome(None, "not_a_number")
    if len(digits) >= 3 and is_prose(answer) and split_top(answer, ",") is None and right.text not in digits:
        return Outcome(0, "malformed_for_number")
    return Outcome(None, "number_in_prose")


def _number_and_word(answer: str, right: Quantity, kind: str) -> Outcome:
    """'12 knots', '3 dozen', '5x': a number and a word outside the table of units."""
    match = _LEADING_NUMBER.match(answer)
    word = "" if match is None else match.group(2)
    if len(word) == 1 and word.isascii() and kind != "unit" and match is not None:
        number = split_quantity(match.group(1)).number
        if number is not None and right.number is not None and number.value != right.number.value:
            return Outcome(0, "other_number_and_variable") if word in "xyz" else Outcome(None, "unknown_unit")
    return Outcome(None, "unknown_unit")


def _one_log_convention(answer: str, reference: str) -> bool:
    """Bare log is base ten or e by convention: undecidable when it is on one side only, or against ln."""
    logs = bool(_BARE_LOG.search(answer)), bool(_BARE_LOG.search(reference))
    if logs[0] != logs[1]:
        return True
    return logs[0] and bool(_NATURAL_LOG.search(answer) or _NATURAL_LOG.search(reference))


def _compare_expressions(
    answer: str, reference: str, left: Quantity, right: Quantity, kind: str, leaf: Leaf
) -> Outcome:
    constants = _has_constant(answer), _has_constant(reference)
    if constants[0] != constants[1]:
        return Outcome(None, "integration_constant")
    if kind == "angle" and ("\\pi" in answer) != ("\\pi" in reference):
        return Outcome(None, "angle_unit")
    if _one_log_convention(answer, reference):
        return Outcome(None, "log_convention")
    if _BASED.search(answer) or _BASED.search(reference):
        return Outcome(None, "number_base")
    if "=" in answer and "=" in reference:
        return compare_equations(answer, reference, leaf, lambda q: compare_scalar(q.answer, q.reference, kind, leaf))
    if _RELATION.search(answer) or _RELATION.search(reference):
        return Outcome(None, "relation")
    if (left.unit and not right.unit) and right.unit == DEGREE:
        return Outcome(None, "angle_unit")
    if left.unit is not None and right.unit is not None and left.unit != right.unit:
        return Outcome(None, "other_unit")
    if DEGREE in (left.unit, right.unit) and left.unit != right.unit:
        return Outcome(None, "angle_unit")
    if left.scale != 1 or right.scale != 1 or PERCENT in (left.unit, right.unit):
        return Outcome(None, "scale_word")
    if kind not in ("expression", "equation") and (_has_word(answer) or _has_word(reference)):
        return compare_text(answer, reference)
    stopped = guard.blocked(left.text) or guard.blocked(right.text)
    if stopped is None:
        outcome = leaf(Question(left.text, right.text))
        if outcome.value == 0 and constants[1]:
            return Outcome(None, "integration_constant")
        if outcome.value == 1 and sorted(_CAPITALS.findall(answer)) != sorted(_CAPITALS.findall(reference)):
            return Outcome(None, "letter_order")
        if outcome.value == 1 and _calls(answer) != _calls(reference):
            return Outcome(None, "function_or_product")
        return _zero_that_stands(outcome, left.text, right.text, kind)
    if is_prose(reference) or is_prose(answer):
        return compare_text(answer, reference)
    return Outcome(None, stopped)


def _calls(text: str) -> set[str]:
    """``f(2x)`` and the like, which are no products that may be written in another way."""
    return set(_CALL.findall(text.replace(" ", "")))


def _has_word(text: str) -> bool:
    """A word outside a formula that is no name of mathematics: 'cat' is not c times a times t."""
    return not _FORMULA.search(text) and any(word not in _MATHEMATICAL_WORDS for word in _WORD.findall(text))


def _has_constant(text: str) -> bool:
    """A term that stands for a constant of integration: C or K; c or k where nothing else is a coefficient."""
    if _CONSTANT.search(text):
        return True
    return bool(_SMALL_CONSTANT.search(text)) and len(text) > 1 and not _OTHER_COEFFICIENT.search(text)


def _zero_that_stands(outcome: Outcome, answer: str, reference: str, kind: str) -> Outcome:
    """Values prove nothing where letters may be a unit that the table lacks, or ``\\sin 30`` may mean degrees."""
    if outcome.value != 0:
        return outcome
    trees = parse(answer), parse(reference)
    nodes = [node for tree in trees for node in walk(tree)]
    if any(node[0] == "fn" and node[1] in _CIRCULAR and rational_value(node[2]) for node in nodes):
        return Outcome(None, "angle_unit")
    names = variables(trees[0]), variables(trees[1])
    lettered = [tree for tree, found in zip(trees, names, strict=True) if found]
    if not lettered or names[0] == names[1] or names[0] | names[1] <= _UNKNOWNS:
        return outcome
    if len(lettered) == 2 and kind not in _NUMERIC_KINDS:
        return outcome
    if names[0] and not any(node[0] == "num" for node in walk(trees[0])):
        return outcome  # no number that a unit could belong to
    if all(node[0] in _OF_A_PRODUCT for tree in lettered for node in walk(tree)):
        return Outcome(None, "unknown_unit")
    return outcome
