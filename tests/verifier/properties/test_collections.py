"""Properties of lists, sets, tuples, hedges and matrices (policy 9)."""

from boxed import FULL_WIDTH, value
from hypothesis import assume, given
from hypothesis import strategies as st

from reward_workers.verifier import verify_rules

NUMBERS = st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True)
SEPARATORS = st.sampled_from([", ", ",", "; ", " \\text{ and } ", "、", "，", "和", ",\\ ", " or "])
BRACKETS = [("", ""), ("\\{", "\\}"), ("\\left\\{", "\\right\\}"), ("$\\{", "\\}$")]
CELLS = st.integers(1, 3).flatmap(
    lambda width: st.lists(st.lists(st.integers(-9, 9), min_size=width, max_size=width), min_size=1, max_size=3)
)


def joined(numbers: list[int], separator: str = ", ") -> str:
    return separator.join(map(str, numbers))


def matrix(rows: list[list[int]], kind: str = "p") -> str:
    body = r" \\ ".join(" & ".join(map(str, row)) for row in rows)
    return rf"\begin{{{kind}matrix}} {body} \end{{{kind}matrix}}"


@given(NUMBERS, st.integers(1, 5), SEPARATORS, st.sampled_from(BRACKETS), st.sampled_from(["list", "set"]))
def test_unordered_in_any_order_and_notation(
    numbers: list[int], turn: int, separator: str, brackets: tuple[str, str], kind: str
) -> None:
    turned = numbers[turn % len(numbers) :] + numbers[: turn % len(numbers)]
    written = f"{brackets[0]}{joined(turned, separator)}{brackets[1]}"
    assert value(written, joined(numbers), kind) == 1
    assert value(written, rf"\{{{joined(numbers)}\}}", kind) == 1
    assert value(f"x \\in \\{{{joined(turned)}\\}}", joined(numbers), kind) == 1


@given(NUMBERS, st.integers(1, 5))
def test_order_of_a_tuple_counts(numbers: list[int], turn: int) -> None:
    assume(turn % len(numbers))
    turned = numbers[turn % len(numbers) :] + numbers[: turn % len(numbers)]
    for kind in ("tuple", "ordered_list"):
        assert value(f"({joined(numbers)})", f"({joined(numbers)})", kind) == 1
        assert value(joined(numbers), f"({joined(numbers)})", kind) == 1
        assert value(f"({joined(turned)})", f"({joined(numbers)})", kind) == 0
        assert value(joined(turned), joined(numbers), kind) == 0
    assert value(f"({joined(turned)})", f"({joined(numbers)})") == 0
    assert value(f"({joined(numbers)})".translate(FULL_WIDTH), f"({joined(numbers)})", "tuple") == 1


@given(NUMBERS, st.integers(1000, 9999), st.sampled_from(["list", "set", "ordered_list", "tuple"]))
def test_missing_added_or_other_part_is_wrong(numbers: list[int], other: int, kind: str) -> None:
    reference = joined(numbers)
    assert value(joined(numbers[:-1]), reference, kind) == 0
    assert value(joined([*numbers[:-1], other], "; "), reference, kind) == 0
    assert value(joined([*numbers, other], "; "), reference, kind) == 0


@given(st.lists(st.tuples(st.integers(-9, 9), st.integers(-9, 9)), min_size=2, max_size=4, unique=True))
def test_list_of_points(points: list[tuple[int, int]]) -> None:
    """The points in any order, each with its own order."""
    reference = ", ".join(f"({x}, {y})" for x, y in points)
    assert value(", ".join(f"({x},{y})" for x, y in points[::-1]), reference, "list") == 1
    assert value(rf"\{{{reference}\}}", reference, "list") == 1
    swapped = [(y, x) for x, y in points]
    assume(sorted(swapped) != sorted(points))
    assert value(", ".join(f"({x},{y})" for x, y in swapped), reference, "list") == 0


@given(
    st.integers(-(10**9), 10**9),
    st.integers(-(10**9), 10**9),
    st.sampled_from(
        ["%s \\text{ or } %s", "%s or %s", "%s, %s", "%s; %s", "%s 或 %s", "\\{%s, %s\\}", "x=%s \\text{ or } x=%s"]
    ),
)
def test_hedge_is_wrong(one: int, other: int, form: str) -> None:
    assume(one != other and len(str(abs(other))) != 3)
    assert value(form % (one, other), str(one), "integer") == 0
    assume(len(str(abs(one))) != 3)
    assert value(form % (other, one), str(one), "integer") == 0


@given(st.integers(1, 999))
def test_plus_minus_is_two_values(number: int) -> None:
    for reference in (rf"\pm {number}", f"{number}, -{number}", rf"\{{-{number}, {number}\}}"):
        assert value(rf"x = \pm {number}", reference, "set") == 1
        assert value(rf"-{number} \text{{ and }} {number}", reference, "set") == 1
        assert value(str(number), reference, "set") == 0
        assert value(f"-{number}", reference, "set") == 0
    assert value(rf"\pm {number}", str(number), "integer") == 0


@given(NUMBERS)
def test_parts_in_several_boxes_are_left_open(numbers: list[int]) -> None:
    response = " ".join(rf"$x = \boxed{{{number}}}$" for number in numbers)
    for reference, kind in ((joined(numbers), "list"), (f"({joined(numbers)})", "tuple")):
        verdict = verify_rules(response, reference, kind)
        assert (verdict.value, verdict.reason) == (None, "parts_in_several_boxes")


@given(st.dictionaries(st.sampled_from("abmnxyz"), st.integers(-99, 99), min_size=2, max_size=4))
def test_named_values_keep_their_names(named: dict[str, int]) -> None:
    written = [f"{name} = {number}" for name, number in named.items()]
    assert value(", ".join(written[::-1]), ", ".join(written), "list") == 1
    changed = [f"{name} = {number + 1}" for name, number in named.items()]
    assert value(", ".join(changed), ", ".join(written), "list") == 0
    assert (
        value(joined([*named.values()][::-1]), ", ".join(written), "list") != 1
        or [*named.values()] == [*named.values()][::-1]
    )


@given(CELLS, st.data())
def test_matrix_by_its_elements(rows: list[list[int]], data: st.DataObject) -> None:
    row = data.draw(st.integers(0, len(rows) - 1))
    column = data.draw(st.integers(0, len(rows[0]) - 1))
    assert value(matrix(rows, "b"), matrix(rows), "matrix") == 1
    changed = [list(cells) for cells in rows]
    changed[row][column] += 1
    assert value(matrix(changed), matrix(rows), "matrix") == 0
    if len(rows) > 1 and len(rows[0]) > 1:
        assert value(matrix(rows[:-1]), matrix(rows), "matrix") == 0
