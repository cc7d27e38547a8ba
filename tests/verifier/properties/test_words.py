"""Properties of choices, yes and no, and text (policy 7, 8, 12)."""

from collections.abc import Sequence

from boxed import FULL_WIDTH, value
from hypothesis import assume, given
from hypothesis import strategies as st

LETTERS = "ABCDE"
LETTER = st.sampled_from(LETTERS)
LETTER_FORMS = [
    "%s", "(%s)", "%s.", "%s)", "[%s]", "\\text{%s}", "\\text{(%s)}", "\\textbf{(%s)}", "\\mathrm{%s}", "**%s**",
    "Option %s", "The answer is %s", "the correct option is (%s)", "Answer: %s", "选%s", "选项%s", "答案是%s", "故选%s",
    "【%s】", "(%s) 12 cm", "%s: blue", "%s. \\frac{1}{2}", "\\text{(%s) }3\\sqrt{2}",
]  # fmt: skip
SEPARATORS = [", ", ",", " and ", " or ", "", " ", ";", "、", "，", "和", " & ", "/"]
WORDS = st.text(alphabet="abcdefghijklmnopqrstuvwxyzäéß", min_size=2, max_size=9)
TEXTS = st.lists(WORDS, min_size=1, max_size=4).map(" ".join)
OPTIONS = st.lists(WORDS.map(lambda word: f"{word} thing"), min_size=2, max_size=5, unique=True)
PROSE = [
    "I do not know",
    "cannot be determined",
    "a red umbrella",
    "the reference",
    "undefined",
    "not enough information",
]


@given(LETTER, LETTER, st.sampled_from(LETTER_FORMS), st.sampled_from(["%s", "(%s)", "\\text{%s}", "(%s) 15 cm"]))
def test_letter_in_any_wrapper(letter: str, expected: str, form: str, reference: str) -> None:
    """Rule 7; where both sides have a text beside the letter, the texts must not disagree."""
    found = value(form % letter, reference % expected, "choice")
    if letter == expected and "cm" in reference and found is None:
        assert any(text in form for text in ("12", "blue", "frac", "sqrt"))
    else:
        assert found == int(letter == expected)


@given(LETTER, LETTER, st.booleans())
def test_small_and_full_width_letters(letter: str, expected: str, brackets: bool) -> None:
    """Rule 7. A small e alone may be a number."""
    written = f"({letter})" if brackets else letter
    assert value(written.translate(FULL_WIDTH), expected, "choice") == int(letter == expected)
    if letter != "E":
        assert value(written.lower(), expected, "choice") == int(letter == expected)


@given(st.permutations(LETTERS), st.integers(2, 5), st.sampled_from(SEPARATORS[:4]), st.booleans())
def test_several_letters_for_a_single_choice_are_wrong(
    letters: list[str], count: int, separator: str, brackets: bool
) -> None:
    """Rule 7."""
    chosen = [f"({letter})" if brackets else letter for letter in letters[:count]]
    assert value(separator.join(chosen), letters[0], "choice") == 0
    assert value(separator.join(chosen), letters[1], "choice") == 0


@given(
    st.sets(LETTER, min_size=1),
    st.sets(LETTER, min_size=1),
    st.sampled_from(SEPARATORS),
    st.randoms(use_true_random=False),
)
def test_multi_choice_is_a_set_of_letters(chosen: set[str], expected: set[str], separator: str, random: object) -> None:
    """Rule 7: order and separators do not matter."""
    letters = sorted(chosen)
    random.shuffle(letters)  # type: ignore[attr-defined]
    assert value(separator.join(letters), "".join(sorted(expected)), "multi_choice") == int(chosen == expected)
    assert value(separator.join(letters), ", ".join(sorted(expected)), "multi_choice") == int(chosen == expected)


@given(OPTIONS, st.data())
def test_option_text_stands_for_its_letter(options: Sequence[str], data: st.DataObject) -> None:
    """Rule 7: with the options of the row only; without them the text is left open."""
    expected, chosen = (data.draw(st.integers(0, len(options) - 1)) for _ in range(2))
    letter = LETTERS[expected]
    assert value(f"\\text{{{options[chosen]}}}", letter, "choice", options) == int(chosen == expected)
    assert value(options[chosen], letter, "choice") is None
    assert value("some other text", letter, "choice", options) is None
    both = value(f"({LETTERS[chosen]}) {options[chosen]}", letter, "choice", options)
    assert both == int(chosen == expected)
    if chosen != expected:
        assert value(f"({letter}) {options[chosen]}", letter, "choice", options) is None


