"""Rows of the command: what is read, what is refused and why, what is written."""

import io
import json
from typing import Any

import pytest

from foundation.runs.records import Verdict
from reward_workers.verifier.batch import case_lines
from reward_workers.verifier.batch.case import encode_row, read_case, verdict_row
from reward_workers.verifier.batch.case_lines import in_chunks, read_lines
from reward_workers.verifier.batch.child_program import decide_lines

GOOD = {"id": "a", "response": r"\boxed{7}", "reference": "7"}


def line(**changes: Any) -> bytes:
    return json.dumps(GOOD | changes).encode()


def test_optional_and_unknown_keys() -> None:
    case = read_case(line(id=3, answer_type=None, options=None, expected=1, note="x"))
    assert (case.id, case.answer_type, case.options) == (3, None, None)
    assert read_case(line(answer_type="choice", options=["red"])).options == ["red"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not JSON .*column 2"),
        (b"\xff\xfe", "not UTF-8"),
        (b"[" * 100_000, "not readable as JSON"),
        (b"9" * 10_000, "not readable as JSON"),
        (b"[1, 2]", r"\[1, 2\] is no object"),
        (b'{"id": 1}', "no key response, reference"),
        (line(id=None), "id=None must be a string or a whole number"),
        (line(id=True), "id=True must be"),
        (line(id=[1]), r"id=\[1\] must be"),
        (line(response=5), "response=5 must be a string"),
        (line(reference=["7"]), "reference="),
        (line(answer_type="colour"), "answer_type='colour' is not known"),
        (line(answer_type=["list"]), "answer_type=.* must be a string"),
        (line(options={"A": "x"}), "options=.* must be a list of strings"),
    ],
)
def test_malformed(content: bytes, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_case(content)


def test_row_of_a_verdict() -> None:
    verdict = Verdict(None, "typed", "other_text", "Anual Report", 0.00012349)
    row = verdict_row(read_case(line(reference="Annual Report", answer_type="doc_text")), verdict, True)
    assert list(row) == ["id", "verdict", "stage", "reason", "extracted", "seconds", "anls", "explanation"]
    assert row["verdict"] == "unresolved" and row["seconds"] == 0.000123
    assert row["anls"] == pytest.approx(1 - 1 / 13, abs=1e-4)  # one letter of thirteen is missing
    assert row["explanation"].startswith("Unresolved: ")
    plain = verdict_row(read_case(line()), Verdict(1, "exact", "identical", "7"), False)
    assert plain == {**dict.fromkeys(plain), "id": "a", "verdict": 1, "stage": "exact", "reason": "identical",
                     "extracted": "7", "seconds": 0.0}  # fmt: skip


def test_half_a_surrogate_pair_is_written() -> None:
    assert json.loads(encode_row({"extracted": "\ud800"})) == {"extracted": "\ud800"}
    assert "数" in encode_row({"extracted": "数"}).decode()


def test_a_chunk_is_answered_line_by_line() -> None:
    reply = decide_lines([line(), b"{", line(response=r"\boxed{(x-1)(x+4)n!}", reference="(x^2+3x-4)n!")], False)
    done, malformed, left = reply["rows"]
    assert json.loads(done)["verdict"] == 1
    assert malformed.keys() == {"malformed"} and left is None
    assert reply["counts"] == [["exact", "1", 1]]


def test_lines_are_numbered_with_blank_ones_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_lines, "MAX_LINE_BYTES", 16)
    text = b"\xef\xbb\xbf{1}\r\n\n  \n" + b"x" * 40 + b"\n{2}"
    lines = list(read_lines(io.BytesIO(text)))
    assert [(each.number, each.content) for each in lines] == [(1, b"{1}"), (4, None), (5, b"{2}")]
    assert lines[-1].end == len(text)


def test_chunks_are_bounded_in_rows_and_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(case_lines, "CHUNK_ROWS", 3)
    monkeypatch.setattr(case_lines, "CHUNK_BYTES", 10)
    contents = [b"a", b"b", b"c", b"d", b"e" * 10, b"f"]
    chunks = in_chunks(read_lines(io.BytesIO(b"\n".join(contents))))
    assert [[each.number for each in chunk] for chunk in chunks] == [[1, 2, 3], [4, 5], [6]]
