"""The table of the bad response patterns: one row a label, and everything that differs from label to label.

Prompts, reply parser, detectors, settings, metrics, reports, pages and the toy world read this table; nobody else knows
how many labels there are, or what they are called. Order, names and meaning follow the paper (section 3, Table 1).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Label:
    """One bad response pattern.

    Attributes:
        key: its name in settings, records and metrics.
        title, title_zh: its name for people.
        wire: its name in prompts and in the replies of judges.
    """

    key: str
    title: str
    title_zh: str
    wire: str


TABLE: tuple[Label, ...] = (
    Label("cot", "leaked CoT", "思维链泄漏", "CoT"),
    Label("rep", "repetition", "重复", "Rep"),
    Label("con", "contradiction", "矛盾", "Con"),
    Label("pr", "performative", "表演式推理", "PR"),
)

LABELS: tuple[str, ...] = tuple(label.key for label in TABLE)
"""The keys, in the order of the table."""


def trigger(vector: Mapping[str, bool | None]) -> bool:
    """Whether a response shows one label at least (Trigger); a label that nobody decided (None) is not seen.

    >>> trigger({"cot": False, "rep": True, "con": None, "pr": None})
    True
    """
    return any(vector[label] for label in LABELS)
