"""The trainer's edges to verl: an unscored rollout silences its group, dead rollouts end the wait."""

from __future__ import annotations

import json
from types import SimpleNamespace

import pytest
from factories import WEIGHTS, scored

from foundation.runs.records import SymbolicLosses, Verdict
from foundation.runs.scored_rollout import ScoredRollout
from reward_workers.mix import Mix

pytestmark = pytest.mark.integration

KEYS = ["a_0_0", "a_1_0", "b_0_0", "b_1_0"]


def record(number, reward):
    verdict = Verdict(None if reward is None else int(reward > 0), "judge", "judge_timeout")
    content = scored(verdict=verdict, reward=reward, group=number // 2, rollout=number % 2)
    return {"reward_extra_info": {"record": content.to_json()}}


CONSTANT = {"weights": WEIGHTS, "cap": 0.1, "schedule": {"kind": "constant"}}
GUARD = {
    "weights": WEIGHTS,
    "cap": 0.1,
    "schedule": {
        "kind": "accuracy_guard",
        "reference": "best",
        "average_steps": 1,
        "window_steps": 5,
        "margin": 0.1,
        "lower_by": 0.5,
        "raise_by": 1.0,
        "floor": 0.1,
    },
}


class Queue:
    """The two calls of TransferQueue that the trainer makes, over a dict."""

    def __init__(self, rewards):
        import torch

        ragged = [torch.tensor(row) for row in ([0.5, 0.5], [-0.5, -0.5, -0.5], [1.0], [-1.0, -1.0])]
        nested = torch.nested.as_nested_tensor(ragged, layout=torch.jagged)
        self.fields = {
            "extra_fields": [record(number, reward) for number, reward in enumerate(rewards)],
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

    def select_keys(self, keys):
        return Batch(keys=keys, tags=[self.tags[self.keys.index(key)] for key in keys], partition_id=self.partition_id)


def trainer(monkeypatch, rewards, on_unscored):
    from verl.trainer.ppo.v1 import PPOTrainerSync

    from trainer.grpo import pattern_trainer
    from trainer.grpo.weight_schedule import build_schedule

    class Stock(PPOTrainerSync):
        def _compute_advantage(self, batch, metrics):
            return batch

        def on_step_end(self):
            pass

        def _save_checkpoint(self):
            self.saved = self.global_steps

        def _load_checkpoint(self):
            self.global_steps = 5

        def step(self, metrics, timing_raw):
            return self._compute_advantage(self.given, metrics)

        def fit(self, agent_loop_manager):
            self.manager = agent_loop_manager

    queue = Queue(rewards)
    monkeypatch.setattr(pattern_trainer, "tq", queue)
    made = object.__new__(type("T", (pattern_trainer.PatternTrainerMixin, Stock), {}))
    made.config = SimpleNamespace(
        reward_mix=SimpleNamespace(on_unscored=on_unscored),
        trainer=SimpleNamespace(default_local_dir="no checkpoint is written here", resume_mode="auto"),
    )
    made.global_steps = 5
    made.kept = []
    made._keep = lambda records, split: made.kept.extend((split, r.group, r.rollout) for r in records)
    made._stop_requested, made.ended_by, made._saved_step = False, None, None
    made._schedule, made._step_records = build_schedule(CONSTANT), {}
    made._judge_lost = lambda: None
    made._paired = None
    made.total_training_steps = 9
    made._watchdog = SimpleNamespace(beat=lambda phase: None)
    made.said = []
    made._progress = SimpleNamespace(say=made.said.append)
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

    from trainer.grpo.pattern_trainer import AbortedByPolicy

    made, _, batch = trainer(monkeypatch, [1.0, None, 1.0, 0.0], "abort")
    (tmp_path / "global_step_4").mkdir()
    made.config.trainer.default_local_dir = str(tmp_path)
    made._data_order = {"next prompt": 64}
    with pytest.raises(AbortedByPolicy, match="judge_timeout"):
        made._compute_advantage(batch, {})
    assert made.saved == 4
    # The rollouts of the step that ends here were scored: they are kept, once.
    assert made.kept == [("train", 0, 0), ("train", 0, 1), ("train", 1, 0), ("train", 1, 1)]
    # The step that is repeated must draw its own prompts again, not those after them.
    assert torch.load(tmp_path / "global_step_4" / "data.pt") == {"next prompt": 64}


def test_records_are_kept_before_the_update_and_without_padding(monkeypatch):
    made, _, batch = trainer(monkeypatch, [1.0, 0.0, 1.0, 0.0], "drop_group")
    batch.tags = [{}, {}, {}, {"is_padding": True}]
    made._compute_advantage(batch, {})
    assert made.kept == [("train", 0, 0), ("train", 0, 1), ("train", 1, 0)]


@pytest.mark.parametrize(("last_step", "ends"), [(9, True), (5, False)])
def test_a_judge_that_is_given_up_ends_the_run_with_a_checkpoint(monkeypatch, last_step, ends):
    made, _, _ = trainer(monkeypatch, [], "drop_group")
    made._judge_lost = lambda: "judge server fallback-0 is given up: the server exited with code 1"
    made.total_training_steps = last_step
    made.on_step_end()
    if ends:
        assert made.saved == made.total_training_steps == 5
        assert "fallback-0 is given up" in made.ended_by and "step 5" in made.ended_by
    else:
        assert made.ended_by is None  # it was the last step: the run is complete


def guarded(monkeypatch, tmp_path, rewards, on_unscored="drop_group"):
    from trainer.grpo.weight_schedule import build_schedule

    made, queue, batch = trainer(monkeypatch, rewards, on_unscored)
    made.config.trainer.default_local_dir = str(tmp_path)
    made.given = batch
    made._schedule = build_schedule(GUARD)
    return made, queue


def test_weights_travel_by_the_manager_and_validation_uses_the_set_ones(monkeypatch, tmp_path):
    made, _ = guarded(monkeypatch, tmp_path, [])
    made._schedule.factor = 0.5
    manager = SimpleNamespace(mix_of=None)
    made.fit(manager)
    assert made.manager is manager
    assert manager.mix_of(3, False) == Mix({"cot": 0.025, "rep": 0.025, "con": 0.01, "pr": 0.01}, cap=0.1)
    assert manager.mix_of(3, True) == Mix(WEIGHTS, cap=0.1)


def test_the_schedule_learns_the_accuracy_of_a_step_and_a_checkpoint_keeps_it(monkeypatch, tmp_path):
    made, queue = guarded(monkeypatch, tmp_path, [1.0, 0.95, 1.0, 0.0])
    made.step({}, {})  # three of four are right
    queue.fields["extra_fields"] = [record(number, reward) for number, reward in enumerate([0.0, None, 0.9, 0.0])]
    made.given.tags = [{}, {}, {}, {}]
    made.step({}, {})  # one of three: an unscored rollout is neither right nor wrong
    assert made._schedule.metrics() == pytest.approx(
        {"accuracy_guard/factor": 0.5, "accuracy_guard/accuracy": 1 / 3, "accuracy_guard/reference": 0.75}
    )
    made._save_checkpoint()
    resumed, _ = guarded(monkeypatch, tmp_path, [])
    resumed._load_checkpoint()
    assert resumed._schedule.weights(6) == made._schedule.weights(6) == {k: v / 2 for k, v in WEIGHTS.items()}
    assert resumed._schedule.metrics() == made._schedule.metrics()


def test_a_checkpoint_in_the_middle_of_a_step_holds_the_schedule_of_the_step_before(monkeypatch, tmp_path):
    from trainer.grpo.pattern_trainer import AbortedByPolicy

    made, queue = guarded(monkeypatch, tmp_path, [1.0, 1.0, 1.0, 1.0], "abort")
    made._data_order = {}
    made.step({}, {})
    before = made._schedule.state()
    queue.fields["extra_fields"] = [record(number, reward) for number, reward in enumerate([0.0, None, 0.0, 0.0])]
    with pytest.raises(AbortedByPolicy):
        made.step({}, {})
    assert json.loads((tmp_path / "global_step_4" / "weight_schedule.json").read_text()) == before


def test_a_lost_schedule_is_an_error_in_its_own_run_and_said_in_another(monkeypatch, tmp_path):
    made, _ = guarded(monkeypatch, tmp_path, [])
    with pytest.raises(ValueError, match=r"global_step_5/weight_schedule\.json is missing"):
        made._load_checkpoint()
    made.config.trainer.resume_mode = "resume_path"
    made.config.trainer.resume_from_path = str(tmp_path / "other" / "global_step_5")
    made._load_checkpoint()
    assert "starts afresh" in made.said[-1]


def replay_buffer(**settings):
    from trainer.grpo.replay_buffer import PromptReplayBuffer

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


def test_a_step_with_many_symbolic_timeouts_says_so(monkeypatch):
    verdict = Verdict(None, "symbolic", "symbolic_timeout", latency_s=3.0)
    slow = scored(verdict=verdict, losses=SymbolicLosses(killed=1), z=0)
    lines = []
    made, _, _ = trainer(monkeypatch, [None], "drop_group")
    made.config.reward_mix.verifier = SimpleNamespace(symbolic_timeout_s=3.0)
    made._progress = SimpleNamespace(say=lines.append)
    components = made._components([slow])
    assert components["verifier/children_killed"] == 1
    assert lines[0].startswith("ALARM: the symbolic stage timed out for 100.0% of 1 rollouts")


def test_counts_schedule_and_state_of_the_service_are_metrics_of_the_step(monkeypatch, tmp_path):
    from trainer.grpo import pattern_trainer

    made, _ = guarded(monkeypatch, tmp_path, [1.0, 0.0, 1.0, 0.0])
    monkeypatch.setattr(pattern_trainer.PPOTrainer, "_compute_metrics", lambda *arguments, **more: None)
    monkeypatch.setattr(pattern_trainer, "reward_metrics", lambda records: {"accuracy": len(records) / 8})
    monkeypatch.setattr(pattern_trainer, "timeout_alarm", lambda metrics, timeout_s: None)
    made.config.reward_mix.verifier = SimpleNamespace(symbolic_timeout_s=3.0)
    made.config.tracking = SimpleNamespace(rollout_table_every=0)
    made._progress = SimpleNamespace(step=lambda *arguments: None)
    made._service_metrics = lambda: {"servers/fallback/moves": 1.0}
    made._compute_advantage(made.given, {})
    metrics = {}
    made._compute_metrics(made.given, metrics, {}, global_steps=1, epoch=0)
    assert metrics == {
        "reward_mix/accuracy": 0.5,
        "reward_mix/accuracy_guard/factor": 1.0,
        "reward_mix/servers/fallback/moves": 1.0,
    }


def test_a_record_is_read_out_of_the_queue_once_a_step(monkeypatch):
    """The advantages, the weight schedule and the metrics of a step share the parsed records."""
    from trainer.grpo import pattern_trainer

    made, queue, batch = trainer(monkeypatch, [1.0, 0.0, None, 0.0], "drop_group")
    parsed, shown = [], []

    class Counting(ScoredRollout):
        @classmethod
        def from_json(cls, text):
            parsed.append(text)
            return ScoredRollout.from_json(text)

    monkeypatch.setattr(pattern_trainer, "ScoredRollout", Counting)
    monkeypatch.setattr(pattern_trainer.PPOTrainer, "_compute_metrics", lambda *arguments, **more: None)
    made.given = batch
    made._components = lambda records: shown.append([(r.group, r.rollout) for r in records]) or {}
    made.config.tracking = SimpleNamespace(rollout_table_every=0)
    made._progress = SimpleNamespace(step=lambda *arguments: None)
    made._service_metrics = dict
    for step in (1, 2):
        metrics = {}
        made.step(metrics, {})
        made._compute_metrics(batch, metrics, {}, global_steps=step, epoch=0)
        assert len(parsed) == step * len(KEYS)
        assert shown[-1] == [(0, 0), (0, 1), (1, 0), (1, 1)]
        queue.fields["extra_fields"] = [record(number, 1.0) for number in range(4)]
