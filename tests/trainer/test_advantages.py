"""verl's own estimators in verl's own V1 trainer: a group without a reward must not change what the others learn."""

from __future__ import annotations

import copy
from functools import cache
from types import SimpleNamespace
from typing import Any

import pytest
from factories import scored
from omegaconf import DictConfig

from foundation.settings.compose import compose_config
from foundation.settings.estimators import ACCEPTED, COMPONENTS, ESTIMATORS

pytestmark = pytest.mark.integration  # imports verl

LENGTHS = (3, 1, 2, 4, 2, 3, 1, 2, 3)
REWARDS = (1.0, 0.95, 0.0, 0.9, 0.0, 0.0, 1.0, 0.98, 0.98)
GROUPS = ("a", "b", "c")


def key(number: int) -> str:
    return f"{GROUPS[number // 3]}_{number % 3}_0"


def line(number: int, reward: float | None) -> dict[str, Any]:
    value = None if reward is None else int(reward > 0)
    content = scored(value, reward=reward, group=number // 3, rollout=number % 3)
    return {"reward_extra_info": {"record": content.to_json()}}


class Queue:
    """TransferQueue over a dict of rows."""

    def __init__(self, rewards: dict[int, float | None], padding: int = 0) -> None:
        import torch

        self.rows: dict[str, dict[str, Any]] = {}
        for number, reward in rewards.items():
            mask = torch.ones(LENGTHS[number], dtype=torch.long)
            scores = torch.zeros(LENGTHS[number])
            scores[-1] = reward or 0.0
            self.rows[key(number)] = {
                "uid": GROUPS[number // 3],
                "response_mask": mask,
                "rm_scores": scores,
                "extra_fields": line(number, reward),
            }
        for number in range(padding):
            self.rows[f"pad_{number}_0"] = {
                "uid": "pad",
                "response_mask": torch.zeros(1, dtype=torch.long),
                "rm_scores": torch.zeros(1),
                "extra_fields": {},
            }

    def kv_batch_get(self, keys: list[str], partition_id: str, select_fields: list[str]) -> Any:
        import torch
        from tensordict import NonTensorData, NonTensorStack, TensorDict

        found = TensorDict({}, batch_size=len(keys))
        for field in select_fields:
            values = [self.rows[k].get(field) for k in keys]
            if isinstance(values[0], torch.Tensor):
                found[field] = torch.nested.as_nested_tensor(values, layout=torch.jagged)
            elif values[0] is not None:
                found[field] = NonTensorStack(*(NonTensorData(value) for value in values))
        return found

    def kv_batch_put(self, keys: list[str], partition_id: str, fields: Any) -> Any:
        for field, rows in fields.items():
            for k, row in zip(keys, rows.unbind(), strict=True):
                self.rows[k][field] = row
        return SimpleNamespace(keys=keys)


@cache
def _composed() -> DictConfig:
    return compose_config(["experiment=quickstart"])


def config_of(name: str, weights: tuple[float, float] | None = None) -> DictConfig:
    """The quickstart's settings with another estimator; one composition serves all tests."""
    config = copy.deepcopy(_composed())
    config.algorithm.adv_estimator = name
    if name == "gdpo":
        config.algorithm.gdpo_reward_keys = list(COMPONENTS)
        config.algorithm.gdpo_reward_weights = None if weights is None else list(weights)
    return config


def advantages(
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    rewards: dict[int, float | None],
    padding: int = 0,
    weights: tuple[float, float] | None = (1.0, 0.5),
) -> dict[str, list[float]]:
    """The advantages that our trainer over verl's leaves in the queue, by key."""
    from transfer_queue import KVBatchMeta
    from verl.trainer.ppo.v1 import PPOTrainerSync, trainer_base

    from trainer.grpo import pattern_trainer

    queue = Queue(rewards, padding)
    monkeypatch.setattr(trainer_base, "tq", queue)
    monkeypatch.setattr(pattern_trainer, "tq", queue)
    made = object.__new__(type("T", (pattern_trainer.PatternTrainerMixin, PPOTrainerSync), {}))
    made.config = config_of(name, weights if name == "gdpo" else None)
    made._keep = lambda records, split: None  # type: ignore[method-assign]
    made._step_records = {}
    batch = KVBatchMeta(
        keys=list(queue.rows), tags=[{"is_padding": k.startswith("pad")} for k in queue.rows], partition_id="train"
    )
    made._compute_advantage(batch, {})
    return {k: row["advantages"].tolist() for k, row in queue.rows.items()}


SCORED = dict(enumerate(REWARDS))
UNSCORED = SCORED | {4: None}  # group b
WITHOUT_B = {number: reward for number, reward in SCORED.items() if number // 3 != 1}


def test_every_estimator_of_verl_is_in_the_table():
    from verl.trainer.ppo.core_algos import ADV_ESTIMATOR_REGISTRY, AdvantageEstimator

    assert {estimator.value for estimator in AdvantageEstimator} == set(ESTIMATORS)
    assert set(ADV_ESTIMATOR_REGISTRY) == set(ESTIMATORS)


@pytest.mark.parametrize("name", ACCEPTED)
def test_an_accepted_estimator_compares_the_rollouts_of_a_group(monkeypatch: pytest.MonkeyPatch, name: str):
    found = advantages(monkeypatch, name, SCORED)
    assert all(len(set(row)) == 1 for row in found.values()), "one value for all tokens of a response"
    best, worst = found["a_0_0"][0], found["a_2_0"][0]
    assert best > worst
    assert found["c_1_0"][0] < found["c_0_0"][0]  # .02 less for the same answer


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_group_without_a_reward_changes_nothing_for_the_others(monkeypatch: pytest.MonkeyPatch, name: str):
    with_it = advantages(monkeypatch, name, UNSCORED, padding=2)
    without = advantages(monkeypatch, name, WITHOUT_B)
    for k, row in without.items():
        assert with_it[k] == pytest.approx(row, abs=1e-6), k
    assert all(value == 0.0 for number in (3, 4, 5) for value in with_it[key(number)])


@pytest.mark.parametrize("name", ["gpg", "gdpo", "reinforce_plus_plus_baseline"])
def test_the_test_above_would_notice(monkeypatch: pytest.MonkeyPatch, name: str):
    counted = advantages(monkeypatch, name, SCORED | {4: 0.0})
    without = advantages(monkeypatch, name, WITHOUT_B)
    assert any(counted[k] != pytest.approx(row, abs=1e-4) for k, row in without.items())


@pytest.mark.parametrize("name", ACCEPTED)
def test_a_batch_of_nothing_but_unscored_groups_teaches_nothing(monkeypatch: pytest.MonkeyPatch, name: str):
    found = advantages(monkeypatch, name, {0: None, 1: 1.0, 2: 0.0})
    assert all(value == 0.0 for row in found.values() for value in row)


def test_gdpo_weighs_the_components_of_the_reward(monkeypatch: pytest.MonkeyPatch):
    found = advantages(monkeypatch, "gdpo", SCORED)
    # Group c: all answers are right, so that the penalties alone tell them apart.
    assert found["c_1_0"][0] == pytest.approx(found["c_2_0"][0])
    assert found["c_1_0"][0] < found["c_0_0"][0]
    # Group a: .05 of penalty takes as much from a right answer as s_pat's weight says, whatever its size.
    grpo = advantages(monkeypatch, "grpo", SCORED)
    assert grpo["a_1_0"][0] > 0.8 * grpo["a_0_0"][0]
    assert found["a_1_0"][0] < 0.5 * found["a_0_0"][0]


def test_gdpo_at_equal_weights_takes_the_whole_reward_of_a_lone_right_answer_with_a_pattern(
    monkeypatch: pytest.MonkeyPatch,
):
    found = advantages(monkeypatch, "gdpo", SCORED | {0: 0.95, 1: 0.0, 2: 0.0}, weights=None)
    assert found["a_0_0"][0] == pytest.approx(found["a_1_0"][0], abs=1e-3)  # why it gets a warning
    assert advantages(monkeypatch, "grpo", SCORED | {0: 0.95, 1: 0.0, 2: 0.0})["a_0_0"][0] > 1


def test_verls_v1_trainer_still_hands_gdpo_too_little():
    """When this fails, `trainer.grpo.advantages.reward_components` has become needless or wrong."""
    from transfer_queue import KVBatchMeta
    from verl.trainer.ppo.v1 import PPOTrainerSync, trainer_base

    queue = Queue(SCORED)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(trainer_base, "tq", queue)
        made = object.__new__(PPOTrainerSync)
        made.config = config_of("gdpo")
        batch = KVBatchMeta(keys=list(queue.rows), tags=[{} for _ in queue.rows], partition_id="train")
        with pytest.raises(KeyError, match="prompts"):
            made._compute_advantage(batch, {})
