"""Properties of units, money, angles, times, dates and ratios (policy 5, 6)."""

from datetime import date
from fractions import Fraction
from math import gcd

from boxed import FULL_WIDTH, value
from hypothesis import assume, given
from hypothesis import strategies as st

from reward_workers.verifier.rules.notation.unit_table import CURRENCY_SIGNS, UNITS
from reward_workers.verifier.rules.notation.units import is_count

NUMBERS = st.integers(1, 10**6)
MEASURES = sorted(
    spelling
    for spelling, (symbol, dimension, _) in UNITS.items()
    if dimension not in ("money", "percent", "angle", "temperature") and not is_count(((symbol, 1),))
)
SCALES = [
    ("mm", "cm"), ("cm", "m"), ("m", "km"), ("g", "kg"), ("mg", "g"), ("mL", "L"), ("s", "min"), ("min", "hours"),
    ("W", "kW"), ("Pa", "kPa"), ("Hz", "MHz"), ("cm^2", "m^2"), ("cubic centimeters", "m^3"), ("km/h", "m/s"),
    ("feet", "inches"), ("厘米", "米"), ("pounds", "ounces"),
]  # fmt: skip
"""Two units of one dimension."""
DIMENSIONS = [
    ("m", "kg"),
    ("m", "s"),
    ("m", "m^2"),
    ("kg", "L"),
    ("m/s", "m/s^2"),
    ("J", "W"),
    ("V", "A"),
    ("米", "千克"),
]
CURRENCIES = [("\\$%s", "€%s"), ("€%s", "£%s"), ("%s dollars", "%s euros"), ("%s元", "\\$%s"), ("₹%s", "%s yen")]
RADIANS = st.integers(1, 12).flatmap(lambda bottom: st.tuples(st.integers(1, 24), st.just(bottom)))
CLOCKS = st.tuples(st.integers(1, 12), st.integers(0, 59), st.sampled_from(["", " AM", " PM"]))
DATES = st.dates(date(1800, 1, 1), date(2100, 12, 31))
NUMBER_WORDS = ["zero", "one", "two", "three", "seven", "ten", "twelve", "twenty", "ninety", "hundred", "half", "third"]
TERMS = st.lists(st.integers(1, 500), min_size=2, max_size=4)


@given(
    NUMBERS,
    st.sampled_from(MEASURES),
    st.sampled_from(["%s %s", "%s\\text{ %s}", "%s\\,\\mathrm{%s}", "%s~\\text{%s}"]),
)
def test_unit_on_one_side_is_dropped(number: int, unit: str, form: str) -> None:
    """Rule 5."""
    written = form % (number, unit)
    assert value(written, str(number), "unit") == 1
    assert value(str(number), written, "unit") == 1
    assert value(written, str(number + 1), "unit") == 0
    assert value(str(number + 1), written, "unit") == 0


@given(NUMBERS, st.sampled_from(MEASURES))
def test_quantity_equals_itself_only(number: int, unit: str) -> None:
    """Rule 5."""
    assert value(f"{number}\\text{{ {unit}}}", f"{number} {unit}", "unit") == 1
    assert value(f"{number + 1}\\text{{ {unit}}}", f"{number} {unit}", "unit") == 0


@given(NUMBERS, st.sampled_from(SCALES), st.booleans())
def test_same_number_in_another_scale_is_wrong(number: int, pair: tuple[str, str], turned: bool) -> None:
    """Rule 5; any other number may be the result of a conversion and is left open."""
    one, other = pair[::-1] if turned else pair
    assert value(f"{number} {one}", f"{number} {other}", "unit") == 0
    assert value(f"{number + 1} {one}", f"{number} {other}", "unit") is None


@given(NUMBERS, NUMBERS, st.sampled_from(DIMENSIONS), st.booleans())
def test_other_dimension_is_left_open(one: int, other: int, pair: tuple[str, str], turned: bool) -> None:
    """Rule 5."""
    units = pair[::-1] if turned else pair
    assert value(f"{one} {units[0]}", f"{other} {units[1]}", "unit") is None


@given(st.integers(1, 10**6), st.sampled_from(CURRENCIES), st.booleans())
def test_same_amount_in_another_currency_is_wrong(amount: int, pair: tuple[str, str], turned: bool) -> None:
    """Rule 5."""
    one, other = pair[::-1] if turned else pair
    assert value(one % amount, other % amount, "currency") == 0
    assert value(one % amount, one % amount, "currency") == 1
    assert value(one % amount, str(amount), "currency") == 1


@given(st.integers(0, 10**6), st.integers(0, 99), st.sampled_from(sorted(CURRENCY_SIGNS)))
def test_money_is_exact_to_the_cent(whole: int, cents: int, sign: str) -> None:
    """Rule 3 and 5: amounts are never rounded."""
    reference = f"{sign}{whole:,}.{cents:02d}"
    assert value(f"\\text{{{sign}{whole}.{cents:02d}}}", reference, "currency") == 1
    assert value(f"{sign}{whole}.{(cents + 1) % 100:02d}", reference, "currency") == 0
    assert value(f"{sign}{whole}.{cents:02d}4", reference, "currency") != 1


