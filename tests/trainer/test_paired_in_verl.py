"""Paired evaluation at its edges to verl, transformers and vLLM: rows, modes, hooks, and what it leaves alone."""

from __future__ import annotations

import random
from pathlib import Path
from types import SimpleNamespace

import pytest
from factories import labelled, scored

from foundation.responses.prompt_seed import prompt_seed
from foundation.runs.run_folder import RunFolder
from foundation.runs.scored_rollout import read_all_rollouts

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

ROOT = Path(__file__).resolve().parents[2]
ROWS = [{"extra_info": {"prompt_id": f"p{i}", "index": i}, "raw_prompt": [], "index": i} for i in range(5)]


def pairs(beats, **settings):
    from trainer.grpo.paired_prompts import PairedPrompts

    given = {"modes": ["nt", "t"], "max_prompts": 3, "batch_size": 4, "seed": 7, "on_batch": lambda: beats.append(1)}
    return PairedPrompts(ROWS, **given | settings)


def test_every_prompt_is_asked_once_in_each_mode_with_one_seed():
    beats = []
    made = pairs(beats)
    batches = list(made)
    assert (made.n_prompts, made.n_responses) == (3, 6)
    assert [len(batch["index"]) for batch in batches] == [4, 2] and len(beats) == 2
    rows = [
        tuple(batch[key][i] for key in ("index", "thinking_mode", "sampling_seed", "__rollout_n__"))
        for batch in batches
        for i in range(len(batch["index"]))
    ]
    assert rows == [(i, mode, prompt_seed(7, f"p{i}"), 1) for i in range(3) for mode in ("nt", "t")]
    assert "thinking_mode" not in ROWS[0]  # the rows of the data set stay as they are


def test_the_whole_data_set_where_nothing_limits_it():
    assert pairs([], max_prompts=None).n_prompts == pairs([], max_prompts=99).n_prompts == 5


def test_it_draws_no_random_number():
    import numpy as np
    import torch

    def states():
        return random.getstate(), np.random.get_state()[1].tolist(), torch.get_rng_state().tolist()

    before = states()
    list(pairs([]))
    assert states() == before


def test_requests_with_seeds_leave_the_shared_stream_of_vllm_alone():
    """So that the training rollouts behind an evaluation draw what they draw without it."""
    import torch
    from vllm.v1.sample.ops.topk_topp_sampler import random_sample

    probabilities = torch.full((2, 8), 1 / 8)
    before = torch.get_rng_state()
    random_sample(probabilities.clone(), {row: torch.Generator().manual_seed(row) for row in range(2)})
    assert torch.equal(torch.get_rng_state(), before)
    random_sample(probabilities.clone(), {})
    assert not torch.equal(torch.get_rng_state(), before)


def test_modes_that_the_chat_template_lacks_are_refused():
    from transformers import AutoTokenizer

    from trainer.grpo.paired_prompts import check_modes

    tokenizer = AutoTokenizer.from_pretrained(ROOT / "assets" / "toy" / "policy")
    check_modes(tokenizer, "qwen3_vl", ["nt", "t"], {})
    # An Instruct checkpoint: no switch, no think block.
    tokenizer.chat_template = "{% for m in messages %}{{ m.content }}{% endfor %}<|im_start|>assistant\n"
    check_modes(tokenizer, "qwen3_vl", ["nt"], {})
    with pytest.raises(ValueError, match=r"policy.path has no mode 't'.*set pattern_eval.modes=\['nt'\]"):
        check_modes(tokenizer, "qwen3_vl", ["nt", "t"], {})


def record(row, mode, step):
    labels = labelled("cot") if mode == "nt" else labelled()
    return scored(prompt_id=f"p{row}", step=step, group=row, mode=mode, labels=labels)


