"""The typed check of every setting that is this project's own: types and ranges, and what must fit together.

Pure: imports neither torch, ray, verl, vllm nor wandb.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from foundation.responses.families import check_mode
from foundation.responses.modes import has_switch
from foundation.settings.asked_judges import JUDGES, asked_judges
from foundation.settings.compose import ConfigError, explain
from foundation.settings.judge_kinds import misfit
from foundation.settings.judges import JudgeSettings
from foundation.settings.section_check import check_section, nearest
from foundation.settings.sections import (
    SECTIONS,
    Cluster,
    Corpus,
    JudgeCache,
    PatternEval,
    Policy,
    RewardMix,
    Run,
    Section,
    Tracking,
)


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked settings of one run. `judges`: those that its reward asks, by the key of their section."""

    dry_run: bool
    seed: int
    run: Run
    policy: Policy
    corpus: Corpus
    reward_mix: RewardMix
    cluster: Cluster
    judge_cache: JudgeCache
    pattern_eval: PatternEval
    tracking: Tracking
    judges: Mapping[str, JudgeSettings]


def read_settings(config: DictConfig) -> Settings:
    """Check this project's sections of a composed tree.

    Raises:
        ConfigError: one line for every problem: key, value, what to set.
    """
    problems: list[str] = []
    sections = read_sections(config, SECTIONS, problems)
    judges_section = _plain(config, "judges", problems)
    for key, kind in (("dry_run", bool), ("seed", int)):
        if type(config[key]) is not kind:
            problems.append(f"{key}={config[key]!r}: set {'true or false' if kind is bool else 'a whole number'}")
    mix = sections.get("reward_mix")
    asked = asked_judges(mix) if isinstance(mix, RewardMix) else tuple(JUDGES)
    judges = _read_judges(judges_section or {}, asked, problems)
    if isinstance(mix, RewardMix):
        problems += _check_reward(mix)
    if problems:
        raise ConfigError(problems)
    settings = Settings(
        dry_run=config.dry_run,
        seed=config.seed,
        judges=judges,
        **sections,  # type: ignore[arg-type]
    )
    problems = (
        _check_judges(settings)
        + _check_concurrency(settings, config.reward.num_workers)
        + _check_pattern_eval(settings)
    )
    if problems:
        raise ConfigError(problems)
    return settings


def read_sections(
    config: DictConfig, models: Mapping[str, type[Section]], problems: list[str]
) -> dict[str, Section | None]:
    """Check sections of a composed tree against their models.

    Args:
        models: the model of each section, by its name.
        problems: gets one line for every problem: key, value, what to set.

    Returns:
        The checked sections; None for one with a problem.
    """
    sections: dict[str, Section | None] = {}
    for name, model in models.items():
        plain = _plain(config, name, problems)
        sections[name] = None if plain is None else check_section(model, plain, name, problems)
    return sections


