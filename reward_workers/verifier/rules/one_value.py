"""Whether several written values may be one value, and what a single value looks like (policy 9)."""

from __future__ import annotations

import re
from collections.abc import Sequence
from itertools import combinations

from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.notation.equation import named_value
from reward_workers.verifier.rules.notation.number import parse_number, same_number
from reward_workers.verifier.rules.notation.split import outer_bracket
from reward_workers.verifier.rules.notation.units import Quantity, dimension, split_quantity
from reward_workers.verifier.rules.outcome import Outcome

_RANGE = re.compile(r"\d[\d.,]*\s*%?\s*-\s*\d[\d.,]*\s*%?")
_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z])")
_CONDITION = re.compile(r"[<>|]|\\(?:le|ge|ne|in|mid|equiv|pmod)(?![a-zA-Z])")


def is_value(text: str) -> bool:
    """One number, quantity, expression, named value or bracketed value: something that is right or wrong as a whole."""
    named = named_value(text)
    value = text if named is None else named[1]
    if outer_bracket(value) is not None:
        return _CONDITION.search(value) is None
    return split_quantity(value).number is not None or guard.blocked(value) != "not_an_expression"


def is_range(text: str) -> bool:
    """``1-3``: a difference, or all that lies between."""
    return _RANGE.fullmatch(text) is not None


def repeated_value(values: Sequence[str], outcomes: Sequence[Outcome], kind: str) -> Outcome | None:
    """Unresolved when no value is proven to differ from what it was compared with; None when one is.

    Numbers also have to be roundings of each other, and equal within a tolerance: 42 and 43 are both near 42.5.
    """
    if any(outcome.value == 0 for outcome in outcomes):
        return None
    numbers = list(map(parse_number, values))
    if kind == "chart_numeric" and len({None if number is None else number.value for number in numbers}) > 1:
        return None
    different = {number.value: number for number in numbers if number is not None}.values()
    pairs = combinations(different, 2)
    if any(same_number(one, other).value == same_number(other, one).value == 0 for one, other in pairs):
        return None
    return next((outcome for outcome in outcomes if outcome.value is None), Outcome(None, "repeated_value"))


def parts_of_one_value(answer: str, reference: str, values: Sequence[str]) -> str | None:
    """Why several values may be one: a reason code, None when they are alternatives."""
    names = [pair[0] for pair in map(named_value, values) if pair is not None]
    if len(set(names)) > 1:
        return "several_names"
    if any(_CONDITION.search(value) or value == "so" for value in values):  # '5 or so'
        return "hedge_or_condition"
    centre = _PLUS_MINUS.split(answer)
    if len(centre) == 2 and centre[0].strip() and centre[0].strip() == reference:
        return "measurement_error"
    found = [split_quantity(value) for value in values]
    units = [quantity.unit for quantity in found]
    if (
        len(set(units)) > 1
        and None not in units
        and len({tuple(dimension(unit).items()) for unit in units if unit}) == 1
    ):
        return "compound_quantity"
    return "number_notation" if len(found) == 2 and _mixed(found[0], found[1], reference) else None


def _mixed(whole: Quantity, part: Quantity, reference: str) -> bool:
    """``2 and 1/3`` for 7/3."""
    expected = parse_number(reference)
    if whole.number is None or part.number is None or expected is None or whole.number.value.denominator != 1:
        return False
    return 0 < part.number.value < 1 and whole.number.value + part.number.value == expected.value
