"""A scored rollout keeps its type from the reward worker to the figures, and other versions' files are refused."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from factories import WEIGHTS, judge_call, labelled, ruled, scored

from foundation.runs.records import RECORD_SCHEMA, SymbolicLosses, Unlabelled, Verdict
from foundation.runs.scored_rollout import ScoredRollout, read_all_rollouts, read_rollouts, write_rollouts

WHOLE = scored(
    verdict=Verdict(1, "judge", "judge_correct", "three", 0.5),
    verifier=Verdict(None, "typed", "number_word", "three"),
    losses=SymbolicLosses(killed=2, died=1),
    anls=0.5,
    labels=labelled("cot", p=None, latency_s=0.2),
    rule_labels=replace(ruled(cot=True, con=None), reasons=("cot:self_correction",)),
    charged={"cot": 1.0, "rep": 0.0, "con": 0.0, "pr": 0.0},
    reward=0.95,
    penalty=0.05,
    mode="t",
    visible="Wait. It is “三”.\u2028\\boxed{three}",
    flags=("unclosed_think",),
    judge_calls=(judge_call("fallback"), judge_call("pattern_rm", failure="timeout")),
)


@pytest.mark.parametrize(
    "rollout",
    [
        WHOLE,
        replace(WHOLE, labels=Unlabelled("timeout", 1.5), charged=None),
        replace(WHOLE, labels=None, rule_labels=None, judge_calls=()),
        scored(None),
    ],
    ids=["labelled", "unlabelled", "not asked", "unscored"],
)
def test_what_was_written_is_read_back(rollout: ScoredRollout) -> None:
    assert ScoredRollout.from_json(rollout.to_json()) == rollout
    assert "\n" not in rollout.to_json()


def test_the_line_says_its_schema_and_which_kind_its_labels_are() -> None:
    assert json.loads(WHOLE.to_json())["schema"] == RECORD_SCHEMA
    for labels, kind in ((labelled(), "labels"), (Unlabelled("timeout"), "unlabelled")):
        assert json.loads(scored(labels=labels).to_json())["labels"]["kind"] == kind


def test_what_is_no_plain_value_is_an_error_and_no_text() -> None:
    with pytest.raises(TypeError):
        scored(reward=object()).to_json()


def line(**changes: Any) -> str:
    """The line of a rollout with other keys; a value of None takes the key away."""
    row = {key: value for key, value in (json.loads(WHOLE.to_json()) | changes).items() if key not in changes or value}
    return json.dumps(row)


FIVE = WEIGHTS | {"unsupported": 0.05}


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (line(schema=None), "a rollout record of schema 1, where this version reads schema 2"),
        (line(schema=3), "a rollout record of schema 3, where this version reads schema 2"),
        (line(weights=FIVE), "of the labels cot, rep, con, pr, unsupported, where this version has cot, rep, con, pr"),
        (line(verdict=None), r"no whole rollout record \(KeyError\('verdict'\)\)"),
        (line(prompt_id=None), r"no whole rollout record \(TypeError\(.*'prompt_id'"),
        (line(mode="fast"), "'fast'"),
        ("[]", "of schema None"),
    ],
)
def test_a_record_of_another_version_is_refused(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        ScoredRollout.from_json(text)
    file = tmp_path / "train.jsonl"
    file.write_text(f"{WHOLE.to_json()}\n{text}\n{WHOLE.to_json()}\n")
    with pytest.raises(ValueError, match=rf"train\.jsonl:2: .*{message}.*: run this command with the version of the"):
        read_rollouts(file)


def test_a_start_marks_its_rollouts_and_a_repeated_step_counts_once(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    write_rollouts(file, 0, [scored(step=1), scored(step=2)])
    write_rollouts(file, 1, [scored(0, step=2)])
    assert [(r.step, r.attempt, r.verdict.value) for r in read_rollouts(file)] == [(1, 0, 1), (2, 1, 0)]
    assert [(r.step, r.attempt) for r in read_all_rollouts(file)] == [(1, 0), (2, 0), (2, 1)]
    assert read_rollouts(tmp_path / "heldout.jsonl") == []


def test_a_line_that_a_kill_cut_is_left_out(tmp_path: Path) -> None:
    file = tmp_path / "train.jsonl"
    write_rollouts(file, 0, [WHOLE])
    file.write_text(file.read_text() + WHOLE.to_json()[:40])
    assert read_rollouts(file) == [WHOLE]
