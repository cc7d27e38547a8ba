"""Which advantage estimators are accepted, and what is said about the others."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from omegaconf import DictConfig

from foundation.settings.estimators import ACCEPTED, ESTIMATORS
from foundation.settings.verl_keys import cautions, check_verl_keys

Tree = Callable[[Sequence[str]], DictConfig]
GDPO = ("algorithm.adv_estimator=gdpo", "algorithm.gdpo_reward_keys=[verifier,pattern]")


def test_grpo_is_the_shipped_one_and_not_the_only_one(tree: Tree):
    assert tree([]).algorithm.adv_estimator == "grpo" and "grpo" in ACCEPTED
    assert {"gdpo", "rloo", "opo", "gpg", "reinforce_plus_plus_baseline"} < set(ACCEPTED)


@pytest.mark.parametrize("name", ESTIMATORS)
def test_an_estimator_is_accepted_or_refused_with_its_reason(tree: Tree, name: str):
    keys = GDPO if name == "gdpo" else (f"algorithm.adv_estimator={name}",)
    found = check_verl_keys(tree(keys))
    if name in ACCEPTED:
        assert found == []
    else:
        (text,) = found
        assert text.startswith(f"algorithm.adv_estimator='{name}' {ESTIMATORS[name].refused}") and "set one of" in text


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["algorithm.adv_estimator=grop"], ("algorithm.adv_estimator='grop'", "did you mean 'grpo'")),
        (["algorithm.adv_estimator=null"], ("algorithm.adv_estimator=None", "no such estimator")),
        (["algorithm.adv_estimator=gae"], ("critic",)),
        (["algorithm.adv_estimator=remax"], ("greedy",)),
        (["algorithm.adv_estimator=reinforce_plus_plus"], ("compares no groups",)),
        (
            ["algorithm.adv_estimator=grpo_vectorized", "algorithm.norm_adv_by_std_in_grpo=false"],
            ("algorithm.norm_adv_by_std_in_grpo=false", "not passed on", "adv_estimator=grpo"),
        ),
        (
            ["algorithm.adv_estimator=grpo_passk", "trainer.v1.sampler.sampler_kwargs.max_failed_groups=2"],
            ("max_failed_groups=2", "set it to 0"),
        ),
        (["algorithm.adv_estimator=gdpo"], ("algorithm.gdpo_reward_keys=None", "[verifier, pattern]")),
        (["algorithm.adv_estimator=gdpo", "algorithm.gdpo_reward_keys=[acc]"], ("gdpo_reward_keys=['acc']",)),
        ([*GDPO, "algorithm.gdpo_reward_weights=[1.0]"], ("gdpo_reward_weights=[1.0]", "a number for each")),
        ([*GDPO, "algorithm.use_kl_in_reward=true"], ("algorithm.use_kl_in_reward=true", "components alone")),
        (["algorithm.gdpo_reward_keys=[verifier]"], ("gdpo_reward_keys=['verifier']", "only adv_estimator=gdpo")),
        (["algorithm.gdpo_reward_weights=[1.0]"], ("gdpo_reward_weights=[1.0]", "only adv_estimator=gdpo")),
    ],
)
def test_what_does_not_go_together_is_one_line(tree: Tree, overrides: list[str], parts: tuple[str, ...]):
    (text,) = check_verl_keys(tree(overrides))
    assert all(part in text for part in parts), text


@pytest.mark.parametrize(
    ("overrides", "part"),
    [
        (["algorithm.adv_estimator=rloo"], "algorithm.adv_estimator=rloo: without division"),
        (["algorithm.adv_estimator=reinforce_plus_plus_baseline"], "without division"),
        (["algorithm.adv_estimator=grpo_passk", "algorithm.norm_adv_by_std_in_grpo=false"], "without division"),
        (GDPO, "a right answer can come out below a wrong one"),
    ],
)
def test_an_estimator_for_which_a_small_penalty_is_too_weak_gets_a_note(tree: Tree, overrides: list[str], part: str):
    (note,) = cautions(tree(overrides))
    assert part in note
    assert cautions(tree([*overrides, "reward_mix=base_rl"])) == []


@pytest.mark.parametrize("name", ["grpo", "grpo_vectorized", "grpo_passk"])
def test_an_estimator_that_divides_gets_none(tree: Tree, name: str):
    assert cautions(tree([f"algorithm.adv_estimator={name}"])) == []
