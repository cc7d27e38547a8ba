r"""Several values: lists, sets, tuples, plus-minus, unions of intervals, matrices (policy 9, 10)."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction

from reward_workers.verifier.rules.notation.equation import named_value
from reward_workers.verifier.rules.notation.interval import INFINITY, Piece, Region
from reward_workers.verifier.rules.notation.matrix import MAX_CELLS, is_vector, shape
from reward_workers.verifier.rules.notation.number import parse_number
from reward_workers.verifier.rules.notation.split import outer_bracket, split_parts
from reward_workers.verifier.rules.outcome import Outcome, all_of

MAX_PARTS = 40
HALF_OPEN = ("(]", "[)")
_MAX_DOUBLED = 4
"""Brackets that are taken off one by one: ``((1, 2))`` is ``(1, 2)``."""

Compare = Callable[[str, str], Outcome]

_PLUS_MINUS = re.compile(r"\\pm(?![a-zA-Z])")
_NAME_PREFIX = re.compile(r"\A(?:[a-zA-Z]|\\[a-z]+)\s*(?:=|\\in(?![a-z]))\s*(?=\\\{|\\pm)")
_POINT_NAME = re.compile(r"\A([A-Za-z](?:_\{?\w\}?)?)\s*=\s*(?=[(\[])|\A([A-Z](?:_\{?\w\}?)?)\s*(?=\()")
_POINT_LETTERS = re.compile(r"\A\(\s*((?:[a-z]|\\[a-z]+)(?:\s*,\s*(?:[a-z]|\\[a-z]+))+)\s*\)\s*=\s*(?=[(\[\\])")
_LEADING_GROUP = re.compile(r"[+-]?[1-9][0-9]{0,2}")
_NEXT_GROUP = re.compile(r"[0-9]{3}")
_ELLIPSIS = re.compile(r"\\[ldc]?dots|\.\.\.|…")


@dataclass(frozen=True, slots=True)
class Parts:
    r"""Values of a collection; bracket is ``(``, ``[``, ``\{``, ``(]`` or ``[)``, or '' for a bare list."""

    values: tuple[str, ...]
    bracket: str


def parts_of(text: str, grouped_numbers: bool = True) -> Parts | None:
    """Values of canonical text; one value when it is no collection; None when brackets do not balance."""
    text = _NAME_PREFIX.sub("", text)
    bracket = outer_bracket(text)
    for _ in range(_MAX_DOUBLED):
        inner = outer_bracket(bracket[1]) if bracket is not None and bracket[0] == "(" else None
        if bracket is None or inner is None or inner[0] != "(":
            break
        text, bracket = bracket[1], inner
    inside = text if bracket is None else bracket[1]
    values = split_parts(inside, grouped_numbers and bracket is None)
    if values is None:
        return None
    if len(values) == 1 and bracket is not None and bracket[0] != "\\{":
        return Parts(_expanded([text]), "")
    if bracket is None:
        return Parts(_expanded(values), "")
    pair = bracket[0] + bracket[2]
    return Parts(_expanded(values), pair if pair in HALF_OPEN else bracket[0])


def without_point_names(answer: str, reference: str) -> tuple[str, str]:
    """Both texts without ``P =``, ``P`` or ``(x,y) =`` before a bracket, where that hides no other name or order.

    >>> without_point_names("(x,y) = (1,2)", "P(1,2)")
    ('(1,2)', '(1,2)')
    """
    names = _point_name(answer), _point_name(reference)
    if not any(names) or (names[0] and names[1] and _other_point(names[0], names[1])):
        return answer, reference
    bare = [text[len(name) :].strip() if name else text for text, name in zip((answer, reference), names, strict=True)]
    if any(
        not name.endswith("=") and outer_bracket(other) is None
        for name, other in zip(names, bare[::-1], strict=True)
        if name
    ):
        return answer, reference  # C(5,2) is a point only beside a point
    return bare[0], bare[1]


def _other_point(one: str, other: str) -> bool:
    """``A`` and ``B``, but not ``A`` and ``(x,y) =``."""
    return "(" not in one + other and one.rstrip("= ") != other.rstrip("= ")


def _point_name(text: str) -> str:
    """What stands before the bracket; '' for letters in another order than the alphabet's, which reorder the values."""
    match = _POINT_NAME.match(text)
    if match is not None and outer_bracket(text[match.end() :]) is not None:
        return match.group().rstrip()
    letters = _POINT_LETTERS.match(text)
    if letters is None:
        return ""
    names = [name.strip().lstrip("\\") for name in letters.group(1).split(",")]
    return letters.group().rstrip() if names == sorted(names) else ""


def _expanded(values: list[str]) -> tuple[str, ...]:
    r"""``a \pm b`` is two values."""
    found: list[str] = []
    for value in values:
        if len(_PLUS_MINUS.findall(value)) == 1 and "\\mp" not in value:
            found.append(_PLUS_MINUS.sub("+", value).strip().removeprefix("+").strip())
            found.append(_PLUS_MINUS.sub("-", value).strip())
        else:
            found.append(value)
    return tuple(found)


def compare_parts(answer: Parts, reference: Parts, ordered: bool, compare: Compare) -> Outcome:
    """Compare two collections: count, then values in order or by the best assignment."""
    a, r = answer.values, reference.values
    if any(_ELLIPSIS.search(value) for value in (*a, *r)):
        return Outcome(None, "ellipsis")
    if len(a) > MAX_PARTS or len(r) > MAX_PARTS:
        return Outcome(0, "other_count") if len(a) != len(r) else Outcome(None, "too_many_parts")
    if len(a) != len(r):
        repeated = not ordered and set(a) == set(r)
        return Outcome(None, "repeated_parts") if repeated else Outcome(0, "other_count")
    if ordered and _names_out_of_order(a) != _names_out_of_order(r):
        return Outcome(None, "order_convention")
    if ordered:
        return all_of([compare(x, y) for x, y in zip(a, r, strict=True)], "same_parts", "other_part")
    names = _by_name(a), _by_name(r)
    if names[0] is not None and names[1] is not None and names[0].keys() == names[1].keys():
        return _compare_named(names[0], names[1], compare)
    grid = [[compare(x, y) for y in r] for x in a]
    unordered = match_unordered(grid)
    only = names[0] or names[1]
    if unordered.value != 1 or only is None or all(names) or _numbered(only):
        return unordered
    in_order = all_of([row[index] for index, row in enumerate(grid)], "same_parts", "other_part")
    return in_order if in_order.value == 1 else Outcome(None, "order_convention")


def _compare_named(answer: dict[str, str], reference: dict[str, str], compare: Compare) -> Outcome:
    """``a = 2, b = 1`` says which is which; ``x_1 = 2, x_2 = 1`` numbers its solutions freely."""
    named = all_of([compare(answer[name], value) for name, value in reference.items()], "same_parts", "other_part")
    if named.value != 0 or not _numbered(reference):
        return named
    anyhow = match_unordered([[compare(x, y) for y in reference.values()] for x in answer.values()])
    return named if anyhow.value == 0 else Outcome(None, "numbered_names")


def _by_name(values: tuple[str, ...]) -> dict[str, str] | None:
    """{'d': ..., 'M': ...} when every value is named and every name is another one."""
    found = [named_value(value) for value in values]
    named = {pair[0]: pair[1] for pair in found if pair is not None}
    return named if len(named) == len(values) else None


def _numbered(names: dict[str, str]) -> bool:
    """One letter with several indices."""
    return len({name.partition("_")[0] for name in names}) == 1


def same_if_grouped(answer: Parts, reference: Parts) -> bool:
    """Whether both sides may have the same number of values, if ``1,234`` in brackets is one number."""
    counts = [(len(parts.values) - _groups(parts), len(parts.values)) for parts in (answer, reference)]
    return max(low for low, _ in counts) <= min(high for _, high in counts)


def _groups(parts: Parts) -> int:
    """Pairs of neighbours that may be one number with a separator."""
    pairs = zip(parts.values, parts.values[1:], strict=False)
    return sum(bool(_LEADING_GROUP.fullmatch(x) and _NEXT_GROUP.fullmatch(y)) for x, y in pairs)


def _names_out_of_order(values: tuple[str, ...]) -> bool:
    """``y = 2, x = 1``: as a tuple it may be meant in the order of the letters."""
    named = _by_name(values)
    return named is not None and list(named) != sorted(named)


def match_unordered(grid: list[list[Outcome]]) -> Outcome:
    """1 when the values pair up; 0 when they could not, even with every undecided pair equal; else unresolved."""
    if _pairs_up([[outcome.value == 1 for outcome in row] for row in grid]):
        return Outcome(1, "same_parts")
    if not _pairs_up([[outcome.value != 0 for outcome in row] for row in grid]):
        return Outcome(0, "other_part")
    undecided = [outcome for row in grid for outcome in row if outcome.value is None]
    return Outcome(None, undecided[0].reason)


def _pairs_up(allowed: list[list[bool]]) -> bool:
    """Perfect matching by augmenting paths."""
    owner: dict[int, int] = {}

    def augment(row: int, seen: set[int]) -> bool:
        for column, fits in enumerate(allowed[row]):
            if fits and column not in seen:
                seen.add(column)
                if column not in owner or augment(owner[column], seen):
                    owner[column] = row
                    return True
        return False

    return all(augment(row, set()) for row in range(len(allowed)))


def compare_matrices(
    answer: tuple[str, list[list[str]]], reference: tuple[str, list[list[str]]], compare: Compare
) -> Outcome:
    """Same kind and shape, then element by element; a transposed vector is unresolved."""
    (kind, rows), (expected_kind, expected_rows) = answer, reference
    if kind != expected_kind:
        return Outcome(None, "matrix_or_determinant")
    if shape(rows) != shape(expected_rows):
        vectors = is_vector(rows) and is_vector(expected_rows) and sum(shape(rows)) == sum(shape(expected_rows))
        return Outcome(None, "row_or_column") if vectors else Outcome(0, "other_shape")
    if sum(shape(rows)) > MAX_CELLS:
        return Outcome(None, "too_many_cells")
    cells = [
        (x, y) for row, expected in zip(rows, expected_rows, strict=True) for x, y in zip(row, expected, strict=True)
    ]
    return all_of([compare(x, y) for x, y in cells], "same_matrix", "other_element")


def compare_regions(answer: Region, reference: Region, compare: Compare) -> Outcome:
    """Unions of intervals: piece by piece in any order, else by their exact merged form."""
    if answer.variable and reference.variable and answer.variable != reference.variable:
        return Outcome(None, "other_variable")
    a, r = answer.pieces, reference.pieces
    if len(a) > MAX_PARTS or len(r) > MAX_PARTS:
        return Outcome(None, "too_many_parts")
    outcome = Outcome(None, "other_pieces")
    if len(a) == len(r):
        outcome = match_unordered([[_same_piece(x, y, compare) for y in r] for x in a])
        if outcome.value == 1 or len(a) == 1:
            return outcome
    merged = _merged(a), _merged(r)
    if merged[0] is None or merged[1] is None:
        return Outcome(None, outcome.reason)
    if merged[0] == merged[1]:
        return Outcome(None, "closed_infinity") if _closed_infinity(a + r) else Outcome(1, "same_region")
    return outcome if outcome.value is None and len(a) == len(r) else Outcome(0, "other_region")


def _same_piece(answer: Piece, reference: Piece, compare: Compare) -> Outcome:
    ends = []
    for text, expected, closed, expected_closed in (
        (answer.low, reference.low, answer.low_closed, reference.low_closed),
        (answer.high, reference.high, answer.high_closed, reference.high_closed),
    ):
        if INFINITY in text or INFINITY in expected:
            ends.append(_same_infinite_end(text == expected, closed or expected_closed))
        elif closed != expected_closed:
            ends.append(Outcome(0, "other_bracket"))
        else:
            ends.append(compare(text, expected))
    return all_of(ends, "same_interval", "other_interval")


def _same_infinite_end(same: bool, closed: bool) -> Outcome:
    """``[2, \\infty]`` holds infinity or was written carelessly."""
    if not same:
        return Outcome(0, "infinite_end")
    return Outcome(None, "closed_infinity") if closed else Outcome(1, "infinite_end")


def _closed_infinity(pieces: tuple[Piece, ...]) -> bool:
    return any(
        closed and INFINITY in text
        for piece in pieces
        for text, closed in ((piece.low, piece.low_closed), (piece.high, piece.high_closed))
    )


_End = tuple[Fraction | float, bool]


def _exact_end(text: str, closed: bool) -> _End | None:
    if text == INFINITY:
        return float("inf"), False
    if text == "-" + INFINITY:
        return float("-inf"), False
    number = parse_number(text)
    return None if number is None else (number.value, closed)


def _merged(pieces: tuple[Piece, ...]) -> list[tuple[_End, _End]] | None:
    """Disjoint sorted intervals with exact ends; None when an end is no rational number."""
    exact: list[tuple[_End, _End]] = []
    for piece in pieces:
        low, high = _exact_end(piece.low, piece.low_closed), _exact_end(piece.high, piece.high_closed)
        if low is None or high is None:
            return None
        if low[0] < high[0] or (low[0] == high[0] and low[1] and high[1]):
            exact.append((low, high))
    exact.sort(key=lambda piece: (piece[0][0], not piece[0][1]))
    merged: list[tuple[_End, _End]] = []
    for low, high in exact:
        if merged and (low[0] < merged[-1][1][0] or (low[0] == merged[-1][1][0] and (low[1] or merged[-1][1][1]))):
            last = merged[-1][1]
            merged[-1] = (merged[-1][0], max(last, high))
        else:
            merged.append((low, high))
    return merged
