"""Step 1: anchors, the candidates on which recurrent failures were seen, with their evidence."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from corpora.pattern_eval.candidates import Candidate
from foundation.labels import LABELS


@dataclass(frozen=True, slots=True)
class Anchor:
    """`labels`: the patterns that recur on it; `evidence`: a quotation for each, where a judge gave one."""

    prompt_id: str
    labels: tuple[str, ...]
    trigger_share: float
    wrong_share: float
    evidence: dict[str, str]


def find_anchors(candidates: Sequence[Candidate], min_responses: int, min_share: float) -> list[Anchor]:
    """Candidates with a pattern in a share of their responses, the most difficult first.

    Args:
        min_responses: fewer labelled responses than this make no anchor: what one model did once does not recur.
        min_share: share of them that shows the same label, in 0..1.
    """
    found = []
    for candidate in candidates:
        if candidate.responses < min_responses:
            continue
        labels = tuple(label for label in LABELS if candidate.by_label[label] >= min_share * candidate.responses)
        labels = tuple(label for label in labels if candidate.by_label[label])
        if labels:
            evidence = {label: text for label, text in candidate.evidence.items() if label in labels}
            found.append(
                Anchor(candidate.prompt.prompt_id, labels, candidate.trigger_share, candidate.wrong_share, evidence)
            )
    return sorted(found, key=lambda anchor: (-anchor.trigger_share, -anchor.wrong_share, anchor.prompt_id))