@given(
    LETTER,
    LETTER,
    st.sampled_from(
        [" or (%s)", " (or maybe %s)", ") no, %s", ". Actually %s", ": red, (%s) blue", " is wrong, it is %s"]
    ),
)
def test_letter_that_is_taken_back_is_not_right(letter: str, other: str, form: str) -> None:
    """Rule 7."""
    assume(letter != other)
    assert value(letter + form % other, letter, "choice") != 1


@given(
    LETTER,
    st.sampled_from(["x = %s", "%s^2", "\\frac{%s}{2}", "2%s", "\\Delta %s", "%s + 1", "not %s", "\\overline{%s}"]),
)
def test_letter_in_a_formula_is_no_choice(letter: str, form: str) -> None:
    """Rule 7."""
    assert value(form % letter, letter, "choice") is None


@given(TEXTS, st.sampled_from(["%s", "%s.", " %s ", "\\text{%s}", "\\textbf{%s}", "“%s”", "**%s**"]))
def test_text_equals_itself(text: str, form: str) -> None:
    """Rule 8: case, spaces, closing punctuation and full width do not matter."""
    assume(len(text.replace(" ", "")) > 3)
    assert value(form % text, text, "text") == 1
    assert value(form % text.upper(), text.upper(), "text") == 1
    assert value((form % text).replace(" ", "  "), text.title().swapcase().swapcase(), "text") in (1, None)
    if text.isascii():
        assert value(text.translate(FULL_WIDTH), text, "text") == 1


@given(TEXTS, TEXTS)
def test_other_text_is_never_proved_wrong(one: str, other: str) -> None:
    """Rule 8."""
    assume(one.casefold() != other.casefold())
    assert value(one, other, "text") is None


@given(WORDS, st.sampled_from(["++", "#", "+", "-", "'", "^2", "_1", "=", "*", "5", " 5", "!="]))
def test_operators_and_digits_in_text_count(word: str, added: str) -> None:
    """Rule 8."""
    assert value(word + added, word, "text") != 1
    assert value(word, word + added, "text") != 1


@given(st.sampled_from(PROSE), st.integers(1, 10**6), st.sampled_from(["integer", "decimal", "unit", "percent", None]))
def test_prose_for_a_number_is_wrong(prose: str, number: int, answer_type: str | None) -> None:
    """Rule 8."""
    assert value(prose, str(number), answer_type) == 0
    assert value(f"\\text{{{prose}}}", str(number), answer_type) == 0


@given(
    st.sampled_from(["yes", "no"]),
    st.sampled_from(["yes", "no"]),
    st.sampled_from(
        ["%s", "%s.", "\\text{%s}", "%s!", "%s, because 3 > 2", "%s: it is even", "**%s**", "%s; see above"]
    ),
    st.sampled_from([str.lower, str.upper, str.title]),
)
def test_leading_yes_or_no_decides(word: str, expected: str, form: str, case: object) -> None:
    """Rule 8."""
    assert value(form % case(word), expected, "yesno") == int(word == expected)  # type: ignore[operator]
    assert value(form % case(word), expected.title(), None) == int(word == expected)  # type: ignore[operator]


@given(
    st.sampled_from([("yes", "no"), ("no", "yes"), ("true", "false"), ("是", "否"), ("对", "错")]),
    st.sampled_from([" and ", " or ", "/", ", ", " but "]),
)
def test_yes_and_no_together_are_wrong(pair: tuple[str, str], between: str) -> None:
    """Rule 8."""
    for expected in pair:
        assert value(pair[0] + between + pair[1], expected, "yesno") == 0
    assert value(f"{pair[0]}, wait, {pair[1]}", pair[0], "yesno") != 1


@given(st.sampled_from([("True", "Yes"), ("yes", "true"), ("False", "no"), ("是", "Yes"), ("对", "是"), ("no", "否")]))
def test_another_pair_of_words_is_left_open(pair: tuple[str, str]) -> None:
    """Rule 6."""
    assert value(pair[0], pair[1], "yesno") is None


@given(TEXTS, st.integers(0, 10**6), st.integers(0, 10**6))
def test_digits_of_a_document_must_agree(text: str, number: int, other: int) -> None:
    """Rule 12."""
    assume(sorted(str(number)) != sorted(str(other)))
    assert value(f"{text} {number}", f"{text} {number}", "doc_text") == 1
    assert value(f"{text.upper()} {number}.", f"{text.upper()} {number}", "doc_text") == 1
    assert value(f"{text} {other}", f"{text} {number}", "doc_text") == 0


@given(TEXTS, TEXTS, st.integers(0, 10**6))
def test_other_words_of_a_document_are_left_open(one: str, other: str, number: int) -> None:
    """Rule 12: near or far, with the same digits or without any."""
    assume(one.casefold() != other.casefold())
    assert value(one, other, "doc_text") is None
    assert value(f"{one} {number}", f"{other} {number}", "doc_text") is None
