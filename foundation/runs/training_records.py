"""A rollout that the trainer kept, as a response of an evaluation.

Shared by the trainer, which computes its figures while it trains, and by the page of a training run.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from foundation.labels import LABELS
from foundation.responses.families import Mode
from foundation.runs.evaluation_records import Response


def response_of(row: Mapping[str, Any], mode: Mode, family: str = "", category: str = "") -> Response:
    """The response in a row of `records/*.jsonl`; its model is the step.

    A verdict that no judge could give and labels that PatternRM did not give stay missing; so does everything about a
    rollout that shows nothing.

    Args:
        family, category: of the prompt; the rows do not carry them.
    """
    labels, verdict, visible = row["labels"], row["verdict"], row["visible"]
    labelled = labels is not None and "cot" in labels
    vector = {label: bool(labels[label]) for label in LABELS} if labelled else None
    return Response(
        f"step {row['step']}",
        mode,
        row["prompt_id"],
        family,
        category,
        question=row["question"],
        reference=row["reference"],
        visible=visible,
        outcome="answered" if visible else "empty",
        finish_reason="length" if row["truncated"] else "stop",
        flags=tuple(sorted(row["flags"])),
        n_tokens=row["n_tokens"],
        n_chars=len(visible),
        correct=verdict["value"] if visible else None,
        correct_by=f"{verdict['stage']} {verdict['reason']}",
        labels=vector,
        label_reason="" if labelled or labels is None else labels["reason"],
        votes={} if vector is None else {"pattern_rm": vector},
    )
