"""The documented row schema against what checks and writes rows."""

import re
from pathlib import Path

from corpora.toy.dataset import rows
from trainer.checks.data_check import ANSWER_TYPE, COLUMNS, SMALL

PAGE = (Path(__file__).parents[2] / "docs" / "corpus_rows.md").read_text()
TABLE = dict(re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| ([^|]+) \|", PAGE, re.MULTILINE))


def test_what_the_check_before_a_run_needs_is_documented_as_needed():
    needed = {name for name, need in TABLE.items() if need.startswith("yes")}
    assert needed == {*SMALL, *(column for column in COLUMNS if column not in {"reward_model", "extra_info"})}
    assert ANSWER_TYPE in TABLE


def test_every_column_of_the_example_is_documented():
    row = rows("heldout")[0]
    written = {
        f"{column}.{name}" if isinstance(value, dict) else column
        for column, value in row.items()
        for name in (value if isinstance(value, dict) else [""])
    }
    assert written <= set(TABLE)
