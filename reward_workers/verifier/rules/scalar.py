"""One value against one value: numbers, quantities, named values, expressions (policy 3 to 6, 8)."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.notation.equation import compare_equations, named_value
from reward_workers.verifier.rules.notation.expression import FUNCTIONS, GREEK, parse, variables, walk
from reward_workers.verifier.rules.notation.number import other_readings, within_tolerance
from reward_workers.verifier.rules.notation.rational import rational_value
from reward_workers.verifier.rules.notation.split import split_top
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
    if _APPROXIMATE.search(answer) or _APPROXIMATE.search(reference):
        return Outcome(None, "approximation")
    a, r = named_value(answer), named_value(reference)
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
    left, right = _quantity(answer, kind), _quantity(reference, kind)
    if right.number is not None and left.number is not None:
        return compare_numbers(left, right, kind, in_list)
    if right.number is not None:
        return _against_number(answer, left, right, kind, leaf)
    return _compare_expressions(answer, reference, left, right, kind, leaf)


def _quantity(text: str, kind: str) -> Quantity:
    """Split off the unit, unless its one letter is more likely a variable."""
    quantity = split_quantity(text)
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
    outcome = compare_quantities(answer, reference, exact=kind in _EXACT_KINDS)
    if answer.number is None or reference.number is None:
        raise AssertionError("two numbers are compared")
    if outcome.value == 0:
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
        if right.scale_word or left.scale_word:
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
    if left.scale_word or right.scale_word or PERCENT in (left.unit, right.unit):
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
