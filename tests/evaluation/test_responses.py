"""Responses that a run kept for other runs to show."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest

from evaluation.pattern_eval.responses import RESPONSES, read_responses, write_responses
from foundation.runs.evaluation_records import Response


def test_they_come_back_as_they_were(responses: Callable[..., list[Response]], tmp_path: Path) -> None:
    drawn = responses(5)
    write_responses(tmp_path / RESPONSES, drawn)
    assert read_responses(tmp_path) == drawn


def test_those_of_another_label_table_are_refused(responses: Callable[..., list[Response]], tmp_path: Path) -> None:
    other = [replace(response, labels={"cot": True, "rep": False}) for response in responses(1)]
    write_responses(tmp_path / RESPONSES, other)
    with pytest.raises(ValueError, match=r"responses\.jsonl:1: .*its labels are cot, rep, not cot, rep, con, pr"):
        read_responses(tmp_path)
