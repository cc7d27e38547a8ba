"""A paired evaluation through verl's own `_validate`, its data set and the agent loop, in one process without Ray."""

from __future__ import annotations

import asyncio
import itertools
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from factories import labelled, scored

from foundation.runs.records import Verdict
from foundation.runs.scored_rollout import read_all_rollouts
from reward_workers.mix import PAPER

pytestmark = [pytest.mark.integration, pytest.mark.timeout(300)]

HELDOUT = Path(__file__).resolve().parents[2] / "assets" / "toy" / "data" / "heldout.parquet"
EOS, TEXT_TOKEN = 2, 100


async def score(_self: Any, batch: Any) -> dict[str, Any]:
    """A reward worker that finds thinking right and plain answers wrong."""
    fields = {key: column[0] for key, column in batch.non_tensor_batch.items()}
    thinks = fields["mode"] == "t"
    record = scored(
        prompt_id=fields["extra_info"]["prompt_id"],
        step=fields["global_steps"],
        group=fields["extra_info"]["index"],
        rollout=fields["session_id"],
        mode=fields["mode"],
        verdict=Verdict(int(thinks), "exact", fields["prompt_tail"]),
        labels=labelled() if thinks else labelled("cot"),
        question=fields["extra_info"]["question"],
        reference=fields["reward_model"]["ground_truth"],
        visible="text",
        truncated=fields["truncated"],
        n_tokens=fields["response_len"],
    )
    return {"reward_score": 1.0, "reward_extra_info": {"acc": 1.0, "record": record.to_json()}}


def test_verls_validation_asks_every_prompt_once_in_each_mode(
    in_process: Any, toy_policy: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import transfer_queue as tq
    from transformers import AutoProcessor, AutoTokenizer
    from verl.trainer.ppo.utils import create_rl_dataset
    from verl.trainer.ppo.v1 import PPOTrainerSync
    from verl.utils.tensordict_utils import assign_non_tensor_data, list_of_dict_to_tensordict

    from foundation.runs.run_folder import RunFolder
    from trainer.frame.progress import Progress
    from trainer.grpo.paired_evaluation import PairedEvaluation
    from trainer.grpo.paired_prompts import PairedPrompts
    from trainer.grpo.pattern_trainer import PatternTrainerMixin

    config = in_process.compose(toy_policy, 4, 256)
    config.actor_rollout_ref.rollout.agent.default_agent_loop = "pattern_single_turn"
    tokenizer, processor = AutoTokenizer.from_pretrained(toy_policy), AutoProcessor.from_pretrained(toy_policy)
    dataset = create_rl_dataset([str(HELDOUT)], config.data, tokenizer, processor, is_train=False, max_samples=8)
    monkeypatch.setattr(in_process.RewardWorker, "remote", score)
    (tmp_path / "records").mkdir()
    folder, progress, loop = RunFolder(tmp_path), Progress(), asyncio.new_event_loop()
    lengths = itertools.count(1)  # of the responses: TransferQueue hands out ragged columns
    with in_process.worker("pattern", config, lambda i: [*[TEXT_TOKEN] * next(lengths), EOS]) as parts:
        worker, queue, server, _ = parts

        def fields_of(keys: list[str], partition_id: str, select_fields: list[str]) -> Any:
            assert partition_id == "val"
            return list_of_dict_to_tensordict([{name: queue.rows[key][name] for name in select_fields} for key in keys])

        cleared: list[str] = []
        monkeypatch.setattr(tq, "kv_batch_put", lambda **_: None)
        monkeypatch.setattr(tq, "kv_batch_get", fields_of)
        monkeypatch.setattr(tq, "kv_clear", lambda keys, partition_id: cleared.extend(keys))

        async def run(batch: Any) -> None:
            await worker.generate_sequences(batch)
            await asyncio.gather(*worker.background_tasks)

        def generate_sequences(batch: Any) -> None:
            assign_non_tensor_data(batch, "pattern_mix", PAPER)
            loop.run_until_complete(run(batch))

        def sample(**_: Any) -> Any:
            return SimpleNamespace(keys=[key for key in queue.rows if key not in cleared], partition_id="val"), {}

        trainer = object.__new__(type("T", (PatternTrainerMixin, PPOTrainerSync), {}))
        trainer.config, trainer.tokenizer, trainer.global_steps = config, tokenizer, 12
        trainer.agent_loop_manager = SimpleNamespace(generate_sequences=generate_sequences)
        trainer.replay_buffer = SimpleNamespace(sample=sample)
        trainer.reward_loop_manager = SimpleNamespace(reward_loop_worker_handles=[])
        trainer._watchdog, trainer._progress = SimpleNamespace(beat=lambda phase: None), progress
        trainer.val_dataloader = []
        prompts = PairedPrompts(dataset, modes=["nt", "t"], max_prompts=3, batch_size=4, seed=1, on_batch=lambda: None)
        trainer._paired = PairedEvaluation(prompts, 4, 12, 0, folder, 0, progress)
        metrics = trainer._evaluate_pairs(trainer._paired)
    loop.close()

    assert metrics["pattern_eval/nt/accuracy"] == 0 and metrics["pattern_eval/t/accuracy"] == 1
    assert metrics["pattern_eval/delta_acc"] == metrics["pattern_eval/delta_pat"] == 1
    kept = read_all_rollouts(folder.paired_records)
    ids = [dataset[i]["extra_info"]["prompt_id"] for i in range(3)]
    assert sorted((r.mode, r.prompt_id) for r in kept) == sorted((m, i) for m in ("nt", "t") for i in ids)
    assert {(r.mode, r.verdict.reason, r.step) for r in kept} == {("nt", "closed", 12), ("t", "open", 12)}
    assert len(cleared) == len(server.requests) == 6
    seeds = [request["sampling_params"]["seed"] for request in server.requests]
    assert len(set(seeds)) == 3 and all(seeds.count(seed) == 2 for seed in seeds)
