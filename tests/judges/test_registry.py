"""One table says who asks with which prompt; what it names exists, and another judge needs nothing beside it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Self

import pytest

from foundation.settings.asked_judges import JUDGES, AskedJudge, asked_judges
from foundation.settings.compose import compose_config, plain_settings
from foundation.settings.judge_kinds import ASKED_BY, PATTERN_JUDGE, PATTERN_RM, misfit, prompts_of
from foundation.settings.judges import JudgeSettings
from foundation.settings.run_settings import read_settings
from foundation.settings.sections import RewardMix
from reward_workers.judges.answer_judge import AnswerJudge
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.judge import Judge
from reward_workers.judges.pattern_rm import PatternRM
from reward_workers.judges.prompts.render import FIELDS
from reward_workers.judges.registry import judge_class, judges_of_reward
from trainer.main import prepare


def _as_json(follows: int) -> dict[str, Any]:
    return {"follows": follows}


def _from_json(stored: dict[str, Any]) -> int:
    return int(stored["follows"])


class ConsistencyJudge(Judge[int]):
    """A judge that this project does not have: does the answer follow from the reasoning?"""

    def __init__(self, settings: JudgeSettings, cap: float, cache: JudgeCache | None = None) -> None:
        super().__init__(settings, cache, reminder="verdict_reminder", encode=_as_json, decode=_from_json)
        self.cap = cap

    @classmethod
    def for_reward(cls, settings: JudgeSettings, mix: RewardMix, cache: JudgeCache | None) -> Self:
        return cls(settings, mix.cap, cache)


ELSEWHERE = [
    f"judges.{name}.{value}"
    for name in ("fallback", "pattern_rm")
    for value in ("serve=null", "base_urls=[http://h/v1]")
]


def mix_of(*overrides: str) -> RewardMix:
    return RewardMix.model_validate(plain_settings(compose_config(["run.name=x", *overrides]).reward_mix))


def test_every_prompt_is_asked_by_a_class_and_every_class_asks_with_a_prompt() -> None:
    reminders = {prompt for prompt in FIELDS if prompt.endswith("_reminder")}
    assert set(ASKED_BY) == set(FIELDS) - reminders
    for prompt, path in ASKED_BY.items():
        found = judge_class(prompt)
        assert issubclass(found, Judge) and f"{found.__module__}:{found.__name__}" == path


def test_prompts_of_kinds_and_what_does_not_fit() -> None:
    assert prompts_of(PATTERN_RM, PATTERN_JUDGE) == ("pattern_rm", "pattern_judge")
    assert misfit("a", "pattern_rm", PATTERN_RM, PATTERN_JUDGE) is None
    assert misfit("a", "answer_correctness", PATTERN_RM, PATTERN_JUDGE) == (
        "judges.a.prompt='answer_correctness' cannot do this: use pattern_rm or pattern_judge"
    )


@pytest.mark.parametrize(
    ("overrides", "asked", "why_not"),
    [
        ([], ("fallback", "pattern_rm"), None),
        (["reward_mix=base_rl"], ("fallback",), "reward_mix.pattern_penalty=false"),
        (["reward_mix.labels.source=rules"], ("fallback",), "reward_mix.labels.source=rules"),
    ],
)
def test_a_reward_names_its_judges(overrides: list[str], asked: tuple[str, ...], why_not: str | None) -> None:
    mix = mix_of(*overrides)
    assert asked_judges(mix) == asked
    assert JUDGES["pattern_rm"].unasked(mix) == why_not


def test_the_judges_of_a_reward_have_its_settings_and_their_share(section: Callable[..., dict[str, Any]]) -> None:
    sections = {"fallback": section(), "pattern_rm": section(prompt="pattern_rm", concurrency=3)}
    mix = mix_of("reward_mix.threshold.con=0.7")
    judges = judges_of_reward(sections, mix, None, worker=0, workers=2)
    assert {name: type(judge) for name, judge in judges.items()} == {"fallback": AnswerJudge, "pattern_rm": PatternRM}
    assert [judge.settings.concurrency for judge in judges.values()] == [4, 2]
    assert judges["pattern_rm"].threshold["con"] == 0.7  # type: ignore[attr-defined]
    only = judges_of_reward(sections, mix_of("reward_mix=base_rl"), None, worker=0, workers=2)
    assert list(only) == ["fallback"]


def test_a_further_judge_is_a_class_a_line_of_the_table_a_section_and_who_asks_it(
    monkeypatch: pytest.MonkeyPatch, section: Callable[..., dict[str, Any]]
) -> None:
    kind = f"{ConsistencyJudge.__module__}:{ConsistencyJudge.__name__}"
    monkeypatch.setitem(ASKED_BY, "pattern_judge", kind)  # in the place of a template of its own
    monkeypatch.setitem(JUDGES, "consistency", AskedJudge(kind, lambda mix: None))
    own = section(prompt="pattern_judge")
    text = str(own).replace("None", "null").replace("'", "")
    config = compose_config(["dry_run=true", *ELSEWHERE, f"+judges.consistency={text}"])
    settings, plan = prepare(config)
    assert list(settings.judges) == ["fallback", "pattern_rm", "consistency"]
    assert "judge consistency" in dict(plan.rows)
    made = judges_of_reward(plain_settings(config.judges), settings.reward_mix, None, worker=0, workers=1)
    assert isinstance(made["consistency"], ConsistencyJudge) and made["consistency"].cap == 0.1


def test_a_reward_cannot_ask_a_judge_of_the_evaluation(section: Callable[..., dict[str, Any]]) -> None:
    settings = JudgeSettings.from_config(section(prompt="answer_correctness"), "correctness")
    with pytest.raises(NotImplementedError, match="no reward asks CorrectnessJudge"):
        judge_class("answer_correctness").for_reward(settings, mix_of(), None)


def test_a_run_whose_reward_asks_nobody_for_labels_reads_no_such_section() -> None:
    assert list(read_settings(compose_config(["reward_mix=base_rl", "judges.pattern_rm.model=null"])).judges) == [
        "fallback"
    ]
