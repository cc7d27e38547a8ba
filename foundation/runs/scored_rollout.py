"""One scored rollout as everything after the reward worker reads it: reward record, texts, mode, and what judges cost.

The reward worker writes it as JSON once, the trainer reads it once, the run folder keeps it as a line:

>>> first = ScoredRollout.from_json('{"schema": 1}')
Traceback (most recent call last):
    ...
ValueError: a rollout record of schema 1, but this version reads 2: summarise it with the version that wrote it
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any

from foundation.responses.families import Mode
from foundation.runs.judge_call import JudgeCall
from foundation.runs.records import Labels, RewardRecord, RuleLabels, SymbolicLosses, Unlabelled, Verdict
from foundation.runs.run_folder import append_jsonl, read_jsonl

SCHEMA = 2
"""Of the lines in `records/*.jsonl`; raised when a field changes its name or meaning."""


@dataclass(frozen=True, slots=True)
class ScoredRollout(RewardRecord):
    """A reward record with what a person or a metric wants beside it.

    Attributes:
        mode: the thinking mode that the prompt was asked in.
        question, reference: of the prompt.
        visible: what the user sees of the response.
        flags: of `foundation.responses.channels`.
        judge_calls: the questions that were asked for this rollout, in their order.
        attempt: index of the start of the run that made it, 0 for the first.
    """

    mode: Mode
    question: str
    reference: str
    visible: str
    flags: tuple[str, ...]
    judge_calls: tuple[JudgeCall, ...]
    attempt: int = 0

    @classmethod
    def of(cls, record: RewardRecord, **beside: Any) -> ScoredRollout:
        """The record with its texts: every other field by name."""
        return cls(**{field.name: getattr(record, field.name) for field in fields(RewardRecord)}, **beside)

    @property
    def is_labelled(self) -> bool:
        """Whether PatternRM was asked and its label vector came back."""
        return isinstance(self.labels, Labels)

    def as_dict(self) -> dict[str, Any]:
        """Plain data for JSON; labels carry a tag that tells a vector from a failed call."""
        row = {"schema": SCHEMA, **asdict(self)}
        if self.labels is not None:
            row["labels"] = {"kind": "labels" if self.is_labelled else "unlabelled", **row["labels"]}
        return row

    def to_json(self) -> str:
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ScoredRollout:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: a line of another schema.
        """
        return cls.from_dict(json.loads(text))

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> ScoredRollout:
        """Read what :meth:`as_dict` wrote; raises as :meth:`from_json` does."""
        schema = row.get("schema", 1)
        if schema != SCHEMA:
            raise ValueError(
                f"a rollout record of schema {schema}, but this version reads {SCHEMA}: summarise it with the version "
                "that wrote it"
            )
        plain = {key: value for key, value in row.items() if key != "schema"}
        return cls(
            **{
                **plain,
                "verdict": Verdict(**row["verdict"]),
                "verifier": Verdict(**row["verifier"]),
                "losses": SymbolicLosses(**row["losses"]),
                "labels": _labels(row["labels"]),
                "rule_labels": _rule_labels(row["rule_labels"]),
                "flags": tuple(row["flags"]),
                "judge_calls": tuple(JudgeCall(**call) for call in row["judge_calls"]),
            }
        )


def _labels(row: Mapping[str, Any] | None) -> Labels | Unlabelled | None:
    if row is None:
        return None
    kind, rest = row["kind"], {key: value for key, value in row.items() if key != "kind"}
    return Labels(**rest) if kind == "labels" else Unlabelled(**rest)


def _rule_labels(row: Mapping[str, Any] | None) -> RuleLabels | None:
    return None if row is None else RuleLabels(row["seen"], tuple(row["reasons"]))


def write_rollouts(path: Path, rollouts: Iterable[ScoredRollout]) -> None:
    """Append rollouts to a file of `records/`, in one write."""
    append_jsonl(path, [rollout.as_dict() for rollout in rollouts])


def read_rollouts(path: Path) -> list[ScoredRollout]:
    """The rollouts of a file of `records/`, those that a later start of the run repeated left out.

    Raises:
        ValueError: a line that is not JSON, or of another schema; names the file.
    """
    try:
        rollouts = [ScoredRollout.from_dict(row) for row in read_jsonl(path)]
    except ValueError as error:
        raise ValueError(f"{path}: {str(error).removeprefix(f'{path}:')}") from error
    newest: dict[int, int] = {}
    for rollout in rollouts:
        newest[rollout.step] = max(rollout.attempt, newest.get(rollout.step, 0))
    return [rollout for rollout in rollouts if rollout.attempt == newest[rollout.step]]