@pytest.fixture
def made(tmp_path):
    """A trainer over a stand-in for verl's loop: six steps, `_validate` as verl runs it over `val_dataloader`."""
    from verl.trainer.ppo.v1 import PPOTrainerSync

    from trainer.frame.progress import Progress
    from trainer.grpo import pattern_trainer
    from trainer.grpo.paired_evaluation import PairedEvaluation

    class Stock(PPOTrainerSync):
        def fit(self, agent_loop_manager):
            while self.global_steps < self.total_training_steps:
                self.global_steps += 1
                timing, metrics = {"step": 1.0}, {}
                self._compute_metrics(None, metrics, timing, global_steps=self.global_steps, epoch=0)
                self.steps.append((self.global_steps, sorted(timing), metrics))

        def _compute_metrics(self, batch, metrics, timing_raw, global_steps, epoch):
            metrics["trained"] = self.global_steps

        def on_validate_begin(self):
            self.events.append("begin")

        def on_validate_end(self):
            self.events.append("end")

        def _validate(self):
            records = []
            for batch in self.val_dataloader:
                modes = batch.get("thinking_mode", ["nt"] * len(batch["index"]))
                records += [
                    record(row, mode, self.global_steps) for row, mode in zip(batch["index"], modes, strict=True)
                ]
            return self._val_metrics_update([], [], {"record": [r.to_json() for r in records]}, [])

    (tmp_path / "records").mkdir()
    folder = RunFolder(tmp_path)

    def make(step=0, attempt=0):
        trainer = object.__new__(type("T", (pattern_trainer.PatternTrainerMixin, Stock), {}))
        trainer.config = SimpleNamespace(tracking=SimpleNamespace(rollout_table_every=0))
        trainer.global_steps, trainer.total_training_steps = step, 6
        trainer.steps, trainer.events, trainer.logged = [], [], []
        trainer._step_records = {}
        trainer._stop_requested, trainer.ended_by = False, None
        trainer._folder, trainer._attempt, trainer._progress = folder, attempt, Progress()
        trainer._watchdog = SimpleNamespace(beat=lambda phase: None)
        trainer._schedule = SimpleNamespace(metrics=dict, mix=None)
        trainer._trackers = SimpleNamespace(log=lambda data, step: trainer.logged.append((step, data)))
        trainer._components = lambda records: {}
        trainer._service_metrics = dict
        trainer._progress.step = lambda *given: None
        trainer._progress.heldout = lambda *given: None
        trainer.val_dataset = ROWS
        trainer.val_dataloader = heldout = [{"index": [0, 1]}]
        trainer._paired = PairedEvaluation(pairs([]), 4, 6, 0, folder, attempt, trainer._progress)
        trainer.heldout = heldout
        return trainer

    return make


def kept(trainer, split="pattern_eval"):
    return read_all_rollouts(trainer._folder.records / f"{split}.jsonl")


def test_the_trainer_evaluates_at_the_start_every_so_many_steps_and_at_the_end(made):
    trainer = made()
    trainer.fit(SimpleNamespace())
    assert [(r.step, r.mode, r.group) for r in kept(trainer)] == [
        (step, mode, row) for step in (0, 4, 6) for mode in ("nt", "t") for row in range(3)
    ]
    ((step, first),) = trainer.logged
    assert step == 0 and first["pattern_eval/delta_pat"] == 1.0
    evaluated = [step for step, _, metrics in trainer.steps if metrics.get("pattern_eval/nt/trigger") == 1.0]
    timed = [step for step, timing, _ in trainer.steps if "pattern_eval" in timing]
    assert evaluated == timed == [4, 6]
    assert [metrics["trained"] for _, _, metrics in trainer.steps] == [1, 2, 3, 4, 5, 6]
    assert trainer.events == ["begin", "end"] * 3


def test_held_out_validation_stays_what_it_was(made):
    trainer = made()
    trainer.fit(SimpleNamespace())
    assert trainer.val_dataloader is trainer.heldout
    trainer.on_validate_begin()
    trainer._validate()
    assert [(r.mode, r.group) for r in kept(trainer, "heldout")] == [("nt", 0), ("nt", 1)]
    assert "validating on 5 held-out prompts" in trainer._progress.since(0)[-1]


def test_a_resumed_run_repeats_no_evaluation_and_makes_up_for_a_lost_one(made):
    made().fit(SimpleNamespace())
    resumed = made(step=4, attempt=1)
    resumed.fit(SimpleNamespace())
    assert resumed.logged == []
    assert [(r.attempt, r.step) for r in kept(resumed)][18:] == [(1, 6)] * 6
    resumed._folder.paired_records.unlink()
    late = made(step=4, attempt=2)
    late.fit(SimpleNamespace())
    assert [step for step, _ in late.logged] == [4]
    assert [r.step for r in kept(late)] == [4] * 6 + [6] * 6


@pytest.mark.parametrize("ending", [{"_stop_requested": True}, {"ended_by": "a judge is given up"}])
def test_a_run_that_is_stopped_ends_soon_and_is_evaluated_at_its_next_start(made, ending):
    stopped = made(step=3)
    for name, value in ending.items():
        setattr(stopped, name, value)
    stopped.total_training_steps = 4  # as the stop sets it
    stopped.fit(SimpleNamespace())
    assert kept(stopped) == []
    resumed = made(step=4, attempt=1)
    resumed.fit(SimpleNamespace())
    assert [(r.attempt, r.step) for r in kept(resumed)] == [(1, 4)] * 6 + [(1, 6)] * 6


def test_a_failed_evaluation_leaves_the_held_out_prompts_in_their_place(made, monkeypatch):
    trainer = made()

    def fail():
        raise RuntimeError("2 rollout groups failed")

    monkeypatch.setattr(trainer, "_validate", fail)
    with pytest.raises(RuntimeError, match="groups failed"):
        trainer.fit(SimpleNamespace())
    assert trainer.val_dataloader is trainer.heldout


def test_a_run_without_the_setting_asks_nothing(made):
    trainer = made()
    trainer._paired = None
    trainer.fit(SimpleNamespace())
    assert kept(trainer) == [] and trainer.logged == [] and trainer.events == []
