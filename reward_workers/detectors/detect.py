"""All rules on one response."""

from __future__ import annotations

from foundation.runs.records import RuleLabels
from reward_workers.detectors.contradiction import find_contradiction
from reward_workers.detectors.deliberation import MARKERS, find_deliberation
from reward_workers.detectors.repetition import find_repetition
from reward_workers.detectors.sentences import split_sentences, without_quotations
from reward_workers.detectors.wrapper import shape_of


def detect_patterns(visible: str) -> RuleLabels:
    r"""The labels that rules can give to a visible response, in time linear in its length.

    cot and rep are always decided: False means that no rule saw anything. con and pr are None (abstained) unless the
    text itself is the evidence; a bare answer is neither.

    >>> detect_patterns(r"Wait, let me recount. There are 3. \boxed{3}").seen["cot"]
    True
    >>> detect_patterns(r"The answer is B. \boxed{C}").reasons
    ('con:two_answers',)
    """
    spoken = without_quotations(visible)
    for marker in MARKERS:
        spoken = spoken.replace(marker, "\n")
    sentences = split_sentences(spoken)
    shape = shape_of(sentences)
    found = {
        "cot": find_deliberation(visible, spoken, sentences),
        "rep": find_repetition(spoken, sentences),
        "con": find_contradiction(sentences),
        "pr": "wrapper" if shape == "wrapper" else None,
    }
    undecided = False if shape == "bare" else None
    return RuleLabels(
        seen={
            "cot": found["cot"] is not None,
            "rep": found["rep"] is not None,
            "con": True if found["con"] else undecided,
            "pr": True if found["pr"] else undecided,
        },
        reasons=tuple(f"{label}:{reason}" for label, reason in found.items() if reason),
    )
