"""All rules on one response."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from foundation.labels import LABELS
from foundation.runs.records import RuleLabels
from reward_workers.detectors.contradiction import find_contradiction
from reward_workers.detectors.deliberation import MARKERS, find_deliberation
from reward_workers.detectors.repetition import find_repetition
from reward_workers.detectors.sentences import Sentence, split_sentences, without_quotations
from reward_workers.detectors.wrapper import Shape, shape_of


@dataclass(frozen=True, slots=True)
class Text:
    """A visible response as detectors read it.

    Attributes:
        visible: as the user sees it.
        spoken: without quotations, think markers as line breaks.
        sentences, shape: of `spoken`.
    """

    visible: str
    spoken: str
    sentences: Sequence[Sentence]
    shape: Shape


@dataclass(frozen=True, slots=True)
class Detector:
    """The rules for one label.

    Attributes:
        find: what the rules see, such as ``self_correction``; None for nothing. Linear in the length of the text.
        decides: where they see nothing, the label is absent. Otherwise they abstain, except on a bare answer.
    """

    find: Callable[[Text], str | None]
    decides: bool


DETECTORS: dict[str, Detector] = {
    "cot": Detector(lambda text: find_deliberation(text.visible, text.spoken, text.sentences), decides=True),
    "rep": Detector(lambda text: find_repetition(text.spoken, text.sentences), decides=True),
    "con": Detector(lambda text: find_contradiction(text.sentences), decides=False),
    "pr": Detector(lambda text: "wrapper" if text.shape == "wrapper" else None, decides=False),
}
"""The detector of each label; rules always abstain on a label without one."""


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
    text = Text(visible, spoken, sentences, shape_of(sentences))
    seen: dict[str, bool | None] = dict.fromkeys(LABELS)
    reasons = []
    for label in LABELS:
        detector = DETECTORS.get(label)
        if detector is None:
            continue
        reason = detector.find(text)
        if reason is not None:
            seen[label] = True
            reasons.append(f"{label}:{reason}")
        elif detector.decides or text.shape == "bare":
            seen[label] = False
    return RuleLabels(seen, tuple(reasons))
