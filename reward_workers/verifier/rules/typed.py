"""The typed stage: pick the rule by answer type and form, and compare (policy 3 to 12)."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

from reward_workers.verifier.rules import answer_types, clock, collection
from reward_workers.verifier.rules.choice import compare_choice, compare_multi_choice, letter_of, letters_of
from reward_workers.verifier.rules.notation import interval, matrix
from reward_workers.verifier.rules.notation.equation import named_value
from reward_workers.verifier.rules.notation.number import MAX_DIGITS, other_readings, parse_number
from reward_workers.verifier.rules.notation.split import outer_bracket
from reward_workers.verifier.rules.notation.units import Quantity, split_quantity
from reward_workers.verifier.rules.one_value import is_range, is_value, parts_of_one_value, repeated_value
from reward_workers.verifier.rules.outcome import Leaf, Outcome
from reward_workers.verifier.rules.proof.prove import prove_first
from reward_workers.verifier.rules.scalar import compare_numbers, compare_scalar
from reward_workers.verifier.rules.text import compare_document_text, compare_text, compare_yes_no, is_prose

_MAX_NESTING = 3
_COLLECTIONS = ("list", "set", "ordered_list", "tuple")
_ORDERED = ("ordered_list", "tuple")
_SETS = ("\\emptyset", "")
_SINGLE = ("integer", "decimal", "fraction", "percent", "unit", "currency", "angle", "year", "chart_numeric")

_PLAIN_NUMBER = re.compile(r"[+-]*(?:[0-9]+\.?[0-9]*|\.[0-9]+|[+-]?\\frac\{[0-9]+\}\{[0-9]+\}|[0-9]+/[0-9]+)")
_PLAIN_QUANTITY = re.compile(rf"[$€£¥]?{_PLAIN_NUMBER.pattern}\s?(?:%|°|[A-Za-z]+)?", re.ASCII)
"""One number with one sign or word at most, which therefore is neither a list nor an interval nor a matrix."""

_BY_TYPE: dict[str, Callable[[str, str], Outcome]] = {
    "multi_choice": compare_multi_choice,
    "yesno": compare_yes_no,
    "doc_text": compare_document_text,
    "ratio": clock.compare_ratio,
    "date": clock.compare_date,
}


def compare_typed(
    answer: str,
    reference: str,
    answer_type: str,
    options: Sequence[str] | None,
    leaf: Leaf,
    n_boxes: int = 1,
) -> Outcome:
    """Compare canonical texts by the rules of their type.

    Args:
        answer_type: canonical name or '' (then inferred from the reference).
        leaf: decides the questions that `proof` does not.
        n_boxes: boxes in the response; several boxes may hold the parts of one answer.
    """
    kind = answer_type or answer_types.infer(reference)
    if kind == "choice":
        return compare_choice(answer, reference, options)
    if kind in _BY_TYPE:
        return _BY_TYPE[kind](answer, reference)
    if kind == "time" and clock.parse_time(reference) is not None:
        outcome = clock.compare_time(answer, reference)
        if answer_type or outcome.value != 0 or clock.compare_ratio(answer, reference).value != 1:
            return outcome
    if kind == "text" and (split_quantity(reference).number is None or _code(answer) or _code(reference)):
        return compare_text(answer, reference)
    return _Comparison(kind, prove_first(leaf), n_boxes).compare(answer, reference)


def _code(text: str) -> bool:
    """``007``: digits to read out and no number."""
    return text[:1] == "0" and text[1:2].isdigit()


class _Comparison:
    """Values of one answer type; recursive for tuples within lists."""

    def __init__(self, kind: str, leaf: Leaf, n_boxes: int) -> None:
        self.kind = kind
        self.leaf = leaf
        self.n_boxes = n_boxes

    def compare(self, answer: str, reference: str) -> Outcome:
        simple = self._two_plain_values(answer, reference)
        if simple is not None:
            return simple
        return self._structured(answer, reference, 0)

    def _two_plain_values(self, answer: str, reference: str) -> Outcome | None:
        """The common case, before any splitting."""
        if len(answer) > MAX_DIGITS or not (_PLAIN_QUANTITY.fullmatch(answer) and _PLAIN_QUANTITY.fullmatch(reference)):
            return None
        if self.kind != "year" and _PLAIN_NUMBER.fullmatch(answer) and _PLAIN_NUMBER.fullmatch(reference):
            numbers = parse_number(answer), parse_number(reference)
            if numbers[0] is not None and numbers[1] is not None:
                return compare_numbers(Quantity(numbers[0], answer), Quantity(numbers[1], reference), self.kind)
        return compare_scalar(answer, reference, self.kind, self.leaf)

    def _structured(self, answer: str, reference: str, depth: int) -> Outcome:
        if depth > _MAX_NESTING:
            return Outcome(None, "nested_too_deep")

        def element(x: str, y: str) -> Outcome:
            return self._element(x, y, depth + 1)

        matrices = matrix.parse_matrix(answer), matrix.parse_matrix(reference)
        if matrices[0] is not None and matrices[1] is not None:
            return collection.compare_matrices(matrices[0], matrices[1], element)
        if "\\begin" in answer or "\\begin" in reference:
            return Outcome(None, "matrix_form")
        if interval.is_infinite_builder(answer) and split_quantity(reference).number is not None:
            return Outcome(0, "set_for_number")
        regions = self._regions(answer, reference)
        if regions is not None:
            return collection.compare_regions(regions[0], regions[1], element)
        if self.kind == "interval" and (interval.parse_region(reference) or interval.parse_region(answer)):
            return Outcome(None, "not_an_interval")
        return self._values(answer, reference, element)

    def _element(self, answer: str, reference: str, depth: int) -> Outcome:
        if answer == reference:
            return Outcome(1, "same_normalized")
        if depth > 0 and answer.startswith("\\{") != reference.startswith("\\{"):
            return Outcome(None, "set_or_element")
        if outer_bracket(answer) or outer_bracket(reference) or "\\pm" in answer + reference:
            return self._structured(answer, reference, depth)
        return compare_scalar(answer, reference, self.kind, self.leaf, in_list=depth > 0)

    def _regions(self, answer: str, reference: str) -> tuple[interval.Region, interval.Region] | None:
        """Both sides as regions, where the type or the form says that they are no points or lists."""
        if self.kind in ("ordered_list", "tuple") or self.kind in _SINGLE:
            return None
        expected, found = interval.parse_region(reference), interval.parse_region(answer)
        if expected is None or found is None:
            return None
        if self.kind == "interval" or _says_region(reference, expected) or _says_region(answer, found):
            return found, expected
        return None

    def _values(self, answer: str, reference: str, element: collection.Compare) -> Outcome:
        answer, reference = collection.without_point_names(answer, reference)
        expected, found = collection.parts_of(reference), collection.parts_of(answer)
        if expected is None or found is None:
            return compare_scalar(answer, reference, self.kind, self.leaf)
        if len(expected.values) == 1:
            if len(found.values) == 1:
                return self._single_values(answer, reference, found, expected, element)
            return self._several_for_one(answer, reference, found, element)
        if is_prose(reference) and self.kind not in _COLLECTIONS:
            return compare_text(answer, reference)
        if len(found.values) == 1:
            return self._one_for_several(answer, reference, expected, element)
        return self._two_collections(found, expected, element)

    def _single_values(
        self,
        answer: str,
        reference: str,
        found: collection.Parts,
        expected: collection.Parts,
        element: collection.Compare,
    ) -> Outcome:
        """One value on each side; a set of one number is that number, a set within a set is not."""
        if not (found.bracket or expected.bracket):
            return compare_scalar(answer, reference, self.kind, self.leaf)
        values = found.values[0], expected.values[0]
        if found.bracket != expected.bracket and any(value in _SETS or value.startswith("\\{") for value in values):
            return Outcome(None, "set_or_element")
        return element(*values)

    def _several_for_one(
        self, answer: str, reference: str, found: collection.Parts, element: collection.Compare
    ) -> Outcome:
        """Several values where one is asked for: a hedge, unless they may be one value in another notation."""
        if is_prose(reference):
            return compare_text(answer, reference)
        if "=" in reference and named_value(reference) is None:
            return Outcome(None, "relation")  # the values may be the solutions of the equation
        expected = split_quantity(_without_braces(reference))
        if expected.number is not None:
            bare = split_quantity(_without_braces(answer))
            spaceless = parse_number(bare.text.replace(" ", ""))
            values = other_readings(bare.text) if spaceless is None else (*other_readings(bare.text), spaceless.value)
            if expected.number.value * expected.scale in [value * bare.scale for value in values]:
                return Outcome(None, "number_notation")
        repeated = repeated_value(found.values, [element(value, reference) for value in found.values], self.kind)
        if repeated is not None:
            return repeated
        if letters_of(answer) is not None and letters_of(reference) is not None:
            return Outcome(None, "several_letters")
        reason = parts_of_one_value(answer, reference, found.values)
        if reason is not None:
            return Outcome(None, reason)
        if any(is_prose(value) for value in found.values):
            return compare_scalar(answer, reference, self.kind, self.leaf)
        if not all(map(is_value, found.values)) and any(map(is_value, found.values)):
            return Outcome(None, "hedge_or_condition")
        return Outcome(0, "hedge")

    def _one_for_several(
        self, answer: str, reference: str, expected: collection.Parts, element: collection.Compare
    ) -> Outcome:
        """One value where several are asked for: the others may be in other boxes, or the comma in a number."""
        if self.n_boxes > 1:
            return Outcome(None, "parts_in_several_boxes")
        regrouped = collection.parts_of(answer, grouped_numbers=False)
        if regrouped is not None and len(regrouped.values) == len(expected.values):
            return self._two_collections(regrouped, expected, element)
        if self.kind not in _COLLECTIONS and _other_notation(answer, reference):
            return Outcome(None, "number_notation")
        if is_prose(answer):
            return Outcome(None, "prose_for_list")
        if letters_of(answer) is not None and all(letter_of(value) is not None for value in expected.values):
            return Outcome(None, "several_letters")
        repeated = repeated_value(expected.values, [element(answer, value) for value in expected.values], self.kind)
        if repeated is not None:
            return repeated
        if not is_value(answer) or is_range(answer) or not all(map(is_value, expected.values)):
            return Outcome(None, "one_for_several")
        return Outcome(0, "other_count")

    def _two_collections(
        self, found: collection.Parts, expected: collection.Parts, element: collection.Compare
    ) -> Outcome:
        brackets = {found.bracket, expected.bracket}
        ordered = self.kind in _ORDERED or (self.kind not in ("list", "set") and expected.bracket[:1] in ("(", "["))
        if self.kind in ("list", "set") and expected.bracket == "(" and found.bracket != "\\{":
            ordered = True
        if len(found.values) < len(expected.values) and self.n_boxes > 1:
            return Outcome(None, "parts_in_several_boxes")
        if ordered and found.bracket == "\\{" and expected.bracket != "\\{":
            as_set = collection.compare_parts(found, expected, False, element)
            return as_set if as_set.value == 0 else Outcome(None, "other_brackets")
        outcome = collection.compare_parts(found, expected, ordered, element)
        if outcome.reason == "other_count" and collection.same_if_grouped(found, expected):
            return Outcome(None, "number_notation")
        mixed = len(brackets) == 2 and ("" not in brackets or not brackets.isdisjoint(collection.HALF_OPEN))
        if outcome.value == 1 and mixed:
            return Outcome(None, "other_brackets")
        if outcome.value == 1 and not ordered and found.bracket == "(" and expected.bracket == "":
            in_order = collection.compare_parts(found, expected, True, element)
            return outcome if in_order.value == 1 else Outcome(None, "order_convention")
        return outcome


def _says_region(text: str, region: interval.Region) -> bool:
    if region.variable or len(region.pieces) > 1:
        return True
    return "\\infty" in text or text[:1] + text[-1:] in ("[)", "(]") or "\\mathbb" in text


def _other_notation(answer: str, reference: str) -> bool:
    """Whether the answer is what the reference says where its commas are read in another way: 5 lakh and 5,00,000."""
    found, written = split_quantity(answer), split_quantity(reference)
    if found.number is None:
        return False
    values = [value * written.scale for value in other_readings(written.text)]
    return found.number.value * found.scale in values or found.number.value in values


def _without_braces(text: str) -> str:
    return text.removeprefix("\\{").removesuffix("\\}").strip()
