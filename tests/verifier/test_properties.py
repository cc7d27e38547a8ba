"""Properties of the rules over generated answers (policy 3 to 11)."""

from fractions import Fraction

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from reward_workers.verifier import verify_rules
from reward_workers.verifier.expression import NotAnExpression, parse
from reward_workers.verifier.guard import blocked
from reward_workers.verifier.normalize import canonical
from reward_workers.verifier.split import split_parts, split_top

INTEGERS = st.integers(-(10**15), 10**15)
WRAPPERS = [
    "%s",
    "$%s$",
    "\\text{%s}",
    "\\mathbf{%s}",
    "%s.",
    "\\(%s\\)",
    " %s ",
    "**%s**",
    "\\boxed{%s}",
    "x = %s",
    "%s\\,",
]
LETTERS = st.sampled_from("ABCD")


def value(answer: str, reference: str, answer_type: str | None = None) -> int | None:
    return verify_rules(f"So \\boxed{{{answer}}}", reference, answer_type).value


@given(INTEGERS, st.sampled_from(WRAPPERS))
def test_integer_equals_itself_in_every_wrapper(number: int, wrapper: str) -> None:
    assert value(wrapper % number, str(number), "integer") == 1
    assert value(wrapper % f"{number:,}", str(number), "integer") == 1


@given(INTEGERS, INTEGERS, st.sampled_from(WRAPPERS))
def test_other_integer_is_wrong(number: int, other: int, wrapper: str) -> None:
    assume(number != other)
    assert value(wrapper % number, str(other), "integer") == 0


@given(st.fractions(max_denominator=500), st.integers(1, 9))
def test_fraction_equals_its_multiples(fraction: Fraction, factor: int) -> None:
    top, bottom = fraction.numerator * factor, fraction.denominator * factor
    assert value(rf"\frac{{{top}}}{{{bottom}}}", f"{fraction.numerator}/{fraction.denominator}", "fraction") == 1


@given(st.fractions(max_denominator=10**30), st.fractions(max_denominator=10**30))
def test_different_fractions_are_never_equal(one: Fraction, other: Fraction) -> None:
    assume(one != other)
    texts = [rf"\frac{{{fraction.numerator}}}{{{fraction.denominator}}}" for fraction in (one, other)]
    assert value(texts[0], texts[1], "fraction") != 1


@given(st.integers(-(10**6), 10**6), st.integers(1, 5), st.integers(-49, 49))
def test_answer_that_rounds_to_the_reference_is_right(units: int, decimals: int, beyond: int) -> None:
    """Both numbers are built from integers: the reference in the last place, the answer two places further."""
    assume(units * beyond >= 0 and units != 0)
    reference = Fraction(units, 10**decimals)
    answer = Fraction(units * 100 + beyond, 10 ** (decimals + 2))
    written = f"{float(reference):.{decimals}f}"
    assume(Fraction(written) == reference)
    assert value(rf"\frac{{{answer.numerator}}}{{{answer.denominator}}}", written, "decimal") == 1


@given(st.integers(1, 10**6), st.integers(1, 5), st.integers(51, 99))
def test_answer_that_rounds_elsewhere_is_wrong(units: int, decimals: int, beyond: int) -> None:
    answer = Fraction(units * 100 + beyond, 10 ** (decimals + 2))
    written = f"{units // 10**decimals}.{units % 10**decimals:0{decimals}d}"
    assert value(rf"\frac{{{answer.numerator}}}{{{answer.denominator}}}", written, "decimal") != 1


@given(st.integers(1, 10**6))
def test_hundredfold_needs_a_percent_sign(number: int) -> None:
    assert value(f"{number}", f"{number * 100}", "integer") == 0
    assert value(rf"{number}\%", f"{number}", "percent") == 1
    assert value(f"{number / 100:.2f}", rf"{number}\%", "percent") == 1


