"""Step 3: pattern-oriented sampling under quotas, with a reason for every candidate.

The paper gives the rules and no thresholds: all of these are settings.
"""

from __future__ import annotations

import hashlib
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean

from corpora.pattern_eval.candidates import Candidate
from corpora.pattern_eval.duplicates import Fingerprints, unreadable_image
from corpora.pattern_eval.expansion import Related, Relation
from reward_workers.verifier.rules.answer_types import check_answer_type

_ORDER: dict[Relation, int] = {"anchor": 0, "structure": 1, "similar": 2, "task": 3}


@dataclass(frozen=True, slots=True)
class SamplingRules:
    """Settings of the step.

    Attributes:
        quotas: prompts by category.
        checked_types: answer types that are decided by a check of form, such as a letter or yes and no.
        checked_share: share of such candidates from which on a category counts as dominated by them, in 0..1.
        checked_keep: what is left of the quota of such a category, in 0..1.
        source_share: largest share of the whole set that one source may have, in 0..1.
        min_variation: mean entropy of a category's responses in bits below which its quota shrinks as well.
        low_variation_keep: what is left of it then, in 0..1.
        seed: of the order among equals.
    """

    quotas: Mapping[str, int]
    checked_types: tuple[str, ...]
    checked_share: float
    checked_keep: float
    source_share: float
    min_variation: float
    low_variation_keep: float
    seed: int


@dataclass(frozen=True, slots=True)
class Decision:
    """What became of a candidate; `reason` is ``kept`` or why not, `detail` says more."""

    prompt_id: str
    category: str
    source: str
    relation: str
    kept: bool
    reason: str
    detail: str = ""


@dataclass(frozen=True, slots=True)
class Quota:
    """The quota of a category: as it was set, as it was lowered and why, and how much of it was filled."""

    asked: int
    allowed: int
    got: int
    why: str


def sample(
    candidates: Sequence[Candidate],
    related: Sequence[Related],
    rules: SamplingRules,
    training: Fingerprints,
    chosen: Fingerprints,
    root: Path,
) -> tuple[list[Decision], dict[str, Quota]]:
    """A decision on every candidate, in the order of the pool, and the quotas.

    Anchors go first, then the closest relations; among equals the candidate with more variation, then a fixed draw.

    Args:
        training: prompts of training data, which the set must not overlap.
        chosen: an empty set of fingerprints with the limits for near duplicates.
    """
    relation = {one.prompt_id: one for one in related}
    quotas = {category: _allowed(category, n, candidates, rules) for category, n in rules.quotas.items()}
    most = {source: rules.source_share * sum(rules.quotas.values()) for source in {c.prompt.source for c in candidates}}
    by_category: Counter[str] = Counter()
    by_source: Counter[str] = Counter()
    decided: dict[str, Decision] = {}

    def order(candidate: Candidate) -> tuple[int, float, str]:
        one = relation.get(candidate.prompt.prompt_id)
        draw = hashlib.blake2b(f"{rules.seed}:{candidate.prompt.prompt_id}".encode(), digest_size=8).hexdigest()
        return (len(_ORDER) if one is None else _ORDER[one.relation], -candidate.variation, draw)

    for candidate in sorted(candidates, key=order):
        prompt = candidate.prompt
        one = relation.get(prompt.prompt_id)
        reason, detail = "kept", ""
        if one is None:
            reason, detail = "not_related", "no anchor leads to it"
        elif prompt.category not in quotas:
            reason, detail = "no_quota", f"quotas has no {prompt.category}"
        elif by_category[prompt.category] >= quotas[prompt.category][0]:
            reason, detail = "quota_full", f"{prompt.category} has {quotas[prompt.category][0]}"
        elif by_source[prompt.source] + 1 > most[prompt.source]:
            reason, detail = "source_cap", f"{prompt.source} has {by_source[prompt.source]}"
        elif (broken := unreadable_image(prompt, root)) is not None:
            reason, detail = broken, "its image cannot be shown"
        elif (twin := training.twin_of(prompt)) is not None:
            reason, detail = "overlaps_training", f"nearly {twin}"
        elif (twin := chosen.twin_of(prompt)) is not None:
            reason, detail = "near_duplicate", f"nearly {twin}"
        else:
            chosen.add(prompt)
            by_category[prompt.category] += 1
            by_source[prompt.source] += 1
        shown = "" if one is None else one.relation if one.relation == "anchor" else f"{one.relation} of {one.anchor}"
        decided[prompt.prompt_id] = Decision(
            prompt.prompt_id, prompt.category, prompt.source, shown, reason == "kept", reason, detail
        )
    found = {
        category: Quota(rules.quotas[category], allowed, by_category[category], why)
        for category, (allowed, why) in quotas.items()
    }
    return [decided[candidate.prompt.prompt_id] for candidate in candidates], found


def _allowed(category: str, quota: int, candidates: Sequence[Candidate], rules: SamplingRules) -> tuple[int, str]:
    """The quota of a category after down-sampling, and why it is what it is."""
    members = [c for c in candidates if c.prompt.category == category]
    if not members:
        return quota, "the pool has no candidate"
    allowed, why = float(quota), []
    types = {check_answer_type(name) for name in rules.checked_types}
    checked = sum(check_answer_type(c.prompt.answer_type) in types for c in members) / len(members)
    if checked >= rules.checked_share:
        allowed *= rules.checked_keep
        why.append(f"{100 * checked:.0f} % are decided by a check of form")
    judged = [c.variation for c in members if c.responses > 1]
    if judged and fmean(judged) < rules.min_variation:
        allowed *= rules.low_variation_keep
        why.append(f"responses vary by {fmean(judged):.2f} bits")
    return round(allowed), "; ".join(why) or "as asked"
