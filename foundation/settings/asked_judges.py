"""Which judges a reward asks: the one place that says so to the checks, the plan, the fleet and the reward workers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foundation.settings.judge_kinds import ANSWER_JUDGE, PATTERN_RM
from foundation.settings.sections import RewardMix


@dataclass(frozen=True, slots=True)
class AskedJudge:
    """A judge that a reward may ask.

    Attributes:
        kind: the class that asks it (`foundation.settings.judge_kinds`).
        unasked: why a reward does not ask it, as the setting that says so; None where it does.
    """

    kind: str
    unasked: Callable[[RewardMix], str | None]


def _no_labels_of_a_model(mix: RewardMix) -> str | None:
    if mix.asks_pattern_rm:
        return None
    return f"reward_mix.{'labels.source=rules' if mix.pattern_penalty else 'pattern_penalty=false'}"


JUDGES: dict[str, AskedJudge] = {
    "fallback": AskedJudge(ANSWER_JUDGE, lambda mix: None),
    "pattern_rm": AskedJudge(PATTERN_RM, _no_labels_of_a_model),
}
"""By the key of its section in `judges`."""


def asked_judges(mix: RewardMix) -> tuple[str, ...]:
    """The keys of the judges that a reward asks, in the order of `JUDGES`."""
    return tuple(name for name, judge in JUDGES.items() if judge.unasked(mix) is None)