@given(st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True), st.randoms(use_true_random=False))
def test_permuted_set_is_equal_and_permuted_tuple_is_not(numbers: list[int], random: object) -> None:
    shuffled = numbers[1:] + numbers[:1]
    reference, answer = ", ".join(map(str, numbers)), ", ".join(map(str, shuffled))
    assert value(rf"\{{{answer}\}}", rf"\{{{reference}\}}", "set") == 1
    assert value(answer, reference, "list") == 1
    assert value(f"({answer})", f"({reference})", "tuple") == 0
    assert value(answer, reference, "ordered_list") == 0


@given(st.lists(st.integers(-99, 99), min_size=2, max_size=6, unique=True))
def test_missing_or_added_part_is_wrong(numbers: list[int]) -> None:
    reference = ", ".join(map(str, numbers))
    assert value(", ".join(map(str, numbers[:-1])), reference, "list") == 0
    assert value(", ".join(map(str, [*numbers, 1000])), reference, "list") == 0


@given(INTEGERS, INTEGERS)
def test_hedge_is_wrong(one: int, other: int) -> None:
    assume(one != other)
    assert value(rf"{one} \text{{ or }} {other}", str(one), "integer") == 0


@given(LETTERS, LETTERS, st.sampled_from(["%s", "(%s)", "%s.", "\\text{(%s)}", "(%s) 12 cm", "%s: blue", "Option %s"]))
def test_choice_letter(letter: str, reference: str, form: str) -> None:
    assert value(form % letter, reference, "choice") == int(letter == reference)


@given(st.integers(-(10**4), 10**4), st.integers(-(10**4), 10**4))
def test_chart_tolerance_is_relative_to_the_reference(answer: int, reference: int) -> None:
    expected = int(20 * abs(answer - reference) <= abs(reference))
    assert value(str(answer), str(reference), "chart_numeric") == expected


@given(st.sampled_from("(["), st.sampled_from(")]"), st.sampled_from("(["), st.sampled_from(")]"))
def test_bracket_kinds_matter(left: str, right: str, expected_left: str, expected_right: str) -> None:
    same = (left, right) == (expected_left, expected_right)
    assert value(f"{left}0, 1{right}", f"{expected_left}0,1{expected_right}", "interval") == int(same)


@given(
    st.text(alphabet="\\{}()[]^_+-*/!%,;.$ 0123456789abxE= \\frac\\sqrt\\text", max_size=60),
    st.sampled_from([None, "text", "list"]),
)
def test_any_answer_gets_a_verdict(answer: str, answer_type: str | None) -> None:
    assert verify_rules(f"\\boxed{{{answer}}}", "37", answer_type).value in (0, 1, None)


@given(st.text(max_size=80), st.text(min_size=1, max_size=80))
def test_any_unicode_gets_a_verdict(answer: str, reference: str) -> None:
    assert verify_rules(f"\\boxed{{{answer}}}", reference).value in (0, 1, None)


@given(st.text(max_size=200))
def test_splitter_and_normaliser_take_anything(text: str) -> None:
    parts = split_parts(canonical(text))
    assert parts is None or all(isinstance(part, str) for part in parts)
    assert split_top(text, ",") is None or "".join(split_top(text, ",") or []) is not None


@given(st.text(alphabet="0123456789^{}()!+-*/.xy\\frac", max_size=200))
def test_parser_rejects_by_its_own_error_only(text: str) -> None:
    try:
        parse(text)
    except NotAnExpression:
        assert blocked(text) == "not_an_expression"


@pytest.mark.parametrize(
    "code", ["__import__('os').system('touch {}')", "open('{}','w')", "().__class__.__init__('{}')"]
)
def test_answer_is_never_run(code: str, tmp_path) -> None:  # type: ignore[no-untyped-def]
    marker = tmp_path / "marker"
    assert value(code.format(marker), "42", "integer") != 1
    assert value(code.format(marker), "x+1", "expression") != 1
    assert not marker.exists()
