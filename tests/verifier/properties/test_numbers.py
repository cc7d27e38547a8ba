"""Properties of numbers and percentages (policy 3, 4)."""

from decimal import Decimal
from fractions import Fraction

from boxed import FULL_WIDTH, WRAPPERS, value
from hypothesis import assume, given
from hypothesis import strategies as st

INTEGERS = st.integers(-(10**15), 10**15)
FRACTIONS = st.fractions(-(10**6), 10**6, max_denominator=10**9)
DECIMALS = st.tuples(st.integers(1, 10**9), st.integers(1, 6), st.booleans()).map(
    lambda row: Decimal(-row[0] if row[2] else row[0]).scaleb(-row[1])
)


def latex(fraction: Fraction) -> str:
    return rf"\frac{{{fraction.numerator}}}{{{fraction.denominator}}}"


@given(INTEGERS, st.sampled_from(WRAPPERS))
def test_integer_equals_itself_in_every_wrapper(number: int, wrapper: str) -> None:
    for written in (f"{number}", f"{number:,}", f"{number}.0", f"{number:,}".replace(",", "{,}"), f"x = {number}"):
        assert value(wrapper % written, str(number), "integer") == 1


@given(INTEGERS)
def test_integer_equals_itself_in_every_notation(number: int) -> None:
    """Full width, typographic minus, leading zeros, thin spaces, and an unevaluated product."""
    sign, digits = ("-" if number < 0 else ""), str(abs(number))
    for written in (
        str(number).translate(FULL_WIDTH), str(number).replace("-", "\u2212"), f"{sign}00{digits}",
        f"{number:,}".replace(",", "\\,"), rf"{number} \times 1", rf"\frac{{{2 * number}}}{{2}}", f"({number})",
    ):  # fmt: skip
        assert value(written, str(number), "integer") == 1, written


@given(INTEGERS, INTEGERS, st.sampled_from(WRAPPERS))
def test_other_integer_is_wrong(number: int, other: int, wrapper: str) -> None:
    assume(number != other)
    for reference in (f"{other}", f"{other:,}", f"{other}.0"):
        assert value(wrapper % number, reference, "integer") != 1
    assert value(wrapper % number, str(other), "integer") == 0


@given(st.integers(10**20, 10**60), st.integers(1, 9))
def test_last_digit_of_a_long_integer_counts(number: int, step: int) -> None:
    assert value(str(number + step), str(number), "integer") == 0


@given(FRACTIONS, st.integers(1, 9))
def test_fraction_equals_its_multiples(fraction: Fraction, factor: int) -> None:
    top, bottom = fraction.numerator * factor, fraction.denominator * factor
    for written in (rf"\frac{{{top}}}{{{bottom}}}", rf"\dfrac{{{top}}}{{{bottom}}}", f"{top}/{bottom}"):
        assert value(written, f"{fraction.numerator}/{fraction.denominator}", "fraction") == 1


@given(st.fractions(max_denominator=10**30), st.fractions(max_denominator=10**30))
def test_different_fractions_are_never_equal(one: Fraction, other: Fraction) -> None:
    """Where one is an integer near the other, it may be a rounding, which is left open."""
    assume(one != other)
    found = value(latex(one), latex(other), "fraction")
    assert found == 0 if one.denominator > 1 else found != 1


@given(st.integers(1, 999), st.integers(1, 99), st.integers(2, 100), st.booleans())
def test_mixed_number_is_a_sum(whole: int, top: int, bottom: int, negative: bool) -> None:
    assume(top < bottom)
    total, sign = whole + Fraction(top, bottom), "-" if negative else ""
    reference = latex(-total if negative else total)
    assert value(rf"{sign}{whole}\frac{{{top}}}{{{bottom}}}", reference, "fraction") == 1
    assert value(f"{sign}{whole} {top}/{bottom}", reference, "fraction") == 1
    product = latex(whole * Fraction(top, bottom))
    assert value(rf"{whole}\frac{{{top}}}{{{bottom}}}", product, "fraction") != 1


