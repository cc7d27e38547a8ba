"""The trainer's edges to verl: an unscored rollout silences its group, dead rollouts end the wait."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest

pytestmark = pytest.mark.integration

KEYS = ["a_0_0", "a_1_0", "b_0_0", "b_1_0"]


def record(reward):
    return {"reward_extra_info": {"record": json.dumps({"reward": reward, "verdict": {"reason": "judge_timeout"}})}}


class Queue:
    """The two calls of TransferQueue that the trainer makes, over a dict."""

    def __init__(self, rewards):
        import torch

        ragged = [torch.tensor(row) for row in ([0.5, 0.5], [-0.5, -0.5, -0.5], [1.0], [-1.0, -1.0])]
        nested = torch.nested.as_nested_tensor(ragged, layout=torch.jagged)
        self.fields = {
            "extra_fields": [record(reward) for reward in rewards],
            "advantages": nested,
            "returns": nested.clone(),
        }

    def kv_batch_get(self, keys, partition_id, select_fields):
        return {field: self.fields[field] for field in select_fields}

    def kv_batch_put(self, keys, partition_id, fields):
        self.fields |= dict(fields.items())
        return SimpleNamespace(keys=keys)


class Batch(SimpleNamespace):
    def __len__(self):
        return len(self.keys)


def trainer(monkeypatch, rewards, on_unscored):
    from verl.trainer.ppo.v1 import PPOTrainerSync

    from trainer import pattern_trainer

    class Stock(PPOTrainerSync):
        def _compute_advantage(self, batch, metrics):
            return batch

        def _save_checkpoint(self):
            self.saved = self.global_steps

    queue = Queue(rewards)
    monkeypatch.setattr(pattern_trainer, "tq", queue)
    made = object.__new__(type("T", (pattern_trainer.PatternTrainerMixin, Stock), {}))
    made.config = SimpleNamespace(reward_mix=SimpleNamespace(on_unscored=on_unscored))
    made.global_steps = 5
    made._watchdog = SimpleNamespace(beat=lambda phase: None)
    made._progress = SimpleNamespace(say=lambda text: None)
    return made, queue, Batch(keys=KEYS, tags=[{}] * 4, partition_id="train")


def test_the_group_of_an_unscored_rollout_teaches_nothing(monkeypatch):
    made, queue, batch = trainer(monkeypatch, [1.0, None, 1.0, 0.0], "drop_group")
    made._compute_advantage(batch, {})
    for field in ("advantages", "returns"):
        rows = [row.tolist() for row in queue.fields[field].unbind()]
        assert rows == [[0.0, 0.0], [0.0, 0.0, 0.0], [1.0], [-1.0, -1.0]]


def test_scored_groups_are_left_as_verl_made_them(monkeypatch):
    made, queue, batch = trainer(monkeypatch, [1.0, 0.0, 1.0, 0.0], "drop_group")
    before = queue.fields["advantages"]
    made._compute_advantage(batch, {})
    assert queue.fields["advantages"] is before


def test_abort_writes_a_checkpoint_of_the_last_complete_step(monkeypatch, tmp_path):
    import torch

    from trainer.pattern_trainer import AbortedByPolicy

    made, _, batch = trainer(monkeypatch, [1.0, None, 1.0, 0.0], "abort")
    (tmp_path / "global_step_4").mkdir()
    made.config.trainer = SimpleNamespace(default_local_dir=str(tmp_path))
    made._data_order = {"next prompt": 64}
    with pytest.raises(AbortedByPolicy, match="judge_timeout"):
        made._compute_advantage(batch, {})
    assert made.saved == 4
    # The step that is repeated must draw its own prompts again, not those after them.
    assert torch.load(tmp_path / "global_step_4" / "data.pt") == {"next prompt": 64}


def replay_buffer(**settings):
    from trainer.replay_buffer import PromptReplayBuffer

    return PromptReplayBuffer(
        trainer_mode="sync",
        trainer_config={},
        max_off_policy_threshold=None,
        max_off_policy_strategy="drop",
        sampler_kwargs={"poll_interval_s": 0.01, "stall_timeout_s": 0.05, "max_failed_groups": 0} | settings,
    )


def test_a_failed_group_ends_the_step_unless_it_is_allowed():
    from collections import Counter

    nothing = (set(), set(), set(), Counter())
    for allowed in (0, 1):
        buffer = replay_buffer(max_failed_groups=allowed)
        buffer.failure_keys["train"] = {"uid"}
        if allowed:
            assert buffer._sampleable_terminal_keys("train", nothing) == {"uid"}
        else:
            with pytest.raises(RuntimeError, match="max_failed_groups"):
                buffer._sampleable_terminal_keys("train", nothing)


def test_waiting_ends_when_nothing_moves():
    buffer = replay_buffer()
    buffer.running_keys["train"] = {"uid"}

    def wait():
        for _ in range(50):
            buffer._wait_for_next_poll("train", 0.0)

    with pytest.raises(RuntimeError, match="1 running"):
        wait()


def test_movement_resets_the_wait():
    buffer = replay_buffer(stall_timeout_s=0.5)
    for number in range(20):
        buffer.finished_keys["train"] = {str(i) for i in range(number)}
        buffer._wait_for_next_poll("train", 0.0)


def test_a_step_with_many_symbolic_timeouts_says_so(monkeypatch, caplog):
    import logging

    verdict = {"value": None, "stage": "symbolic", "reason": "symbolic_timeout", "latency_s": 3.0}
    slow = {"verdict": verdict, "verifier": verdict, "losses": {"killed": 1, "died": 0}, "anls": None, "reward": None}
    slow |= {"z": 0, "labels": None, "penalty": 0.0, "n_tokens": 5, "truncated": False, "step": 1, "group": 0}
    lines = []
    made, _, _ = trainer(monkeypatch, [None], "drop_group")
    made.config.reward_mix.verifier = SimpleNamespace(symbolic_timeout_s=3.0)
    made._progress = SimpleNamespace(say=lines.append)
    with caplog.at_level(logging.WARNING):
        components = made._components([slow])
    assert components["verifier/children_killed"] == 1
    assert lines[0].startswith("ALARM: the symbolic stage timed out for 100.0% of 1 rollouts")
    assert lines[0] in caplog.text
