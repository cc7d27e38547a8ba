"""Properties of extraction and of references (policy 1, 2)."""

from hypothesis import assume, given
from hypothesis import strategies as st

from reward_workers.verifier import extract_boxed, verify_rules
from reward_workers.verifier.rules.answer_types import ANSWER_TYPES
from reward_workers.verifier.rules.normalize import canonical

PLAIN = st.text(alphabet="abc XYZ 0123456789 .,+-=/\n", max_size=40)
CONTENT = st.recursive(
    st.text(alphabet="ab7 +\\{\\}^_", max_size=8).map(lambda text: text.replace("{", "").replace("}", "")),
    lambda inner: st.tuples(inner, inner).map(lambda pair: f"{pair[0]}{{{pair[1]}}}"),
    max_leaves=6,
).filter(lambda text: bool(text.strip()) and "\\" not in text)
TYPES = st.sampled_from((None, *ANSWER_TYPES))


@given(PLAIN, st.lists(CONTENT, min_size=1, max_size=4), PLAIN)
def test_last_box_counts(before: str, contents: list[str], after: str) -> None:
    """Rule 1."""
    text = before + " ".join(f"\\boxed{{{content}}}" for content in contents) + after
    assert extract_boxed(text).content == contents[-1].strip()
    assert extract_boxed(text).n_boxes == len(contents)


@given(CONTENT, st.integers(1, 5))
def test_innermost_of_nested_boxes_counts(content: str, depth: int) -> None:
    """Rule 1."""
    assert extract_boxed("\\boxed{" * depth + content + "}" * depth).content == content.strip()


@given(st.lists(st.sampled_from(["\\{", "\\}", "1", ",", " "]), min_size=1, max_size=8).map("".join))
def test_escaped_braces_do_not_close_a_box(content: str) -> None:
    """Rule 1."""
    assume(content.strip())
    assert extract_boxed(f"\\boxed{{{content}}} }}").content == content.strip()


@given(PLAIN, CONTENT, PLAIN)
def test_box_in_thinking_does_not_count(before: str, content: str, after: str) -> None:
    """Rule 1: neither a finished thinking part nor one that never ends shows its boxes."""
    box = f"\\boxed{{{content}}}"
    assert extract_boxed(f"<think>{before}{box}</think>{after}").reason == "no_box"
    assert extract_boxed(f"{before}<think>{box}{after}").reason == "unclosed_think"
    assert extract_boxed(f"<think>{box}</think>{after}\\boxed{{8}}").content == "8"


@given(
    PLAIN, st.sampled_from(["", "\\boxed", "\\boxed{}", "\\boxed{ }", "\\boxed{7", "\\boxed{1} \\boxed{\\frac{1}{2}"])
)
def test_response_without_a_usable_box_is_wrong(text: str, box: str) -> None:
    """Rule 1: 0 with a reason, also where the reference stands in the text."""
    verdict = verify_rules(f"The answer is 7. {text} {box}", "7", "integer")
    assert (verdict.value, verdict.stage) == (0, "extract")
    assert verdict.reason in {"no_box", "empty_box", "unclosed_box"}


@given(st.integers(0, 10**9), st.sampled_from(["", " ", "  "]))
def test_bare_digits_count_without_a_braced_box_only(number: int, space: str) -> None:
    """Rule 1."""
    bare = f"\\boxed{space}{number}"
    assert extract_boxed(f"so ${bare}$").content == str(number)
    assert extract_boxed(f"${bare}$ or \\boxed{{x}}").content == "x"
    assert extract_boxed(f"{bare}.5").content is None


@given(st.text(max_size=40), st.text(alphabet=" \n\t\u3000\u200b", max_size=6), TYPES)
def test_blank_reference_is_never_decided(answer: str, blank: str, answer_type: str | None) -> None:
    """Rule 2: a fault of the data, whatever the response says."""
    for response in (answer, f"\\boxed{{{answer}}}", "\\boxed{}"):
        verdict = verify_rules(response, blank, answer_type)
        assert (verdict.value, verdict.reason) == (None, "empty_reference")


@given(st.text(min_size=1, max_size=60), TYPES)
def test_identical_strings_are_right(text: str, answer_type: str | None) -> None:
    """Rule 2: also where nothing can be parsed."""
    content = extract_boxed(f"\\boxed{{{text}}}").content
    assume(content is not None and canonical(content))
    assert verify_rules(f"\\boxed{{{text}}}", content or "", answer_type).value == 1
