"""The prompts that ask for labels are put together of the table and of the lines of each label."""

from __future__ import annotations

from pathlib import Path

import pytest

from foundation.labels import TABLE
from reward_workers.judges.prompts.render import FIELDS, render

STORED = Path(__file__).parents[1] / "data" / "prompts"
FRAGMENTS = Path(__file__).parents[2] / "reward_workers" / "judges" / "prompts" / "labels"


@pytest.mark.parametrize("path", sorted(STORED.glob("*.txt")), ids=lambda path: path.stem)
def test_the_text_for_the_labels_of_the_paper_is_the_stored_one(path: Path) -> None:
    name, _, language = path.stem.partition(".")
    text = render(name, language or "en", **{field: f"the {field}" for field in FIELDS[name]})[0]["content"]
    changed = f"the prompt of the judges has changed: if that is meant, store it in {path}"
    assert text.encode() == path.read_bytes(), changed


def test_every_label_has_its_lines_in_both_languages_and_nothing_else_lies_there() -> None:
    wanted = {f"{row.key}.{language}.txt" for row in TABLE for language in ("en", "zh")}
    assert {path.name for path in FRAGMENTS.iterdir()} == wanted
