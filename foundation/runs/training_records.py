"""A rollout that the trainer kept, as a response of an evaluation.

Shared by the trainer, which computes its figures while it trains, and by the page of a training run.
"""

from __future__ import annotations

from foundation.runs.evaluation_records import Response
from foundation.runs.records import Labels, Unlabelled
from foundation.runs.scored_rollout import ScoredRollout


def response_of(rollout: ScoredRollout, family: str = "", category: str = "") -> Response:
    """A kept rollout as a response; its model is the step.

    A verdict that no judge could give and labels that PatternRM did not give stay missing; so does everything about a
    rollout that shows nothing.

    Args:
        family, category: of the prompt; rollouts do not carry them.
    """
    labels, verdict, visible = rollout.labels, rollout.verdict, rollout.visible
    vector = labels.decided if isinstance(labels, Labels) else None
    return Response(
        f"step {rollout.step}",
        rollout.mode,
        rollout.prompt_id,
        family,
        category,
        question=rollout.question,
        reference=rollout.reference,
        visible=visible,
        outcome="answered" if visible else "empty",
        finish_reason="length" if rollout.truncated else "stop",
        flags=tuple(sorted(rollout.flags)),
        n_tokens=rollout.n_tokens,
        n_chars=len(visible),
        correct=verdict.value if visible else None,
        correct_by=f"{verdict.stage} {verdict.reason}",
        labels=vector,
        label_reason=labels.reason if isinstance(labels, Unlabelled) else "",
        votes={} if vector is None else {"pattern_rm": vector},
    )
