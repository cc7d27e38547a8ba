"""verl's advantage estimators (`algorithm.adv_estimator`): which ones fit this project, and why others do not.

One fits where the rollouts of a prompt are compared with each other: reward, gate and metrics speak of such groups. It
must also run in verl's V1 trainer without a critic. That an estimator looks at the whole batch is no hindrance: the
trainer computes the groups with an unscored rollout apart (`trainer.grpo.advantages`).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from omegaconf import DictConfig, OmegaConf

from foundation.settings.section_check import nearest

COMPONENTS = ("verifier", "pattern")
"""Parts of the reward that GDPO may weigh against each other: s_ver and s_pat."""

FAILED_GROUPS = "trainer.v1.sampler.sampler_kwargs.max_failed_groups"


@dataclass(frozen=True, slots=True)
class Estimator:
    """One of verl's advantage estimators.

    Attributes:
        scale: what a difference in a group is divided by: the group's standard deviation (``std``; ``setting``: if
            `algorithm.norm_adv_by_std_in_grpo` says so), nothing of the group (``none``).
        refused: why it does not fit; empty where it does.
    """

    scale: Literal["setting", "std", "none"] = "none"
    refused: str = ""


_NEEDS_SUM_PI_SQUARED = (
    "needs the actor's sum_pi_squared, which the V1 trainer of verl 0.9.1 does not hand to it (trainer_base.py:1745)"
)

ESTIMATORS: dict[str, Estimator] = {
    "grpo": Estimator("setting"),
    "grpo_vectorized": Estimator("std"),
    "grpo_passk": Estimator("setting"),
    "gdpo": Estimator("std"),
    "rloo": Estimator(),
    "rloo_vectorized": Estimator(),
    "opo": Estimator(),
    "gpg": Estimator(),
    "reinforce_plus_plus_baseline": Estimator(),
    "reinforce_plus_plus": Estimator(
        refused="compares no groups: a rollout is measured against the whole batch, and what the metrics say of groups "
        "would not be what is trained; reinforce_plus_plus_baseline compares them"
    ),
    "gae": Estimator(refused="needs a critic, which this project does not train"),
    "remax": Estimator(refused="needs the reward of a greedy rollout a prompt, which the V1 trainer does not make"),
    "optimal_token_baseline": Estimator(refused=_NEEDS_SUM_PI_SQUARED),
    "tir_optimal_token_baseline": Estimator(refused=_NEEDS_SUM_PI_SQUARED),
}
"""By verl's names (verl/trainer/ppo/core_algos.py, `AdvantageEstimator`)."""

ACCEPTED = tuple(name for name, estimator in ESTIMATORS.items() if not estimator.refused)


def check_estimator(config: DictConfig) -> list[str]:
    """What is wrong with the estimator of a tree, and with the keys that belong to one."""
    algorithm = config.algorithm
    name = algorithm.adv_estimator
    where = f"algorithm.adv_estimator={name!r}"
    estimator = ESTIMATORS.get(name) if isinstance(name, str) else None
    if estimator is None:
        return [f"{where}: no such estimator{nearest(str(name), ESTIMATORS)}"]
    if estimator.refused:
        return [f"{where} {estimator.refused}; set one of {', '.join(ACCEPTED)}"]
    problems = []
    if estimator.scale == "std" and not algorithm.norm_adv_by_std_in_grpo:
        problems.append(
            f"algorithm.norm_adv_by_std_in_grpo=false is not passed on to {name} (verl 0.9.1, ray_trainer.py:251): "
            "leave it true, or set adv_estimator=grpo"
        )
    failed = OmegaConf.select(config, FAILED_GROUPS)
    if name == "grpo_passk" and failed:
        problems.append(
            f"{FAILED_GROUPS}={failed}: a batch with failed groups is filled up with single rows, which verl's "
            "grpo_passk refuses (core_algos.py:516): set it to 0, or another adv_estimator"
        )
    return problems + _check_components(name, algorithm)


def estimator_cautions(config: DictConfig) -> list[str]:
    """Estimators that run and rarely do what is wanted with this reward."""
    name, mix = config.algorithm.adv_estimator, config.reward_mix
    if not (mix.pattern_penalty and any(mix.weights.values())):
        return []
    if name == "gdpo":
        return [
            "algorithm.adv_estimator=gdpo brings each component of algorithm.gdpo_reward_keys to the same spread: "
            "reward_mix.cap and the size of reward_mix.weights no longer bound the penalty, and a right answer can "
            "come out below a wrong one; algorithm.gdpo_reward_weights decides"
        ]
    scale = ESTIMATORS[name].scale if name in ESTIMATORS else "setting"
    if scale == "setting" and not config.algorithm.norm_adv_by_std_in_grpo:
        why, seen = "algorithm.norm_adv_by_std_in_grpo=false", "in the toy world Trigger rose"
    elif scale == "none":
        why, seen = f"algorithm.adv_estimator={name}", "with Dr.GRPO, which lacks it too, Trigger rose in the toy world"
    else:
        return []
    return [f"{why}: without division by the group's standard deviation a penalty of .05 is too weak; {seen}"]


def _check_components(name: str, algorithm: Any) -> list[str]:
    """GDPO's own keys: needed by it, read by no other."""
    keys, weights = algorithm.get("gdpo_reward_keys"), algorithm.get("gdpo_reward_weights")
    if name != "gdpo":
        return [
            f"algorithm.{key}={list(value)}: only adv_estimator=gdpo reads it; set it to null"
            for key, value in (("gdpo_reward_keys", keys), ("gdpo_reward_weights", weights))
            if value is not None
        ]
    if not keys or len(set(keys)) != len(keys) or not set(keys) <= set(COMPONENTS):
        given = None if keys is None else list(keys)
        return [f"algorithm.gdpo_reward_keys={given}: set [{', '.join(COMPONENTS)}], or one of them"]
    if algorithm.use_kl_in_reward:
        return [
            "algorithm.use_kl_in_reward=true: gdpo reads the components alone; set it to false, or another estimator"
        ]
    if weights is not None and len(weights) != len(keys):
        return [f"algorithm.gdpo_reward_weights={list(weights)}: set a number for each of {list(keys)}, or null"]
    return []
