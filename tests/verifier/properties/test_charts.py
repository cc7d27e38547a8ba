"""Properties of readings from charts and of years (policy 11)."""

from decimal import Decimal

from boxed import WRAPPERS, value
from hypothesis import assume, given
from hypothesis import strategies as st

READINGS = st.tuples(st.integers(-(10**6), 10**6), st.integers(0, 2)).map(lambda row: Decimal(row[0]).scaleb(-row[1]))
YEARS = st.integers(1000, 2999)


@given(READINGS, READINGS, st.sampled_from(["%s", "%s million", "%s\\%%", "\\$%s", "%s cm"]))
def test_tolerance_is_relative_to_the_reference(answer: Decimal, reference: Decimal, form: str) -> None:
    expected = int(abs(answer - reference) * 20 <= abs(reference))
    assert value(form % f"{answer:f}", form % f"{reference:f}", "chart_numeric") == expected


@given(st.integers(1, 10**9), st.integers(0, 10**6), st.booleans(), st.booleans())
def test_bound_is_five_percent_on_both_sides(reference: int, more: int, below: bool, negative: bool) -> None:
    """The reference is 20 times a whole number, so that the bound is a whole number."""
    sign = -1 if negative else 1
    expected = sign * 20 * reference
    inside = sign * (20 * reference - reference if below else 20 * reference + reference)
    outside = inside + (-1 if below != negative else 1) * (more + 1)
    assert value(str(inside), str(expected), "chart_numeric") == 1
    assert value(f"{inside:,}.0", str(expected), "chart_numeric") == 1
    assert value(str(outside), str(expected), "chart_numeric") == 0
    assert value(f"{outside:,}", f"{expected:,}", "chart_numeric") == 0


@given(st.integers(1, 10**6))
def test_the_denominator_is_the_reference(number: int) -> None:
    """100 against 95 lies 5 % of the answer away and more than 5 % of the reference."""
    assert value(str(100 * number), str(95 * number), "chart_numeric") == 0
    assert value(str(95 * number), str(100 * number), "chart_numeric") == 1


@given(READINGS, st.sampled_from(["0", "0.0", "0%"]))
def test_zero_needs_zero(answer: Decimal, reference: str) -> None:
    assert value(f"{answer:f}", reference, "chart_numeric") == int(answer == 0)


@given(st.integers(-99, 99), st.integers(-99, 99), st.integers(0, 2))
def test_two_readings_are_a_hedge(one: int, other: int, decimals: int) -> None:
    assume(one != other)
    first, second = (f"{Decimal(number).scaleb(-decimals):f}" for number in (one, other))
    assert value(f"{first} or {second}", first, "chart_numeric") == 0


@given(YEARS, YEARS, st.sampled_from(WRAPPERS))
def test_years_are_exact(year: int, other: int, wrapper: str) -> None:
    assert value(wrapper % year, str(year), "year") == 1
    assert value(f"{year}年", str(year), "year") == 1
    assert value(wrapper % other, str(year), "year") == int(year == other)
    assert value(f"{year} or {year + 1}", str(year), "year") == 0
