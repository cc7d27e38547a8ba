"""Rows of the toy data set: format, uniqueness, disjoint splits, and the shipped files."""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
import pytest
from PIL import Image

from corpora.toy.dataset import SPLIT_SIZES, rows, split_questions
from corpora.toy.world import pixels

DATA = Path(__file__).parents[2] / "assets" / "toy" / "data"


@pytest.mark.parametrize(("split", "count"), [("train", 1600), ("heldout", 512)])
def test_rows_are_complete_and_numbered(split: str, count: int) -> None:
    found = rows(split)
    assert len(found) == count
    assert [row["extra_info"]["index"] for row in found] == list(range(count))
    assert len({row["extra_info"]["prompt_id"] for row in found}) == count
    for row in found:
        extra = row["extra_info"]
        assert row["prompt"] == [{"role": "user", "content": "<image>" + extra["question"]}]
        assert row["reward_model"]["style"] == "rule"
        assert row["reward_model"]["ground_truth"]
        assert extra["split"] == split
        assert extra["options"] is None
        reference = row["reward_model"]["ground_truth"]
        kinds = {"integer": reference.isdigit(), "yes_no": reference in ("yes", "no"), "text": reference.isalpha()}
        assert kinds[extra["answer_type"]]


def test_splits_share_no_question() -> None:
    train = {(q.text, q.scene) for q in split_questions("train")}
    heldout = {(q.text, q.scene) for q in split_questions("heldout")}
    assert len(train) == 1600 and len(heldout) == 512
    assert not train & heldout


def test_another_seed_gives_other_rows() -> None:
    assert [q.text for q in split_questions("heldout", 0)] != [q.text for q in split_questions("heldout", 1)]


@pytest.mark.parametrize("split", sorted(SPLIT_SIZES))
def test_shipped_file_is_what_the_command_writes(split: str) -> None:
    shipped = pq.read_table(DATA / f"{split}.parquet").to_pylist()
    questions = split_questions(split)
    made = rows(split)
    assert len(shipped) == len(made)
    for ours, theirs, question in zip(made, shipped, questions, strict=True):
        # The bytes of a PNG depend on the zlib of the machine, its pixels do not.
        image = np.asarray(Image.open(io.BytesIO(theirs["images"][0]["bytes"])))
        assert np.array_equal(image, pixels(question.scene))
        assert {k: v for k, v in ours.items() if k != "images"} == {k: v for k, v in theirs.items() if k != "images"}
