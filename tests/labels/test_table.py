"""The label table: its rows are complete and tell each other apart, and its codecs read what they wrote."""

from __future__ import annotations

import doctest
from dataclasses import replace
from pathlib import Path

import pytest

from foundation import labels
from foundation.labels import (
    LABELS,
    TABLE,
    Label,
    add_label,
    all_vectors,
    as_digits,
    as_lines,
    from_digits,
    markdown,
    row_of,
    trigger,
)
from reward_workers.detectors import DETECTORS, detect_patterns
from reward_workers.judges.replies import ParsedLabels, parse_labels

DOCS = Path(__file__).parents[2] / "docs"


def test_the_examples_run() -> None:
    assert doctest.testmod(labels) == (0, 3)


def test_the_labels_of_the_paper_come_first_in_its_order() -> None:
    assert LABELS[:4] == ("cot", "rep", "con", "pr")
    for column in ("key", "wire", "title", "title_zh", "colour"):
        assert len({getattr(row, column) for row in TABLE}) == len(TABLE)


@pytest.mark.parametrize("column", ["key", "wire", "title", "title_zh"])
@pytest.mark.parametrize("present", LABELS)
def test_a_judge_may_use_every_name_of_a_label(column: str, present: str) -> None:
    parsed = parse_labels("\n".join(f"{getattr(row, column)}: {int(row.key == present)}" for row in TABLE))
    assert isinstance(parsed, ParsedLabels), parsed
    assert [label for label in LABELS if parsed.decided[label]] == [present]


@pytest.mark.parametrize("row", TABLE, ids=LABELS)
def test_the_examples_of_a_row_are_what_they_say(row: Label) -> None:
    if row.key in DETECTORS:
        assert detect_patterns(row.triggering).seen[row.key] is True
    assert not trigger(detect_patterns(row.acceptable).seen)


def test_every_detector_belongs_to_a_label() -> None:
    assert set(DETECTORS) <= set(LABELS)


def test_vectors_are_written_and_read() -> None:
    vectors = all_vectors()
    assert len(vectors) == 2 ** len(LABELS) == len({as_lines(vector) for vector in vectors})
    for vector in vectors:
        assert from_digits(as_digits(vector)) == vector
        parsed = parse_labels(as_lines(vector))
        assert isinstance(parsed, ParsedLabels) and parsed.decided == vector
        assert trigger(vector) == any(vector.values())


@pytest.mark.parametrize("stored", [[1, 0, 0], [1, 0, 0, 1, 0], [1, 0, 0, 2], [True, 0, 0, 1], "1001", None])
def test_what_is_no_vector_is_refused(stored: object) -> None:
    with pytest.raises(ValueError, match=r"no vector of cot, rep, con, pr|something else than 0 and 1"):
        from_digits(stored)


def test_a_label_that_comes_too_late_is_refused() -> None:
    late = replace(row_of("pr"), key="cit", wire="Cit")
    with pytest.raises(RuntimeError, match=r"label 'cit' comes too late: \S+ has read the table"):
        add_label(late)
    assert labels.TABLE is TABLE


@pytest.mark.parametrize("changes", [{"key": "cot", "wire": "Cit"}, {"key": "cit", "wire": "PR"}, {"wire": "pr"}])
def test_a_label_whose_name_is_taken_is_refused(changes: dict[str, str]) -> None:
    with pytest.raises(ValueError, match="has that key or that wire name already"):
        add_label(replace(row_of("pr"), **changes))


def test_a_label_without_room_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(labels, "MOST", len(TABLE))
    with pytest.raises(ValueError, match=f"the table has room for {len(TABLE)}"):
        add_label(replace(row_of("pr"), key="cit", wire="Cit"))


def test_the_document_shows_the_table() -> None:
    assert markdown() in (DOCS / "labels.md").read_text(encoding="utf-8"), "print it with python -m foundation.labels"