@given(NUMBERS, st.sampled_from(["million", "billion", "thousand", "k", "dozen", "万", "亿"]))
def test_scale_word_on_one_side_is_left_open(number: int, word: str) -> None:
    """Rule 6: whether it belongs to the answer is the question's business; it never vanishes."""
    assert value(f"{number} {word}", str(number), "decimal") is None
    assert value(str(number), f"{number} {word}", "decimal") is None


@given(
    st.integers(-360, 720),
    st.sampled_from(["%s^\\circ", "%s^{\\circ}", "%s°", "%s\\text{ degrees}", "%s度", "%s\\degree"]),
)
def test_degree_mark_may_be_dropped(angle: int, form: str) -> None:
    """Rule 6."""
    assert value(form % angle, str(angle), "angle") == 1
    assert value(str(angle), form % angle, "angle") == 1
    assert value(form % angle, f"{angle}^\\circ", "angle") == 1
    assert value(form % (angle + 1), f"{angle}^\\circ", "angle") == 0


@given(RADIANS)
def test_degrees_against_radians_are_left_open(fraction: tuple[int, int]) -> None:
    """Rule 6."""
    top, bottom = fraction
    radians, degrees = rf"\frac{{{top}\pi}}{{{bottom}}}", Fraction(180 * top, bottom)
    assume(degrees.denominator == 1)
    assert value(radians, f"{degrees}^\\circ", "angle") is None
    assert value(f"{degrees}^\\circ", radians, "angle") is None


@given(st.integers(2, 10**6))
def test_bare_logarithm_against_ln_is_left_open(number: int) -> None:
    """Rule 6."""
    assert value(rf"\log {number}", rf"\ln {number}", "expression") is None
    assert value(rf"\ln {number}", rf"\log {number}", "expression") is None


@given(st.integers(2, 99), st.integers(2, 9), st.sampled_from("CK"))
def test_lost_constant_of_integration_is_left_open(factor: int, power: int, constant: str) -> None:
    """Rule 6."""
    bare = f"{factor}x^{power}"
    assert value(bare, f"{bare}+{constant}", "expression") is None
    assert value(f"{bare}+{constant}", bare, "expression") is None
    assert value(f"{bare} + {constant}", f"{bare}+{constant}", "expression") == 1


@given(CLOCKS, CLOCKS)
def test_times_are_equal_or_not(one: tuple[int, int, str], other: tuple[int, int, str]) -> None:
    """A half of the day on one side only is left open where the clocks show the same."""
    answer, reference = (f"{hour}:{minute:02d}{half}" for hour, minute, half in (one, other))
    expected = int(one == other)
    if one[:2] == other[:2] and one[2] != other[2] and "" in (one[2], other[2]):
        assert value(answer, reference, "time") is None
    else:
        assert value(answer, reference, "time") == expected


@given(CLOCKS, st.sampled_from([" a.m.", " p.m.", "am", "PM"]))
def test_spelling_of_the_half_of_the_day_does_not_matter(clock: tuple[int, int, str], half: str) -> None:
    hour, minute, _ = clock
    written = f"{hour}:{minute:02d}"
    assert value(written + half, f"{written} {half.strip().replace('.', '').upper()}", "time") == 1
    assert value(f"{hour}\\!:\\!{minute:02d}", written, "time") == 1


@given(DATES, DATES)
def test_same_day_in_one_format_is_right_and_another_day_wrong(one: date, other: date) -> None:
    """Rule 6: the same day in two formats is left open."""
    assume(one != other)
    for form in ("%Y-%m-%d", "%B %d, %Y", "%d %B %Y", "%Y年%m月%d日"):
        assert value(one.strftime(form), one.strftime(form), "date") == 1
        assert value(other.strftime(form), one.strftime(form), "date") == 0
    assert value(one.strftime("%B %d, %Y"), one.isoformat(), "date") is None
    assert value(one.strftime("%d/%m/%Y"), one.isoformat(), "date") is None


@given(TERMS, st.integers(2, 9))
def test_ratio_by_its_terms(terms: list[int], factor: int) -> None:
    """Rule 6: another form of the same ratio is left open, another ratio is wrong."""
    reference = ":".join(map(str, terms))
    assert value(" : ".join(map(str, terms)), reference, "ratio") == 1
    assert value(reference.translate(FULL_WIDTH), reference, "ratio") == 1
    assert value(":".join(str(term * factor) for term in terms), reference, "ratio") is None
    assert value(":".join(map(str, [terms[0] + gcd(*terms), *terms[1:]])), reference, "ratio") == 0
    assert value(":".join(map(str, [*terms, 1])), reference, "ratio") == 0
    if len(terms) == 2:
        assert value(rf"\frac{{{terms[0]}}}{{{terms[1]}}}", reference, "ratio") is None


@given(
    st.sampled_from(NUMBER_WORDS),
    st.integers(0, 200),
)
def test_number_word_is_left_open(word: str, number: int) -> None:
    """Rule 6."""
    assert value(f"\\text{{{word}}}", str(number), "integer") is None


@given(st.sampled_from("零一二三四五六七八九十百千两半"), st.sampled_from("一二三四五六七八九十"), st.integers(0, 200))
def test_chinese_number_word_is_left_open(one: str, other: str, number: int) -> None:
    """Rule 6."""
    assert value(one + other, str(number), "integer") is None
