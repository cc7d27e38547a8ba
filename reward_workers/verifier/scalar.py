"""One value against one value: numbers, quantities, named values, expressions (policy 3 to 6, 8)."""

from __future__ import annotations

import re
from dataclasses import replace
from fractions import Fraction

from reward_workers.verifier import guard
from reward_workers.verifier.equation import compare_equations, named_value
from reward_workers.verifier.number import within_tolerance
from reward_workers.verifier.outcome import Leaf, Outcome, Question
from reward_workers.verifier.split import split_top
from reward_workers.verifier.text import compare_text, has_number_word, is_prose
from reward_workers.verifier.units import DEGREE, PERCENT, Quantity, compare_quantities, is_count, split_quantity

CHART_TOLERANCE = Fraction(5, 100)
"""Relaxed accuracy of chart questions (policy 11)."""

_EXACT_KINDS = ("year", "currency")
_APPROXIMATE = re.compile(r"\\(?:approx|sim|simeq)(?![a-zA-Z])|~")
_RELATION = re.compile(r"[=<>]|\\(?:le|ge|ne|in|equiv)(?![a-zA-Z])")
_ORDINAL = re.compile(r"\A[+-]?\d+\s*\^?\s*\{?\s*(?:st|nd|rd|th)\s*\}?\Z", re.IGNORECASE)
_CONSTANT = re.compile(r"(?<![A-Za-z\\])[+-]\s*[CKck]\s*\Z")
_LEADING_NUMBER = re.compile(r"([+-]?\s?[0-9][0-9,]*(?:\.[0-9]+)?)\s*([^\W\d_]+)\Z")
_NUMBER = re.compile(r"[0-9]+(?:\.[0-9]+)?")
_BARE_LOG = re.compile(r"(?:\\|\b)log(?![a-zA-Z_]|\s*_)")
_NATURAL_LOG = re.compile(r"(?:\\|\b)ln(?![a-zA-Z])")
_TRIGONOMETRIC = re.compile(r"sin|cos|tan|cot|sec|csc")
_ONE_WORD = re.compile(r"[A-Za-z]{3,}")
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
    left, right = _quantity(answer, kind), _quantity(reference, kind)
    if right.number is not None and left.number is not None:
        return _compare_numbers(left, right, kind, in_list)
    if right.number is not None:
        return _against_number(answer, left, right, kind, leaf)
    return _compare_expressions(answer, reference, left, right, kind, leaf)


def _quantity(text: str, kind: str) -> Quantity:
    """Split off the unit, unless its one letter is more likely a variable."""
    quantity = split_quantity(text)
    if quantity.number is None and quantity.unit == DEGREE and _TRIGONOMETRIC.search(text):
        return Quantity(None, text)
    one_letter = quantity.unit is not None and len(quantity.unit) == 1 and re.search(r"(?<![A-Za-z])[A-Za-z]\Z", text)
    if one_letter and (kind == "expression" or (quantity.number is None and kind != "unit")):
        return Quantity(None, text)
    return replace(quantity, glued=quantity.glued and kind != "unit")


def _compare_numbers(answer: Quantity, reference: Quantity, kind: str, in_list: bool) -> Outcome:
    if in_list and is_count(answer.unit) != is_count(reference.unit):
        return Outcome(None, "counted_thing")
    outcome = compare_quantities(answer, reference, exact=kind in _EXACT_KINDS)
    if kind != "chart_numeric" or outcome.value == 1 or answer.number is None or reference.number is None:
        return outcome
    if outcome.reason not in ("different_number", "coarser_rounding", "rounding_convention"):
        return outcome
    near = within_tolerance(answer.number, reference.number, CHART_TOLERANCE)
    if near.value == 1 or (answer.unit == PERCENT) == (reference.unit == PERCENT):
        return near
    scaled = replace(answer.number, value=answer.number.value * (Fraction(1, 100) if answer.unit == PERCENT else 100))
    return within_tolerance(scaled, reference.number, CHART_TOLERANCE)


def _against_number(answer: str, left: Quantity, right: Quantity, kind: str, leaf: Leaf) -> Outcome:
    """The reference is a number and the answer is not written as one."""
    if right.unit == DEGREE and re.search(r"\\?pi(?![a-z])|rad", answer):
        return Outcome(None, "angle_unit")
    if has_number_word(answer):
        return Outcome(None, "number_word")
    if _BASED.search(answer) or _BASED.search(right.text):
        return Outcome(None, "number_base")
    if _LEADING_NUMBER.match(answer):
        return _number_and_word(answer, right, kind)
    if _RELATION.search(answer):
        return Outcome(None, "relation_for_number")
    stopped = guard.blocked(left.text)
    if stopped is None:
        if _one_log_convention(left.text, right.text):
            return Outcome(None, "log_convention")
        if left.unit is not None and right.unit is not None and left.unit != right.unit:
            return Outcome(None, "other_unit")
        if right.scale_word or left.scale_word:
            return Outcome(None, "scale_word")
        return leaf(Question(left.text, right.text))
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
    if bool(_CONSTANT.search(answer)) != bool(_CONSTANT.search(reference)):
        return Outcome(None, "integration_constant")
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
    if kind != "expression" and _ONE_WORD.fullmatch(answer) and _ONE_WORD.fullmatch(reference):
        return compare_text(answer, reference)
    stopped = guard.blocked(left.text) or guard.blocked(right.text)
    if stopped is None:
        outcome = leaf(Question(left.text, right.text))
        if outcome.value == 0 and _CONSTANT.search(reference):
            return Outcome(None, "integration_constant")
        return outcome
    if is_prose(reference) or is_prose(answer):
        return compare_text(answer, reference)
    return Outcome(None, stopped)
