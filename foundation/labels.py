"""The table of the bad response patterns: one row a label, and everything that differs from label to label.

    python -m foundation.labels        prints the table of docs/labels.md

Prompts, reply parser, detectors, settings, metrics, reports, pages and the toy world read this table; nobody else knows
how many labels there are, or what they are called. Order, names and meaning follow the paper.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import product
from pathlib import Path
from typing import Any

MOST = 8
"""Labels at most: prompts and replies number them with one digit, and the next digit shows a decision too many."""


@dataclass(frozen=True, slots=True)
class Label:
    """One bad response pattern.

    Attributes:
        key: its name in settings, records and metrics.
        wire: its name in prompts and in the replies of judges, and its short name in tables.
        title, title_zh: its name for people.
        means, means_zh: when it is present, in one sentence.
        acceptable: a response without it; triggering: a response with it.
        spellings: regular expression of every name of it that a judge may use in a reply, without regard to case.
        colour: of its curves, as matplotlib names colours.
        beside_cot: what must stand outside of leaked deliberation for the label to count, in English and Chinese: what
            shows it inside counts as `cot` alone (CoT priority). None for a label that counts wherever it stands.
        two_passages: its evidence is two passages that must be read together.
        prompts: folder of its lines in the prompts, `<key>.en.txt` and `<key>.zh.txt`; None is the folder of the
            product, `reward_workers/judges/prompts/labels`.
    """

    key: str
    wire: str
    title: str
    title_zh: str
    means: str
    means_zh: str
    acceptable: str
    triggering: str
    spellings: str
    colour: str
    beside_cot: tuple[str, str] | None = None
    two_passages: bool = False
    prompts: Path | None = None


TABLE: tuple[Label, ...] = (
    Label(
        key="cot",
        wire="CoT",
        title="leaked chain of thought",
        title_zh="思维链泄漏",
        means="The response shows its own working process instead of its result.",
        means_zh="回复展示的是自己的思考过程，而不是思考的结果。",
        acceptable=r"Row 1 holds two red shapes and row 2 holds three. \boxed{5}",
        triggering=r"Let me count. Row 1 has two. Wait, let me recount: row 1 has three. \boxed{3}",
        spellings=r"(?:leaked\s+)?(?:chain[-_ ]of[-_ ]thought|cot)|(?:思维链|思考过程|推理过程|内部思考)",
        colour="tab:red",
    ),
    Label(
        key="rep",
        wire="Rep",
        title="repetition",
        title_zh="重复",
        means="The response says again what it has already said, and gains nothing by it.",
        means_zh="回复把已经说过的内容再说一遍，没有新增信息。",
        acceptable=r"The bar of 2019 is the tallest, at 42. So the answer is 2019. \boxed{2019}",
        triggering=r"The bar of 2019 is the tallest. Indeed, the bar of 2019 is the tallest. \boxed{2019}",
        spellings=r"repetitiveness|repetitive|repetitions?|rep|重复冗余|冗余重复|重复|冗余",
        colour="tab:orange",
    ),
    Label(
        key="con",
        wire="Con",
        title="contradiction",
        title_zh="矛盾",
        means="Two of its statements about the same thing cannot both be true, and neither is taken back.",
        means_zh="关于同一事物的两处陈述不能同时为真，且都没有被收回。",
        acceptable=r"The left bar ends at 3 and the right bar ends at 4. \boxed{right}",
        triggering=r"The answer is B. \boxed{C}",
        spellings=r"(?:self-)?contradictions?|(?:self-)?contradictory|con|自相矛盾|前后矛盾|矛盾",
        colour="tab:purple",
        beside_cot=("contradiction", "矛盾"),
        two_passages=True,
    ),
    Label(
        key="pr",
        wire="PR",
        title="performative reasoning",
        title_zh="表演式推理",
        means="The response poses as an analysis without substance, or its evidence does not support its conclusion.",
        means_zh="回复摆出分析的姿态却没有实质内容，或者给出的依据不支持结论。",
        acceptable=r"The sign above the left door reads EXIT. \boxed{left}",
        triggering=r"After a careful analysis of the image, the answer is clear. \boxed{left}",
        spellings=r"performative(?:[\s_]+reasoning)?|pr|(?:表演|形式|伪装|虚假|装饰)(?:性|式|化)?推理|伪推理",
        colour="tab:brown",
        beside_cot=("empty justification", "空洞论证"),
    ),
)

LABELS: tuple[str, ...] = tuple(label.key for label in TABLE)
"""The keys, in the order of the table."""

Vector = Mapping[str, bool]
"""Each label, present or not."""


def add_label(label: Label) -> None:
    """Add a row for this process, before any other module of the project is imported.

    For trying a label out, and for tests. The processes of a run each import the table anew, so that a label that is to
    be trained against is a row of `TABLE` above.

    Raises:
        ValueError: its key or its wire name is taken, or the table is full.
        RuntimeError: a module has read the table already, and would go on without the label.
    """
    global TABLE, LABELS
    if any(label.key == row.key or label.wire.lower() == row.wire.lower() for row in TABLE):
        raise ValueError(f"label {label.key!r} ({label.wire}): the table has that key or that wire name already")
    if len(TABLE) == MOST:
        raise ValueError(f"label {label.key!r} would be number {MOST + 1}: the table has room for {MOST}")
    for name, module in list(sys.modules.items()):
        if name != __name__ and _has_read(module):
            raise RuntimeError(f"label {label.key!r} comes too late: {name} has read the table; add it first")
    TABLE = (*TABLE, label)
    LABELS = tuple(row.key for row in TABLE)


def _has_read(module: object) -> bool:
    """Whether a module holds the table or its keys, as `from foundation.labels import LABELS` leaves them."""
    return any(value is TABLE or value is LABELS for value in list(getattr(module, "__dict__", {}).values()))


def row_of(key: str) -> Label:
    """The row of a label; KeyError for an unknown one."""
    return {row.key: row for row in TABLE}[key]


def trigger(vector: Mapping[str, bool | None]) -> bool:
    """Whether a response shows one label at least (Trigger); a label that nobody decided (None) is not seen.

    >>> trigger({"cot": False, "rep": True, "con": None, "pr": None})
    True
    """
    return any(vector[label] for label in LABELS)


def all_vectors() -> list[dict[str, bool]]:
    """Every label vector, from none to all."""
    return [dict(zip(LABELS, values, strict=True)) for values in product((False, True), repeat=len(LABELS))]


def as_lines(vector: Vector) -> str:
    r"""A vector as a compact judge writes it, a line a label.

    >>> as_lines({"cot": True, "rep": False, "con": False, "pr": False})
    'CoT: 1\nRep: 0\nCon: 0\nPR: 0'
    """
    return "\n".join(f"{row.wire}: {int(vector[row.key])}" for row in TABLE)


def as_digits(vector: Vector) -> list[int]:
    """A vector as 0 and 1 in the order of the table, for caches and pages."""
    return [int(vector[label]) for label in LABELS]


def from_digits(digits: Any) -> dict[str, bool]:
    """Read what :func:`as_digits` wrote.

    >>> from_digits([1, 0, 0, 1])["pr"]
    True

    Raises:
        ValueError: anything else, such as the digits of a table with fewer labels.
    """
    if not isinstance(digits, list) or len(digits) != len(LABELS):
        raise ValueError(f"{digits!r} is no vector of {', '.join(LABELS)}")
    if any(type(digit) is not int or digit not in (0, 1) for digit in digits):
        raise ValueError(f"{digits!r} holds something else than 0 and 1")
    return dict(zip(LABELS, map(bool, digits), strict=True))


def markdown() -> str:
    """The table for people, in Markdown."""
    head = ("key", "in prompts", "title", "meaning", "acceptable", "triggering")
    lines = [head, ("---",) * len(head)]
    for row in TABLE:
        title, means = f"{row.title}, {row.title_zh}", f"{row.means} {row.means_zh}"
        lines.append((f"`{row.key}`", row.wire, title, means, f"`{row.acceptable}`", f"`{row.triggering}`"))
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


if __name__ == "__main__":
    print(markdown())
