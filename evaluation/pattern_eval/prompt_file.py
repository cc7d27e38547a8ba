"""Reads the prompts of an evaluation: JSON lines of our own form, or parquet rows as the corpora write them.

A JSON line:

    {"prompt_id": "a1", "source": "chartqa", "family": "OS", "category": "Chart", "question": "...",
     "images": ["images/a1.png"], "reference": "42", "answer_type": null, "options": null, "criteria": ""}

Every problem of a file is found before anything is asked, and named with its row.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from foundation.runs.evaluation_records import Prompt
from reward_workers.verifier.rules.answer_types import check_answer_type

REQUIRED = ("prompt_id", "family", "category", "question", "reference")
OPTIONAL = ("source", "images", "options", "answer_type", "criteria")
MOST_PROBLEMS = 20


class PromptFileError(ValueError):
    """A file of prompts that cannot be used; `problems` has one line each."""

    def __init__(self, problems: Sequence[str]) -> None:
        shown = [*problems[:MOST_PROBLEMS]]
        if len(problems) > len(shown):
            shown.append(f"... and {len(problems) - len(shown):,} more")
        super().__init__("\n".join(shown))
        self.problems = tuple(shown)


def read_prompts(files: Sequence[Path], taxonomy: Mapping[str, Mapping[str, str]], limit: int | None) -> list[Prompt]:
    """All prompts of some files, in order.

    Args:
        taxonomy: known categories by family.
        limit: the first so many prompts; None for all.

    Raises:
        PromptFileError: missing file, broken row, duplicate id, unknown family or category.
    """
    problems: list[str] = []
    prompts: list[Prompt] = []
    seen: dict[str, str] = {}
    for file in files:
        for where, row in _rows(file, problems):
            try:
                prompt = _prompt(row)
                _check_place(prompt, taxonomy)
            except (ValueError, TypeError, KeyError) as error:
                problems.append(f"{where}: {error}")
                continue
            if prompt.prompt_id in seen:
                first = seen[prompt.prompt_id]
                problems.append(f"{where}: prompt_id {prompt.prompt_id!r} is that of {first} too; make it unique")
                continue
            seen[prompt.prompt_id] = where
            prompts.append(prompt)
    if problems:
        raise PromptFileError(problems)
    if not prompts:
        raise PromptFileError([f"{', '.join(map(str, files))}: no prompts; check prompts.files"])
    return prompts if limit is None else prompts[:limit]


def fingerprint(prompts: Sequence[Prompt]) -> str:
    """Hash of everything that is asked and expected; images of files count by their path."""
    digest = hashlib.sha256()
    for prompt in prompts:
        images = [image if isinstance(image, str) else hashlib.sha256(image).hexdigest() for image in prompt.images]
        known = (prompt.prompt_id, prompt.family, prompt.category, prompt.question, prompt.options, images)
        digest.update(json.dumps([*known, prompt.reference, prompt.answer_type, prompt.criteria]).encode())
    return digest.hexdigest()[:16]


def _rows(file: Path, problems: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    if not file.is_file():
        problems.append(f"{file}: no such file; set prompts.files")
    elif file.suffix == ".parquet":
        yield from _parquet_rows(file, problems)
    elif file.suffix == ".jsonl":
        yield from _json_rows(file, problems)
    else:
        problems.append(f"{file}: prompts are read from .jsonl or .parquet files")


def _json_rows(file: Path, problems: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    for number, line in enumerate(file.read_bytes().split(b"\n"), start=1):
        where = f"{file}:{number}"
        if not line.strip():
            continue
        try:
            row = json.loads(line.decode())
        except UnicodeDecodeError as error:
            problems.append(f"{where}: not UTF-8 (byte {error.start}); write the file in UTF-8")
            continue
        except (ValueError, RecursionError) as error:
            problems.append(f"{where}: not JSON ({error}); each line must be one object")
            continue
        if not isinstance(row, dict):
            problems.append(f"{where}: no object; each line must be one object")
            continue
        yield where, row


def _parquet_rows(file: Path, problems: list[str]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    import pyarrow.lib
    import pyarrow.parquet as pq

    try:
        table = pq.read_table(file)
    except (pyarrow.lib.ArrowException, OSError) as error:
        problems.append(f"{file}: not readable as parquet ({error})")
        return
    for number, row in enumerate(table.to_pylist(), start=1):
        yield f"{file} row {number}", _from_corpus(row)


def _from_corpus(row: Mapping[str, Any]) -> Mapping[str, Any]:
    """A row as verl reads it (`corpora`), in our own form; other rows as they are."""
    extra = row.get("extra_info")
    if not isinstance(extra, Mapping) or "reward_model" not in row:
        return row
    images = row.get("images") or []
    return {
        "prompt_id": extra.get("prompt_id"),
        "source": row.get("data_source") or "",
        "family": extra.get("family"),
        "category": extra.get("category"),
        "question": extra.get("question"),
        "options": extra.get("options"),
        "images": [
            image.get("bytes") or image.get("path") if isinstance(image, Mapping) else image for image in images
        ],
        "reference": row["reward_model"].get("ground_truth"),
        "answer_type": extra.get("answer_type"),
        "criteria": extra.get("criteria") or "",
    }


def _prompt(row: Mapping[str, Any]) -> Prompt:
    unknown = sorted(set(row) - {*REQUIRED, *OPTIONAL})
    missing = [key for key in REQUIRED if row.get(key) is None]
    if missing:
        raise ValueError(f"no {', '.join(missing)}; a prompt needs {', '.join(REQUIRED)} (reference may be empty)")
    if unknown:
        raise ValueError(f"unknown key {', '.join(unknown)}; use only {', '.join((*REQUIRED, *OPTIONAL))}")
    for key in (*REQUIRED, "source", "criteria"):
        if not isinstance(row.get(key, ""), str):
            raise ValueError(f"{key}={row[key]!r} must be text")
    for key in ("prompt_id", "question"):
        if not row[key].strip():
            raise ValueError(f"{key} is empty; give it a text")
    options = row.get("options")
    if options is not None and not (isinstance(options, list) and all(isinstance(o, str) for o in options)):
        raise ValueError(f"options={options!r} must be a list of texts, or null")
    check_answer_type(row.get("answer_type"))
    return Prompt(
        row["prompt_id"],
        row.get("source", ""),
        row["family"],
        row["category"],
        row["question"],
        None if options is None else tuple(options),
        tuple(_image(image) for image in row.get("images") or []),
        row["reference"],
        row.get("answer_type"),
        row.get("criteria", ""),
    )


def _image(given: Any) -> str | bytes:
    if isinstance(given, str | bytes) and given:
        return given
    if isinstance(given, Mapping) and isinstance(given.get("base64"), str):
        return base64.b64decode(given["base64"], validate=True)
    raise ValueError(f'image {str(given)[:60]!r} must be a path, a URL, or {{"base64": ...}}')


def _check_place(prompt: Prompt, taxonomy: Mapping[str, Mapping[str, str]]) -> None:
    if prompt.family not in taxonomy:
        raise ValueError(f"family {prompt.family!r} is unknown; prompts.taxonomy has {', '.join(taxonomy)}")
    if prompt.category not in taxonomy[prompt.family]:
        known = ", ".join(taxonomy[prompt.family])
        raise ValueError(f"category {prompt.category!r} is unknown in family {prompt.family}; it has {known}")