@given(DECIMALS, st.integers(1, 5))
def test_trailing_zeros_do_not_matter(number: Decimal, zeros: int) -> None:
    assert value(f"{number:f}" + "0" * zeros, f"{number:f}", "decimal") == 1
    assert value(f"{number:f}", f"{number:f}" + "0" * zeros, "decimal") == 1


@given(DECIMALS, st.integers(-49, 49))
def test_answer_that_rounds_to_the_reference_is_right(reference: Decimal, beyond: int) -> None:
    """The answer lies less than half a unit of the reference's last place away."""
    last_place = Fraction(10) ** int(reference.as_tuple().exponent)
    answer = Fraction(reference) + beyond * last_place / 100
    assert value(latex(answer), f"{reference:f}", "decimal") == 1


@given(DECIMALS, st.integers(51, 10_000), st.booleans())
def test_answer_that_rounds_elsewhere_is_wrong(reference: Decimal, beyond: int, below: bool) -> None:
    last_place = Fraction(10) ** int(reference.as_tuple().exponent)
    answer = Fraction(reference) + (-beyond if below else beyond) * last_place / 100
    assert value(latex(answer), f"{reference:f}", "decimal") != 1


@given(DECIMALS, st.integers(1, 5))
def test_coarser_rounding_is_left_open(reference: Decimal, fewer: int) -> None:
    """One decimal at least and one digit at least are kept, so that the answer is a rounding and another number."""
    decimals = -int(reference.as_tuple().exponent) - fewer
    assume(decimals >= 1)
    answer = round(reference, decimals)
    assume(answer != reference and answer != 0)
    assert value(f"{answer:f}", f"{reference:f}", "decimal") is None


@given(st.integers(1, 9999), st.integers(-12, 12))
def test_scientific_notation_is_exact(mantissa: int, exponent: int) -> None:
    number = latex(Fraction(mantissa) * Fraction(10) ** exponent)
    for written in (
        rf"{mantissa} \times 10^{{{exponent}}}",
        f"{mantissa}e{exponent}",
        rf"{mantissa}\cdot 10^{{{exponent}}}",
    ):
        assert value(written, number, "decimal") == 1
    assert value(rf"{mantissa} \times 10^{{{exponent + 1}}}", number, "decimal") == 0


@given(st.integers(1, 999), st.integers(1, 4))
def test_repeating_decimal_is_its_fraction(cycle: int, length: int) -> None:
    assume(cycle < 10**length)
    written = rf"0.\overline{{{cycle:0{length}d}}}"
    assert value(written, latex(Fraction(cycle, 10**length - 1)), "fraction") == 1
    assert value(f"0.{cycle:0{length}d}", latex(Fraction(cycle, 10**length - 1)), "fraction") != 1


@given(st.integers(1, 10**6))
def test_hundredfold_needs_a_percent_sign(number: int) -> None:
    """Rule 4."""
    assert value(f"{number}", f"{number * 100}", "integer") == 0
    assert value(f"{number * 100}", f"{number}", "percent") == 0
    assert value(rf"{number}\%", f"{number}", "percent") == 1
    assert value(f"{number}", f"{number}%", "percent") == 1
    assert value(f"{number / 100:.2f}", rf"{number}\%", "percent") == 1
    assert value(rf"{number}\%", f"{number / 100:.2f}", "decimal") == 1


@given(st.integers(1, 10**6), st.integers(1, 10**6), st.sampled_from([r"\%", "%", " percent", "％"]))
def test_percentages_with_other_numbers_are_wrong(one: int, other: int, sign: str) -> None:
    """Rule 4: both sides have a sign, so factors of 100 matter too."""
    assume(one != other)
    assert value(f"{one}{sign}", f"{other}%", "percent") == 0
    assert value(f"{one}{sign}", f"{one}%", "percent") == 1
