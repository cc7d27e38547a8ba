"""ANLS against values counted by hand and a plain Levenshtein table."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_workers.verifier import anls
from reward_workers.verifier.rules.anls import MAX_CHARS, document_anls, edit_distance


@pytest.mark.parametrize(
    ("answer", "reference", "similarity"),
    [
        ("Annual Report", "annual  report ", 1.0),  # case and spaces do not count
        ("kitten", "sitting", 1 - 3 / 7),  # the textbook pair: three edits, seven letters
        ("report", "reports", 1 - 1 / 7),
        ("ab", "cb", 0.0),  # a distance of one half is at the threshold
        ("abc", "abd", 1 - 1 / 3),
        ("", "abc", 0.0),
        ("cat", "a very long sentence about something", 0.0),
        ("日本語", "日本", 1 - 1 / 3),
    ],
)
def test_by_hand(answer: str, reference: str, similarity: float) -> None:
    assert anls(answer, reference) == pytest.approx(similarity)


def table_distance(one: str, other: str) -> int:
    row = list(range(len(other) + 1))
    for i, a in enumerate(one, 1):
        before, row[0] = row[0], i
        for j, b in enumerate(other, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (a != b))
    return row[-1]


@given(st.text(alphabet="abcd ", max_size=40), st.text(alphabet="abcd ", max_size=40))
def test_distance_is_that_of_the_plain_table(one: str, other: str) -> None:
    assert edit_distance(one, other) == table_distance(one, other)


@given(st.text(max_size=30), st.text(max_size=30))
def test_symmetric_and_within_bounds(one: str, other: str) -> None:
    assert anls(one, other) == anls(other, one)
    assert 0.0 <= anls(one, other) <= 1.0


def test_wrappers_of_a_box_do_not_count() -> None:
    assert document_anls(r"\text{Annual Report}", "Annual Report") == 1.0
    assert document_anls(None, "Annual Report") == 0.0


def test_long_texts_take_no_time() -> None:
    started = time.perf_counter()
    assert anls("ab" * (MAX_CHARS // 2), "ba" * (MAX_CHARS // 2)) == pytest.approx(1 - 2 / MAX_CHARS)
    assert anls("a" * 1_000_000, "a" * 999_999 + "b") == 0.0
    assert time.perf_counter() - started < 5.0
