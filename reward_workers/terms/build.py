"""The terms of a reward, from its settings and the judges that it asks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

from foundation.settings.sections import RewardMix
from reward_workers.gate import Gate
from reward_workers.terms.pattern_term import PatternJudgeLike, PatternTerm
from reward_workers.terms.term import RewardTerm
from reward_workers.terms.verifier_term import AnswerJudgeLike, VerifierTerm
from reward_workers.verifier import Verifier


def build_terms(mix: RewardMix, judges: Mapping[str, Any]) -> tuple[RewardTerm, ...]:
    """The terms in the order in which they are computed: the verifier's first, whose verdict the others read.

    Args:
        judges: by key, all that `foundation.settings.asked_judges` names for this reward.
    """
    return (
        VerifierTerm(Verifier(**mix.verifier.model_dump()), cast(AnswerJudgeLike, judges["fallback"]), mix.on_unscored),
        PatternTerm(
            cast(PatternJudgeLike | None, judges.get("pattern_rm")),
            Gate(**mix.gate.model_dump()),
            source=mix.labels.source if mix.pattern_penalty else None,
            penalty=mix.penalty,
            score_incorrect=mix.score_incorrect,
        ),
    )
