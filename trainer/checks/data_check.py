"""Checks of the prompt files before a run: can every row be asked, scored and told apart?

Only the columns that matter are read: the small ones of all rows, images of the first `DEEP_ROWS` rows (image bytes are
most of a file).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from reward_workers.verifier.rules.answer_types import check_answer_type

DEEP_ROWS = 2000
SHOWN = 5
"""Problems reported for one file; the rest are counted."""

COLUMNS = ("data_source", "prompt", "images", "reward_model", "extra_info")
SMALL = (
    "data_source",
    "reward_model.ground_truth",
    "extra_info.index",
    "extra_info.prompt_id",
    "extra_info.question",
)
ANSWER_TYPE = "extra_info.answer_type"
"""Optional: without it the verifier infers the type of an answer from the reference."""
IMAGE_MARK = "<image>"


@dataclass(frozen=True, slots=True)
class PromptFile:
    """One parquet file: `rows` in all, images checked in `deep_rows` of them, `problems` one line each."""

    path: Path
    rows: int
    deep_rows: int
    problems: tuple[str, ...]


def check_prompt_file(path: Path, key: str) -> PromptFile:
    """Check one file of prompts.

    Args:
        path: parquet file in verl's format (columns of `COLUMNS`).
        key: configuration key that named the file, for messages.

    Returns:
        Its rows and problems; a problem names file, row (from 0), column, value and what to do.
    """
    try:
        parquet = pq.ParquetFile(path)
    except (pa.ArrowInvalid, OSError) as error:
        return PromptFile(
            path, 0, 0, (f"{key}: {path} is not a readable parquet file ({_line(error)}): write it again",)
        )
    with parquet:
        rows = parquet.metadata.num_rows
        present = {schema.path for schema in _columns(parquet)}
        missing = [
            name for name in (*COLUMNS, *SMALL) if not any(p == name or p.startswith(f"{name}.") for p in present)
        ]
        if missing:
            return PromptFile(
                path, rows, 0, (f"{key}: {path} lacks column(s) {', '.join(missing)}: convert the corpus again",)
            )
        columns = [*SMALL, *(name for name in (ANSWER_TYPE,) if name in present)]
        found = [*_check_small(parquet, columns), *_check_deep(parquet)]
    problems = [f"{key}: {path} row {row}, {text}" for row, text in found[:SHOWN]]
    if len(found) > SHOWN:
        problems.append(f"{key}: {path} has {len(found) - SHOWN} more problems of this kind")
    if rows == 0:
        problems = [f"{key}: {path} has no rows: write the corpus again"]
    return PromptFile(path, rows, min(rows, DEEP_ROWS), tuple(problems))


def _columns(parquet: pq.ParquetFile) -> Iterator[Any]:
    return (parquet.schema.column(i) for i in range(len(parquet.schema)))


def _check_small(parquet: pq.ParquetFile, columns: list[str]) -> Iterator[tuple[int, str]]:
    """Reference, question, id, answer type and index of every row."""
    first_with: dict[int, int] = {}
    row = -1
    for batch in parquet.iter_batches(batch_size=1024, columns=columns):
        for content in batch.to_pylist():
            row += 1
            info = content["extra_info"] or {}
            reference = (content["reward_model"] or {}).get("ground_truth")
            if _blank(reference):
                yield (
                    row,
                    f"reward_model.ground_truth={reference!r}: a prompt without reference cannot be scored; remove it",
                )
            for name in ("question", "prompt_id"):
                if _blank(info.get(name)):
                    yield row, f"extra_info.{name}={info.get(name)!r}: needed by the judges and the records; fill it"
            if _blank(content["data_source"]):
                yield row, f"data_source={content['data_source']!r}: verl groups its metrics by it; fill it"
            try:
                check_answer_type(info.get("answer_type"))
            except ValueError as error:
                yield row, f"{ANSWER_TYPE}: {error}"
            index = info.get("index")
            if type(index) is not int:
                yield row, f"extra_info.index={index!r}: set a whole number that no other row has"
            elif index in first_with:
                yield row, f"extra_info.index={index}: row {first_with[index]} has the same; number the rows apart"
            else:
                first_with[index] = row


def _check_deep(parquet: pq.ParquetFile) -> Iterator[tuple[int, str]]:
    """Prompt messages and images of the first rows."""
    row = -1
    for batch in parquet.iter_batches(batch_size=64, columns=["prompt", "images"]):
        for content in batch.to_pylist():
            row += 1
            if row >= DEEP_ROWS:
                return
            messages = content["prompt"] or []
            if not messages or any(_blank(message.get("content")) for message in messages):
                yield row, "prompt is empty: a list of messages with role and content is needed"
                continue
            marks = sum(str(message["content"]).count(IMAGE_MARK) for message in messages)
            images = content["images"] or []
            if marks != len(images):
                yield row, f"prompt has {marks} {IMAGE_MARK} and images has {len(images)} entries: they must agree"
            if any(not (image or {}).get("bytes") and not (image or {}).get("path") for image in images):
                yield row, "images holds an entry without bytes: write the image into the file"


def _blank(value: Any) -> bool:
    return value is None or not str(value).strip()


def _line(error: Exception) -> str:
    return str(error).splitlines()[0] if str(error) else type(error).__name__
