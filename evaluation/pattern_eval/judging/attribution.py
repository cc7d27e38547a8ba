"""CoT-priority attribution: from evidence spans to the labels.

What a response shows inside leaked deliberation counts as CoT and not once more as one of the labels that must stand
beside it (`Label.beside_cot`: contradiction and performative reasoning); what stands outside counts by itself.
Repetition is a pattern of its own and may stand anywhere.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from foundation.labels import LABELS, row_of

LEAKED = "cot"
"""The label of leaked deliberation."""


@dataclass(frozen=True, slots=True)
class Evidence:
    """A passage of the visible response that speaks for a label.

    Attributes:
        label: the label it speaks for.
        start, end: character offsets in the visible response, end exclusive.
        other: second passage of a contradiction (start, end), None for a label that one passage shows.
    """

    label: str
    start: int
    end: int
    other: tuple[int, int] | None = None

    def __post_init__(self) -> None:
        if self.label not in LABELS:
            raise ValueError(f"evidence label {self.label!r} is unknown: use one of {', '.join(LABELS)}")
        for start, end in self.spans:
            if not 0 <= start < end:
                raise ValueError(f"evidence span ({start}, {end}) is empty or negative: give 0 <= start < end")

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        return ((self.start, self.end),) if self.other is None else ((self.start, self.end), self.other)


def attribute(evidence: Sequence[Evidence]) -> dict[str, bool]:
    """The labels of one response.

    A span counts as leaked where it lies inside the union of the CoT spans, or where more than half of it does: quotes
    of judges seldom end at the same character. A contradiction is leaked when one of its two passages is: what was
    said in deliberation is not something that the answer maintains.

    >>> leaked = Evidence("cot", 0, 50)
    >>> attribute([leaked, Evidence("con", 10, 20, other=(30, 40)), Evidence("rep", 5, 45)])
    {'cot': True, 'rep': True, 'con': False, 'pr': False}
    >>> attribute([leaked, Evidence("con", 60, 70, other=(80, 90))])["con"]
    True
    """
    leaked = _union([span for one in evidence if one.label == LEAKED for span in one.spans])
    labels = dict.fromkeys(LABELS, False)
    for one in evidence:
        stands_apart = row_of(one.label).beside_cot is not None
        if not (stands_apart and any(_is_leaked(span, leaked) for span in one.spans)):
            labels[one.label] = True
    return labels


def _union(spans: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    merged: list[tuple[int, int]] = []
    for start, end in sorted(spans):
        if merged and start <= merged[-1][1]:
            merged[-1] = (merged[-1][0], max(end, merged[-1][1]))
        else:
            merged.append((start, end))
    return merged


def _is_leaked(span: tuple[int, int], leaked: Sequence[tuple[int, int]]) -> bool:
    start, end = span
    inside = sum(max(0, min(end, stop) - max(start, begin)) for begin, stop in leaked)
    return 2 * inside > end - start
