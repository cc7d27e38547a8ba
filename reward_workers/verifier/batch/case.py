"""Rows of the command: a case as it is read, and the row of its verdict as it is written."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from foundation.runs.records import Verdict
from reward_workers.verifier.cascade import check_arguments, shortened
from reward_workers.verifier.explain import explain
from reward_workers.verifier.rules.anls import document_anls

REQUIRED = ("id", "response", "reference")
UNRESOLVED = "unresolved"


@dataclass(frozen=True, slots=True)
class Case:
    """One row of a file of cases; keys of the row that are not named here do not matter."""

    id: str | int
    response: str
    reference: str
    answer_type: str | None = None
    options: list[str] | None = None


def read_case(line: bytes) -> Case:
    """The case in one line of JSON.

    Raises:
        ValueError: what is wrong with the line, and what to do.
    """
    try:
        row = json.loads(line.decode())
    except UnicodeDecodeError as error:
        raise ValueError(f"not UTF-8 (byte {error.start}): write the file in UTF-8") from error
    except json.JSONDecodeError as error:
        raise ValueError(f"not JSON ({error.msg}, column {error.colno}): each line must be a JSON object") from error
    except (RecursionError, ValueError) as error:
        raise ValueError(f"not readable as JSON ({error}): each line must be a JSON object") from error
    if not isinstance(row, dict):
        raise ValueError(f"{shortened(row)} is no object: each line must be a JSON object")
    missing = [key for key in REQUIRED if key not in row]
    if missing:
        raise ValueError(f"no key {', '.join(missing)}: a row needs {', '.join(REQUIRED)}")
    if isinstance(row["id"], bool) or not isinstance(row["id"], str | int):
        raise ValueError(f"id={shortened(row['id'])} must be a string or a whole number")
    case = Case(row["id"], row["response"], row["reference"], row.get("answer_type"), row.get("options"))
    check_arguments(case.response, case.reference, case.answer_type, case.options)
    return case


def verdict_row(case: Case, verdict: Verdict, with_explanation: bool) -> dict[str, Any]:
    """The row of a verdict; `anls` for document text only, `explanation` where it is asked for."""
    row: dict[str, Any] = {
        "id": case.id,
        "verdict": UNRESOLVED if verdict.value is None else verdict.value,
        "stage": verdict.stage,
        "reason": verdict.reason,
        "extracted": verdict.extracted,
        "seconds": round(verdict.latency_s, 6),
    }
    if case.answer_type == "doc_text":
        row["anls"] = round(document_anls(verdict.extracted, case.reference), 4)
    if with_explanation:
        row["explanation"] = explain(verdict, case.reference)
    return row


def encode_row(row: dict[str, Any]) -> bytes:
    """One line of UTF-8; a text that is no valid Unicode (half a surrogate pair) is written with JSON escapes."""
    try:
        return json.dumps(row, ensure_ascii=False).encode() + b"\n"
    except UnicodeEncodeError:
        return json.dumps(row).encode() + b"\n"
