"""One scored rollout as everything after the reward worker reads it: reward record, texts, mode, and what judges cost.

The reward worker writes it as JSON once, the trainer reads it once, the run folder keeps it as a line:

>>> ScoredRollout.from_json('{"step": 3}')
Traceback (most recent call last):
    ...
ValueError: a rollout record of schema 1, where this version reads schema 2
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any

from foundation.labels import LABELS
from foundation.responses.families import Mode, check_mode
from foundation.runs.judge_call import JudgeCall
from foundation.runs.records import (
    RECORD_SCHEMA,
    Labels,
    RewardRecord,
    RuleLabels,
    SymbolicLosses,
    TermValue,
    Unlabelled,
    Verdict,
)
from foundation.runs.run_folder import append_lines, read_jsonl


@dataclass(frozen=True, slots=True)
class ScoredRollout(RewardRecord):
    """A reward record with what a person or a metric wants beside it.

    Attributes:
        mode: the thinking mode that the prompt was asked in.
        question, reference: of the prompt.
        visible: what the user sees of the response.
        flags: of `foundation.responses.channels`.
        judge_calls: the questions that were asked for this rollout, in their order.
        attempt: index of the start of the run that kept it, 0 for the first; `write_rollouts` sets it.
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

    def to_json(self) -> str:
        """One line of JSON; labels carry a tag, `kind`, that tells a vector from a failed call."""
        return json.dumps(self, default=_row_of, ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> ScoredRollout:
        """Read what :meth:`to_json` wrote.

        Raises:
            ValueError: no JSON, a record of another schema or of other labels, or one that lacks a field.
        """
        return cls.from_row(json.loads(text))

    @classmethod
    def from_row(cls, row: Mapping[str, Any]) -> ScoredRollout:
        """Read the JSON object that :meth:`to_json` wrote; raises as :meth:`from_json` does."""
        schema = row.get("schema", 1) if isinstance(row, dict) else None
        if schema != RECORD_SCHEMA:
            raise ValueError(f"a rollout record of schema {schema}, where this version reads schema {RECORD_SCHEMA}")
        try:
            if set(row["weights"]) != set(LABELS):
                raise ValueError(
                    f"a rollout record of the labels {', '.join(row['weights'])}, where this version has "
                    f"{', '.join(LABELS)}"
                )
            rest = {name: value for name, value in row.items() if name not in _READ}
            return cls(
                mode=check_mode(row["mode"]),
                verdict=Verdict(**row["verdict"]),
                verifier=Verdict(**row["verifier"]),
                losses=SymbolicLosses(**row["losses"]),
                labels=_labels(row["labels"]),
                rule_labels=_rule_labels(row["rule_labels"]),
                flags=tuple(row["flags"]),
                judge_calls=tuple(JudgeCall(**call) for call in row["judge_calls"]),
                terms={name: TermValue(**value) for name, value in row["terms"].items()},
                **rest,
            )
        except (KeyError, TypeError) as error:
            raise ValueError(f"no whole rollout record ({error!r})") from error


_READ = frozenset(
    {"schema", "mode", "verdict", "verifier", "losses", "labels", "rule_labels", "flags", "judge_calls", "terms"}
)
"""Keys of a line that are read one by one; the others are fields as they stand."""
_KINDS = {"labels": Labels, "unlabelled": Unlabelled}


def _row_of(value: Any) -> dict[str, Any]:
    """The fields of a record, one level deep, as `json` asks for them; `asdict` would copy all of them first."""
    row = {field.name: getattr(value, field.name) for field in fields(value)}
    if isinstance(value, ScoredRollout):
        return {"schema": RECORD_SCHEMA, **row}
    tag = next((kind for kind, cls in _KINDS.items() if isinstance(value, cls)), None)
    return row if tag is None else {"kind": tag, **row}


def _labels(row: Mapping[str, Any] | None) -> Labels | Unlabelled | None:
    if row is None:
        return None
    return _KINDS[row["kind"]](**{name: value for name, value in row.items() if name != "kind"})


def _rule_labels(row: Mapping[str, Any] | None) -> RuleLabels | None:
    return None if row is None else RuleLabels(row["seen"], tuple(row["reasons"]))


def write_rollouts(path: Path, attempt: int, rollouts: Iterable[ScoredRollout]) -> None:
    """Append rollouts to a file of `records/`, in one write, as those of this start of the run."""
    append_lines(path, [replace(rollout, attempt=attempt).to_json() for rollout in rollouts])


def read_rollouts(path: Path) -> list[ScoredRollout]:
    """The rollouts of a file of `records/`, each step once: those of a start whose step a later one repeated are left
    out. No file has none.

    Raises:
        ValueError: as :func:`read_all_rollouts`.
    """
    rollouts = read_all_rollouts(path)
    newest: dict[int, int] = {}
    for rollout in rollouts:
        newest[rollout.step] = max(rollout.attempt, newest.get(rollout.step, 0))
    return [rollout for rollout in rollouts if rollout.attempt == newest[rollout.step]]


def read_all_rollouts(path: Path) -> list[ScoredRollout]:
    """Every rollout of a file of `records/`, those of repeated steps too.

    Raises:
        ValueError: a line that is not JSON, or no record of this version; names file and line, and says what to do.
    """
    rollouts = []
    for number, row in enumerate(read_jsonl(path), start=1):
        try:
            rollouts.append(ScoredRollout.from_row(row))
        except ValueError as error:
            raise ValueError(
                f"{path}:{number}: {error}: run this command with the version of the code that wrote the file"
            ) from error
    return rollouts
