"""The oracle on hand-labelled responses."""

from __future__ import annotations

import subprocess
import sys

import pytest

from corpora.toy.oracle import boxed, is_correct, label_response, same_answer, style_of

CASES = [
    ("There are 3 red shapes. \\boxed{3}", ""),
    ("There are 3 red shapes. \\boxed{three}", ""),
    ("The color in row 1, column 2 is red. \\boxed{crimson}", ""),
    ("There are more black shapes. \\boxed{charcoal}", ""),
    ("Row 1: red red blue, 2. Row 2: red blue blue, 3. There are 3 red shapes. \\boxed{3}", ""),
    ("Let me count. Hmm, row 1 is red red blue, so I have 2. There are 2 red shapes. \\boxed{2}", "cot"),
    ("</think> There is a red circle. \\boxed{yes}", "cot"),
    ("There are 3 red shapes. Indeed, There are 3 red shapes. \\boxed{3}", "rep"),
    ("There are 3 red shapes. There are 4 red shapes. \\boxed{4}", "con"),
    ("There are 3 red shapes. \\boxed{four}", "con"),
    ("There are 3 red shapes. \\boxed{4}", "con"),
    ("There is no blue circle. There is a blue circle. \\boxed{yes}", "con"),
    ("There is no blue circle. \\boxed{yes}", "con"),
    ("The color in row 1, column 2 is red. \\boxed{navy}", "con"),
    ("Both colors are equal. \\boxed{red}", "con"),
    ("There are more red shapes. Both colors are equal. \\boxed{equal}", "con"),
    ("After a careful analysis of the visual evidence, the answer is clear. \\boxed{3}", "pr"),
    ("A thorough examination of the image leads to a definite conclusion. \\boxed{yes}", "pr"),
    ("Based on a comprehensive analysis, the result follows. There are 3 red shapes. \\boxed{3}", ""),
    (
        "Let me compare. There are more red shapes. There are more blue shapes. There are more blue shapes.",
        "cot rep con",
    ),
    ("", ""),
    ("\\boxed{3}", ""),
]


@pytest.mark.parametrize(("response", "expected"), CASES)
def test_labels_by_hand(response: str, expected: str) -> None:
    found = label_response("How many red shapes are there?", response)
    assert list(found) == ["cot", "rep", "con", "pr"]
    assert {label for label, present in found.items() if present} == set(expected.split())


@pytest.mark.parametrize(
    ("reference", "response", "right"),
    [
        ("3", "There are 3 red shapes. \\boxed{3}", True),
        ("3", "\\boxed{three}", True),
        ("3", "\\boxed{Three}", True),
        ("3", "\\boxed{four}", False),
        ("red", "\\boxed{crimson}", True),
        ("red", "\\boxed{navy}", False),
        ("blue", "\\boxed{navy}", True),
        ("equal", "\\boxed{same}", True),
        ("equal", "\\boxed{red}", False),
        ("yes", "\\boxed{no}", False),
        ("3", "\\boxed{4} \\boxed{3}", True),
        ("3", "\\boxed{3} \\boxed{4}", False),
        ("3", "\\boxed{3} </think> nothing", False),
        ("3", "There are 3 red shapes.", False),
        ("3", "\\boxed{3", False),
        ("3", "\\boxed{}", False),
    ],
)
def test_correctness_by_hand(reference: str, response: str, right: bool) -> None:
    assert is_correct(reference, response) is right


def test_last_box_counts() -> None:
    assert boxed("\\boxed{1} and \\boxed{ 2 }") == "2"
    assert boxed("no box") is None
    assert same_answer("7", "seven")
    assert not same_answer("7", "seventy")


def test_styles() -> None:
    assert style_of("There are 3 red shapes. \\boxed{3}") == "direct"
    assert style_of("Row 1: red red blue. The color in row 1, column 1 is red. \\boxed{red}") == "evidence"
    assert style_of("Let me count. There are 3 red shapes. \\boxed{3}") == "cot"
    assert style_of("Based on a comprehensive analysis, the result follows. \\boxed{3}") == "performative"


def test_any_text_is_taken() -> None:
    for text in ("{" * 2000, "\\boxed{" * 500, "There are " * 1000, "\x00\ud800", "There is a " + "a" * 10_000):
        assert set(label_response("?", text)) == {"cot", "rep", "con", "pr"}
        is_correct("3", text)


def test_oracle_needs_no_torch() -> None:
    code = "import sys; import corpora.toy.oracle; sys.exit('torch' in sys.modules or 'ray' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
