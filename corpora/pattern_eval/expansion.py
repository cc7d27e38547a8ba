"""Step 2: from anchors to related candidates, so that a failure is met in its broader forms.

Three relations, from the closest on: the same prompt structure (the question with its numbers, names and options taken
out), the same task (source and category), and a similar question (shared word triples).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from corpora.pattern_eval.anchors import Anchor
from corpora.pattern_eval.duplicates import shingles
from foundation.runs.evaluation_records import Prompt

Relation = Literal["anchor", "structure", "similar", "task"]


@dataclass(frozen=True, slots=True)
class Related:
    """A candidate that expansion keeps: through which anchor, and how they are related."""

    prompt_id: str
    relation: Relation
    anchor: str


def structure_of(question: str) -> str:
    """The form of a question: numbers, quoted text and option lists become marks.

    >>> structure_of('How many "red" cells are in row 3?') == structure_of('How many "blue" cells are in row 12?')
    True
    """
    text = re.sub(r"(?m)^\s*\(?[A-Z][.)]\s.*$", "<option>", question)
    text = re.sub(r"\"[^\"\n]*\"|“[^”\n]*”|'[^'\n]{2,}'", "<quoted>", text)
    text = re.sub(r"\d+(?:[.,]\d+)*", "<number>", text)
    return re.sub(r"(?:<option>\s*)+", "<options> ", " ".join(text.lower().split())).strip()


def expand(prompts: Sequence[Prompt], anchors: Sequence[Anchor], similarity: float, per_anchor: int) -> list[Related]:
    """Anchors and what is related to them, each candidate once by its closest relation.

    Args:
        similarity: shared word triples over all (Jaccard), in 0..1, from which on two questions are similar.
        per_anchor: candidates that one anchor may bring in by task; the other relations are not bounded.
    """
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    found: dict[str, Related] = {a.prompt_id: Related(a.prompt_id, "anchor", a.prompt_id) for a in anchors}
    structures: dict[str, list[Prompt]] = defaultdict(list)
    triples: dict[tuple[str, ...], list[str]] = defaultdict(list)
    tasks: dict[tuple[str, str], list[Prompt]] = defaultdict(list)
    own = {}
    for prompt in prompts:
        structures[structure_of(prompt.question)].append(prompt)
        tasks[prompt.source, prompt.category].append(prompt)
        own[prompt.prompt_id] = shingles(prompt.question)
        for triple in own[prompt.prompt_id]:
            triples[triple].append(prompt.prompt_id)
    for anchor in anchors:
        for prompt in structures[structure_of(by_id[anchor.prompt_id].question)]:
            found.setdefault(prompt.prompt_id, Related(prompt.prompt_id, "structure", anchor.prompt_id))
    for anchor in anchors:
        mine = own[anchor.prompt_id]
        for other in sorted({prompt_id for triple in mine for prompt_id in triples[triple]}):
            if len(mine & own[other]) >= similarity * len(mine | own[other]):
                found.setdefault(other, Related(other, "similar", anchor.prompt_id))
    for anchor in anchors:
        prompt = by_id[anchor.prompt_id]
        new = [p for p in tasks[prompt.source, prompt.category] if p.prompt_id not in found]
        for one in new[:per_anchor]:
            found[one.prompt_id] = Related(one.prompt_id, "task", anchor.prompt_id)
    return [found[prompt.prompt_id] for prompt in prompts if prompt.prompt_id in found]
