"""The responses of a run: generations, verdicts and labels joined, and kept for other runs to show."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from evaluation.pattern_eval.judging.agreement import majority
from evaluation.pattern_eval.judging.stage import LabelRecord, text_hash
from evaluation.pattern_eval.run import Results
from evaluation.pattern_eval.settings import EvalSettings
from foundation.labels import LABELS
from foundation.runs.evaluation_records import Generation, Prompt, Response
from foundation.runs.run_folder import write_whole
from reward_workers.detectors import detect_patterns

Oracle = Callable[[str, str], Mapping[str, bool]]

RESPONSES = "responses.jsonl"
"""What another run shows beside its own with `compare`."""


def join(settings: EvalSettings, prompts: Sequence[Prompt], results: Results, oracle: Oracle | None) -> list[Response]:
    """One response for each prompt and mode, in the order of prompts, non-thinking first."""
    joined = []
    for mode in settings.modes:
        for prompt in prompts:
            generation = results.generations.get((mode, prompt.prompt_id))
            if generation is not None:
                joined.append(_response(prompt, generation, results, oracle))
    return joined


def _response(prompt: Prompt, generation: Generation, results: Results, oracle: Oracle | None) -> Response:
    at, visible = (generation.mode, prompt.prompt_id), generation.visible
    text = text_hash(visible)
    answered = generation.outcome == "answered"
    verdict = _about(results.verdicts.get(at), text) if answered else None
    records = {name: _about(found.get(at), text) for name, found in results.labels.items()} if answered else {}
    votes = {
        name: record.labels for name, record in records.items() if record is not None and record.labels is not None
    }
    decided = majority(votes) if answered else "not_judged"
    labels = None if isinstance(decided, str) else decided
    reason = decided if isinstance(decided, str) else ""
    if reason == "no_judge":
        reason = (
            ", ".join(sorted(f"{n}: {r.why}" for n, r in records.items() if r is not None and r.why)) or "not judged"
        )
    return Response(
        generation.model,
        generation.mode,
        prompt.prompt_id,
        prompt.family,
        prompt.category,
        question=prompt.question,
        reference=prompt.reference,
        visible=visible,
        outcome=generation.outcome,
        finish_reason=generation.finish_reason,
        flags=generation.flags,
        n_tokens=generation.n_tokens,
        n_chars=generation.n_chars,
        correct=None if verdict is None else verdict.value,
        correct_by=generation.error if verdict is None else f"{verdict.stage} {verdict.reason}",
        labels=labels,
        label_reason=reason,
        votes=votes,
        evidence={} if labels is None else _evidence(visible, labels, records),
        truth=None if oracle is None or not answered else dict(oracle(prompt.question, visible)),
    )


def _about(record: Any, text: str) -> Any:
    """The judgement, if it is about this text."""
    return record if record is not None and record.text_hash == text else None


def _evidence(visible: str, labels: Mapping[str, bool], records: Mapping[str, LabelRecord | None]) -> dict[str, str]:
    """What speaks for each label that is set: the reason of the first judge that set it, else the rule that saw it."""
    found = {}
    rules = dict(rule.split(":", 1) for rule in detect_patterns(visible).reasons)
    for label in LABELS:
        if not labels[label]:
            continue
        given = [
            f"{name}: {record.reasons[label]}"
            for name, record in records.items()
            if record is not None and record.labels is not None and record.labels[label] and record.reasons.get(label)
        ]
        if given:
            found[label] = given[0]
        elif label in rules:
            found[label] = f"rule: {rules[label].replace('_', ' ')}"
    return found


def write_responses(path: Path, responses: Sequence[Response]) -> None:
    """Keep the joined responses for other runs to show; the whole file or the old one."""
    write_whole(path, "".join(json.dumps(asdict(response)) + "\n" for response in responses))


def read_responses(folder: Path) -> list[Response]:
    """The responses of another run.

    Raises:
        ValueError: the folder holds no finished run.
    """
    path = folder / RESPONSES
    if not path.is_file():
        raise ValueError(f"compare has {folder}, which holds no {RESPONSES}: give the folder of a finished run")
    responses = []
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), start=1):
        try:
            row = json.loads(line)
            if row["labels"] is not None and tuple(row["labels"]) != LABELS:
                raise ValueError(f"its labels are {', '.join(row['labels'])}, not {', '.join(LABELS)}")
            responses.append(Response(**{**row, "flags": tuple(row["flags"])}))
        except (ValueError, TypeError, KeyError) as error:
            raise ValueError(f"{path}:{number}: no response ({error}); make the report of that run again") from error
    return responses
