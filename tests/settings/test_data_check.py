"""What is wrong with a file of prompts, by file, row and column."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trainer.checks import data_check
from trainer.checks.data_check import check_prompt_file

KEY = "corpus.train_files"


def write(path: Path, rows: list[dict[str, Any]]) -> Path:
    # The images column keeps its type when a row holds none, the references when all are null.
    schema = pa.schema(
        [
            ("data_source", pa.string()),
            ("prompt", pa.list_(pa.struct([("role", pa.string()), ("content", pa.string())]))),
            ("images", pa.list_(pa.struct([("bytes", pa.binary()), ("path", pa.string())]))),
            ("reward_model", pa.struct([("style", pa.string()), ("ground_truth", pa.string())])),
            (
                "extra_info",
                pa.struct(
                    [(n, pa.string()) for n in ("prompt_id", "question", "answer_type")] + [("index", pa.int64())]
                ),
            ),
        ]
    )
    pq.write_table(pa.Table.from_pylist(rows, schema=schema), path)
    return path


def test_a_good_file_has_rows_and_no_problems(tmp_path: Path, rows: list[dict[str, Any]]):
    checked = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY)
    assert (checked.rows, checked.deep_rows, checked.problems) == (32, 32, ())


@pytest.mark.parametrize("reference", [None, "", "  "])
def test_a_row_without_reference(tmp_path: Path, rows: list[dict[str, Any]], reference: str | None):
    rows[7]["reward_model"]["ground_truth"] = reference
    path = write(tmp_path / "p.parquet", rows)
    (problem,) = check_prompt_file(path, KEY).problems
    assert str(path) in problem
    assert "row 7, reward_model.ground_truth=" in problem


@pytest.mark.parametrize(
    ("column", "value", "text"),
    [
        ("index", 3, "row 9, extra_info.index=3: row 3 has the same"),
        ("index", None, "row 9, extra_info.index=None"),
        ("question", " ", "row 9, extra_info.question=' '"),
        ("prompt_id", None, "row 9, extra_info.prompt_id=None"),
        ("answer_type", "colour", "row 9, extra_info.answer_type: answer_type='colour' is not known"),
    ],
)
def test_a_row_that_cannot_be_told_apart_or_asked(
    tmp_path: Path, rows: list[dict[str, Any]], column: str, value: Any, text: str
):
    rows[9]["extra_info"][column] = value
    (problem,) = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY).problems
    assert text in problem


def test_images_and_marks_must_agree(tmp_path: Path, rows: list[dict[str, Any]]):
    rows[2]["images"] = []
    rows[3]["images"] = [{"bytes": None, "path": None}]
    first, second = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY).problems
    assert "row 2, prompt has 1 <image> and images has 0 entries" in first
    assert "row 3, images holds an entry without bytes" in second


def test_an_empty_prompt(tmp_path: Path, rows: list[dict[str, Any]]):
    rows[0]["prompt"] = []
    (problem,) = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY).problems
    assert "row 0, prompt is empty" in problem


def test_many_problems_are_counted_not_listed(tmp_path: Path, rows: list[dict[str, Any]]):
    for row in rows:
        row["reward_model"]["ground_truth"] = None
    problems = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY).problems
    assert len(problems) == data_check.SHOWN + 1
    assert "27 more" in problems[-1]


def test_large_files_are_checked_in_part_and_say_so(
    tmp_path: Path, rows: list[dict[str, Any]], monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(data_check, "DEEP_ROWS", 10)
    rows[20]["images"] = []
    rows[20]["reward_model"]["ground_truth"] = None
    checked = check_prompt_file(write(tmp_path / "p.parquet", rows), KEY)
    assert checked.deep_rows == 10
    assert len(checked.problems) == 1  # the reference: small columns are read to the end
    assert "row 20" in checked.problems[0]


def test_a_missing_column(tmp_path: Path):
    path = tmp_path / "p.parquet"
    pq.write_table(pa.table({"prompt": [["x"]]}), path)
    (problem,) = check_prompt_file(path, KEY).problems
    assert "reward_model" in problem
    assert "extra_info.index" in problem


def test_no_rows_and_no_parquet(tmp_path: Path):
    assert "no rows" in check_prompt_file(write(tmp_path / "p.parquet", []), KEY).problems[0]
    (tmp_path / "text.parquet").write_text("not parquet")
    assert "not a readable parquet file" in check_prompt_file(tmp_path / "text.parquet", KEY).problems[0]
