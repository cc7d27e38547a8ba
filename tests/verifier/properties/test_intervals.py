"""Properties of intervals and equations that need no symbolic stage (policy 10)."""

from boxed import FULL_WIDTH, value
from hypothesis import assume, given
from hypothesis import strategies as st

LEFT, RIGHT = st.sampled_from("(["), st.sampled_from(")]")
ENDS = st.lists(st.integers(-99, 99), min_size=2, max_size=2, unique=True).map(sorted)
UNIONS = st.lists(st.integers(-99, 99), min_size=4, max_size=6, unique=True).map(sorted)
RELATION = {"(": "<", "[": "\\le", ")": "<", "]": "\\le"}
TURNED = {"(": ">", "[": "\\ge"}


@given(ENDS, LEFT, RIGHT, LEFT, RIGHT)
def test_bracket_kinds_matter(ends: list[int], left: str, right: str, other_left: str, other_right: str) -> None:
    low, high = ends
    reference = f"{other_left}{low},{high}{other_right}"
    same = int((left, right) == (other_left, other_right))
    assert value(f"\\left{left}{low}, {high}\\right{right}", reference, "interval") == same
    assert value(f"{left}{low}, {high}{right}".translate(FULL_WIDTH), reference, "interval") == same


@given(ENDS, LEFT, RIGHT, st.sampled_from("xtm"))
def test_inequality_and_membership_are_the_interval(ends: list[int], left: str, right: str, name: str) -> None:
    low, high = ends
    interval = f"{left}{low}, {high}{right}"
    inequality = f"{low} {RELATION[left]} {name} {RELATION[right]} {high}"
    for written in (inequality, f"{name} \\in {interval}", rf"\{{{name} \mid {inequality}\}}"):
        assert value(written, interval, "interval") == 1
        assert value(interval, written, "interval") == 1
        assert value(written, f"{left}{low}, {high + 1}{right}", "interval") == 0
        assert value(written, f"{'[' if left == '(' else '('}{low}, {high}{right}", "interval") == 0


@given(st.integers(-99, 99), LEFT, st.sampled_from(["\\infty", "+\\infty", "∞", "infinity"]))
def test_half_line(bound: int, left: str, infinity: str) -> None:
    reference = f"{left}{bound}, \\infty)"
    assert value(f"{left}{bound}, {infinity})", reference, "interval") == 1
    assert value(f"x {TURNED[left]} {bound}", reference, "interval") == 1
    assert value(f"{bound} {RELATION[left]} x", reference, "interval") == 1
    assert value(f"x {RELATION[left]} {bound}", reference, "interval") == 0
    assert value(f"x {TURNED['(' if left == '[' else '[']} {bound}", reference, "interval") == 0
    assert value(f"{left}{bound}, {infinity}]", reference, "interval") is None


@given(UNIONS)
def test_union_in_any_order(ends: list[int]) -> None:
    pieces = [f"({low},{high})" for low, high in zip(ends[::2], ends[1::2], strict=False)]
    union = " \\cup ".join(pieces)
    assert value(" ∪ ".join(pieces[::-1]), union, "interval") == 1
    assert value(" \\cup ".join(pieces[:-1]), union, "interval") == 0
    assert value(f"({ends[0]},{ends[2 * len(pieces) - 1]})", union, "interval") == 0


@given(ENDS, st.data())
def test_a_hole_counts_and_a_seam_does_not(ends: list[int], data: st.DataObject) -> None:
    low, high = ends
    assume(high - low > 1)
    middle = data.draw(st.integers(low + 1, high - 1))
    assert value(f"({low},{middle})\\cup({middle},{high})", f"({low},{high})", "interval") == 0
    assert value(f"({low},{middle}]\\cup({middle},{high})", f"({low},{high})", "interval") == 1
    assert value(f"x \\ne {middle}", f"(-\\infty,{middle})\\cup({middle},\\infty)", "interval") == 1
    assert value("\\mathbb{R}", f"(-\\infty,{middle})\\cup({middle},\\infty)", "interval") == 0


@given(st.integers(-(10**6), 10**6), st.integers(-(10**6), 10**6), st.sampled_from("xynab"))
def test_named_value_is_its_value(number: int, other: int, name: str) -> None:
    assume(number != other)
    for written in (f"{name}={number}", f"{name} = {number}"):
        assert value(written, str(number), "equation") == 1
        assert value(str(number), written, "equation") == 1
        assert value(written, f"{name} = {other}", "equation") == 0
        assert value(str(other), written, "equation") == 0


@given(st.integers(-99, 99), st.integers(2, 99))
def test_relation_is_no_number(number: int, factor: int) -> None:
    for relation in ("<", ">", "\\le", "\\ge", "\\ne"):
        assert value(f"x {relation} {number}", str(number), "integer") != 1
        assert value(str(number), f"x {relation} {number}", "interval") != 1
    assert value(f"{factor}x = {factor * number}", str(number), "integer") != 0