def _plain(config: DictConfig, name: str, problems: list[str]) -> Any:
    try:
        return OmegaConf.to_container(config[name], resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        problems.append(explain(error))
        return None


def _read_judges(plain: Mapping[str, Any], asked: Sequence[str], problems: list[str]) -> dict[str, JudgeSettings]:
    problems += [f"judges.{name}: no such judge{nearest(name, JUDGES)}" for name in plain if name not in JUDGES]
    judges = {}
    for name in asked:
        where = f"judges.{name}"
        if plain.get(name) is None:
            problems.append(f"{where} is missing: choose judge=toy, judge=cluster or judge=external")
            continue
        judge = JudgeSettings.read(plain[name], name, where, problems)
        if judge is not None:
            judges[name] = judge
        prompt = plain[name].get("prompt") if isinstance(plain[name], Mapping) else None
        wrong = misfit(name, prompt, JUDGES[name].kind)
        if wrong is not None:
            problems.append(wrong)
    return judges


def _check_reward(mix: RewardMix) -> list[str]:
    problems = []
    if mix.pattern_penalty and (mix.gate.probability == 0 or mix.cap == 0):
        key = "gate.probability" if mix.gate.probability == 0 else "cap"
        problems.append(
            f"reward_mix.{key}=0 never penalises: choose reward_mix=base_rl, or all weights "
            "0 to watch the labels without a penalty"
        )
    if mix.score_incorrect and not mix.pattern_penalty:
        problems.append(
            "reward_mix.score_incorrect=true needs PatternRM, and reward_mix.pattern_penalty=false serves none: set "
            "pattern_penalty=true with all weights 0 to watch the labels without a penalty"
        )
    if mix.pattern_penalty and mix.labels.source == "rules":
        if mix.score_incorrect:
            problems.append(
                "reward_mix.score_incorrect=true needs PatternRM, and reward_mix.labels.source='rules' serves none "
                "(the rules label wrong answers in any case): set it to false, or labels.source to pattern_rm"
            )
        if mix.penalty == "expected":
            problems.append(
                "reward_mix.penalty='expected' needs PatternRM's probabilities, and reward_mix.labels.source='rules' "
                "serves none: set penalty=hard, or labels.source to pattern_rm, union or agreement"
            )
    return problems


def _check_judges(settings: Settings) -> list[str]:
    problems = []
    for name, judge in settings.judges.items():
        where = f"judges.{name}"
        if judge.serve is not None and judge.base_urls:
            problems.append(f"{where} has both base_urls and serve: set {where}.serve=null to use the endpoints")
        if judge.total_timeout_s > settings.reward_mix.max_wait_s:
            problems.append(
                f"{where}.total_timeout_s={judge.total_timeout_s:g} is above reward_mix.max_wait_s="
                f"{settings.reward_mix.max_wait_s:g}: a rollout would be given up first; lower the one or raise "
                f"the other"
            )
        if judge.breaker.cooldown_s >= settings.reward_mix.max_wait_s:
            problems.append(
                f"{where}.breaker.cooldown_s={judge.breaker.cooldown_s:g} is not below reward_mix.max_wait_s="
                f"{settings.reward_mix.max_wait_s:g}: a rollout would be given up before the judge is tried again; "
                f"lower the one or raise the other"
            )
        longest_s = settings.reward_mix.max_wait_s + judge.total_timeout_s
        if settings.run.stall_timeout_s <= longest_s:
            problems.append(
                f"run.stall_timeout_s={settings.run.stall_timeout_s:g} would end the run while it waits for a judge "
                f"(reward_mix.max_wait_s={settings.reward_mix.max_wait_s:g} and {where}.total_timeout_s="
                f"{judge.total_timeout_s:g}): set it above {longest_s:g}"
            )
        if judge.serve is None:
            continue
        gpus = judge.serve.gpus_per_replica
        if settings.cluster.device == "cpu" and gpus > 0:
            problems.append(
                f"{where}.serve.gpus_per_replica={gpus:g} on cluster.device=cpu: choose judge=toy, or judge=external"
            )
    return problems


def _check_pattern_eval(settings: Settings) -> list[str]:
    """A mode other than the one that is trained needs a switch in the chat template."""
    policy, paired = settings.policy, settings.pattern_eval
    other = [mode for mode in paired.modes if mode != check_mode(policy.mode)]
    if not paired.every or not other or has_switch(policy.family):
        return []
    return [
        f"pattern_eval.modes={list(paired.modes)}: chat templates of policy.family={policy.family!r} have no switch, "
        f"so that this checkpoint cannot be asked in mode {other[0]!r}: set pattern_eval.modes=[{policy.mode}]"
    ]


def _check_concurrency(settings: Settings, workers: Any) -> list[str]:
    """The reward workers share the calls that a judge may get (`JudgeSettings.share`)."""
    if type(workers) is not int or workers < 1:
        return [f"reward.num_workers={workers!r}: set a whole number of at least 1"]
    problems = (judge.too_few_calls(workers) for judge in settings.judges.values())
    return [problem for problem in problems if problem is not None]
