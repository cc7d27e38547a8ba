"""verl's V1 trainer with reward components, records, a rollout table, and a way to stop.

verl 0.9.1 logs no reward components while training (trainer/ppo/v1/trainer_base.py:1868): the reward manager puts each
record into `extra_fields.reward_extra_info`, and this mixin reads it there. It changes no step of the algorithm but
one: the advantages of a group with an unscored rollout are zero, because a missing reward is not a reward of zero.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from pathlib import Path
from typing import Any, cast

import torch
import transfer_queue as tq
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.trainer.ppo.v1 import PPOTrainer, get_trainer_cls
from verl.utils.debug import marked_timer

from foundation.runs.run_folder import RunFolder
from foundation.runs.scored_rollout import ScoredRollout, write_rollouts
from foundation.runs.step_metrics import reward_metrics, timeout_alarm
from trainer.frame.progress import Progress
from trainer.frame.tracking import Trackers
from trainer.frame.watchdog import Watchdog
from trainer.grpo.advantages import components_of, parts, reward_components
from trainer.grpo.paired_evaluation import PairedEvaluation
from trainer.grpo.paired_prompts import paired_prompts
from trainer.grpo.reward_loop import restarting_reward_workers
from trainer.grpo.rollout_table import RolloutTable
from trainer.grpo.weight_schedule import STATE_FILE, build_schedule, restore_state, save_state


class AbortedByPolicy(RuntimeError):
    """A rollout stayed unscored and `reward_mix.on_unscored=abort`; a checkpoint was written first."""


class PatternTrainerMixin(PPOTrainer):
    """Placed before a verl trainer by `make_trainer_cls`; `attach` must be called before `fit`."""

    total_training_steps: int
    val_dataloader: Any

    def attach(
        self,
        *,
        folder: RunFolder,
        trackers: Trackers,
        progress: Progress,
        watchdog: Watchdog,
        judge_lost: Callable[[], str | None],
        service_metrics: Callable[[], dict[str, float]],
        attempt: int,
    ) -> None:
        self._folder = folder
        self._trackers = trackers
        self._progress = progress
        self._watchdog = watchdog
        self._judge_lost = judge_lost
        self._service_metrics = service_metrics
        self._attempt = attempt
        self._stop_requested = False
        self.ended_by: str | None = None
        """Why `fit` returned before its last step without having been asked to."""
        self._saved_step: int | None = None
        self._data_order: dict[str, Any] = {}
        self._rollout_table: RolloutTable | None = None
        reward_mix = cast(dict[str, Any], OmegaConf.to_container(self.config.reward_mix, resolve=True))
        self._schedule = build_schedule(reward_mix)
        self._step_records: dict[str, ScoredRollout] = {}
        """Of the current step, by key in TransferQueue: read with the advantages, used again for the metrics."""
        self._paired: PairedEvaluation | None = None

    def request_stop(self) -> None:
        """Finish the current step, write a checkpoint, and return from `fit`."""
        self._stop_requested = True

    @property
    def logger(self) -> Trackers:
        return self._trackers

    @logger.setter
    def logger(self, ignored: Any) -> None:
        """verl's `fit` builds its own `Tracking` (trainer_base.py:425) from `trainer.logger`, which is empty here."""

    def _setup(self) -> None:
        with restarting_reward_workers(self.config.run.reward_worker_restarts):
            super()._setup()

    def _init_dataloader(self) -> None:
        super()._init_dataloader()
        if not self.config.pattern_eval.every:
            return
        self._paired = PairedEvaluation(
            prompts=paired_prompts(
                self.config,
                self.val_dataset,
                self.tokenizer,
                self.processor,
                on_batch=lambda: self._watchdog.beat(f"PatternEval at step {self.global_steps}"),
            ),
            every=self.config.pattern_eval.every,
            last_step=self.total_training_steps,
            seed=self.config.seed,
            folder=self._folder,
            attempt=self._attempt,
            progress=self._progress,
        )

    # ---- the loop ----

    def fit(self, agent_loop_manager: Any) -> None:
        agent_loop_manager.mix_of = self._schedule.mix
        self.agent_loop_manager = agent_loop_manager
        if self._paired is not None and self._paired.is_missing(self.global_steps):
            self.logger.log(self._evaluate_pairs(self._paired), step=self.global_steps)
        super().fit(agent_loop_manager)

    def step(self, metrics: dict[str, Any], timing_raw: dict[str, float]) -> Any:
        """One step; the weight schedule then learns its accuracy, before a checkpoint of the step is written."""
        self._step_records = {}
        batch = super().step(metrics, timing_raw)
        verdicts = [record.verdict.value for record in self._step_records.values()]
        decided = [value for value in verdicts if value is not None]
        if decided:
            self._schedule.observe(sum(decided) / len(decided))
        return batch

    def on_step_begin(self) -> None:
        self._watchdog.beat(f"step {self.global_steps}")
        if self.config.reward_mix.on_unscored == "abort":
            self._data_order = self.train_dataloader.state_dict()
        super().on_step_begin()

    def on_step_end(self) -> None:
        super().on_step_end()
        lost = self._judge_lost()
        if lost and self.global_steps < self.total_training_steps:
            self.ended_by = (
                f"{lost}\nNothing in this job can bring that judge back. A checkpoint of step {self.global_steps} is "
                "written; repair the judge and start the same command again"
            )
        if self._stop_requested or self.ended_by:
            if self._saved_step != self.global_steps:
                self._save_checkpoint()
            self.total_training_steps = self.global_steps

    def on_validate_begin(self) -> None:
        self._watchdog.beat(f"validation at step {self.global_steps}")
        if not self._validates_pairs:
            self._progress.say(f"validating on {len(self.val_dataset):,} held-out prompts")
        super().on_validate_begin()

    @property
    def _validates_pairs(self) -> bool:
        return self._paired is not None and self.val_dataloader is self._paired.prompts

    def _evaluate_pairs(self, paired: PairedEvaluation) -> dict[str, float]:
        """PatternEval of the current weights: verl's own validation, over the paired prompts."""
        heldout, self.val_dataloader = self.val_dataloader, paired.prompts
        try:
            paired.begin()
            self.on_validate_begin()
            metrics: dict[str, float] = self._validate()
            self.on_validate_end()
        finally:
            self.val_dataloader = heldout
        return metrics

    def _save_checkpoint(self) -> None:
        self._watchdog.beat(f"checkpoint of step {self.global_steps}")
        # First: verl writes the marker that makes a checkpoint count last.
        save_state(self._schedule, self._checkpoint_folder())
        super()._save_checkpoint()
        self._saved_step = self.global_steps
        self._progress.say(f"checkpoint of step {self.global_steps} written")

    def _load_checkpoint(self) -> None:
        super()._load_checkpoint()
        if self.global_steps == 0:
            return
        foreign = self.config.trainer.resume_mode == "resume_path"
        folder = Path(self.config.trainer.resume_from_path) if foreign else self._checkpoint_folder()
        if restore_state(self._schedule, folder):
            return
        if not foreign:
            raise ValueError(
                f"{folder / STATE_FILE} is missing, and reward_mix.schedule cannot go on without it: delete the "
                f"checkpoint {folder.name} and name an older one in latest_checkpointed_iteration.txt, or set "
                "run.name=<new name>"
            )
        self._progress.say(f"the weight schedule starts afresh: {folder} holds no {STATE_FILE}")

    # ---- rewards ----

    def _compute_advantage(self, batch: Any, metrics: dict[str, Any]) -> Any:
        records = _read_records(batch)
        # Kept now: the step may end here (abort), and a run that is killed after its checkpoint does not come back.
        self._keep(_in_order(records.values()), "train")
        self._step_records |= records
        dropped = {_uid(key) for key, record in records.items() if record.reward is None}
        if dropped and self.config.reward_mix.on_unscored == "abort":
            reasons = sorted({r.unscored_reason or "" for r in records.values() if r.reward is None})
            self._save_step_before()
            raise AbortedByPolicy(
                f"{len(dropped)} groups of step {self.global_steps + 1} hold rollouts that could not be scored "
                f"({', '.join(reasons)}) and reward_mix.on_unscored=abort. A checkpoint of step {self.global_steps} is "
                "written; repair the judge and start the same command again"
            )
        components = {key: components_of(r.reward, r.verdict.value == 1) for key, r in records.items()}
        with reward_components(components):
            if not dropped:
                return super()._compute_advantage(batch, metrics)
            scored = {key for key in records if _uid(key) not in dropped}
            for keys in parts(batch.keys, scored):
                super()._compute_advantage(batch.select_keys(keys), metrics)
        return _without_advantage(batch, dropped)

    def _save_step_before(self) -> None:
        """Checkpoint in the middle of a step: weights and data order are those of the step before."""
        self.global_steps -= 1
        self._save_checkpoint()
        torch.save(self._data_order, self._checkpoint_folder() / "data.pt")

    def _checkpoint_folder(self) -> Path:
        """Where verl keeps the checkpoint of the current step."""
        return Path(self.config.trainer.default_local_dir) / f"global_step_{self.global_steps}"

    def _compute_metrics(
        self, batch: Any, metrics: dict[str, Any], timing_raw: dict[str, float], global_steps: int, epoch: int
    ) -> None:
        # A run that ends before its time ends soon; the next start evaluates what is missing.
        ends_early = self._stop_requested or self.ended_by is not None
        if self._paired is not None and self._paired.is_due(global_steps) and not ends_early:
            with marked_timer("pattern_eval", timing_raw):
                metrics.update(self._evaluate_pairs(self._paired))
        super()._compute_metrics(batch, metrics, timing_raw, global_steps=global_steps, epoch=epoch)
        records = _in_order(self._step_records.values())
        components = self._components(records) | self._schedule.metrics() | self._service_metrics()
        metrics.update({f"reward_mix/{name}": value for name, value in components.items()})
        every = self.config.tracking.rollout_table_every
        if every and global_steps % every == 0:
            self.logger.log_rollouts(self._sampled(records, global_steps), global_steps)
        self._progress.step(global_steps, self.total_training_steps, components, timing_raw)

    def _val_metrics_update(
        self,
        data_sources: Any,
        sample_uids: Any,
        reward_extra_infos_dict: dict[str, list[Any]],
        sample_turns: Any,
        expected_acc_counts: Any = None,
    ) -> dict[str, float]:
        """Held-out metrics from the records (verl's own would average over the JSON strings)."""
        records = [ScoredRollout.from_json(text) for text in reward_extra_infos_dict["record"]]
        if self._paired is not None and self._validates_pairs:
            return self._paired.finish(records)
        self._keep(_in_order(records), "heldout")
        components = self._components(records)
        self._progress.heldout(self.global_steps, components)
        return {f"heldout/{name}": value for name, value in components.items()}

    def _components(self, records: Sequence[ScoredRollout]) -> dict[str, float]:
        components = reward_metrics(records)
        alarm = timeout_alarm(components, self.config.reward_mix.verifier.symbolic_timeout_s)
        if alarm is not None:
            self._progress.say(alarm)
        return components

    def _sampled(self, records: Sequence[ScoredRollout], step: int) -> list[dict[str, Any]]:
        if self._rollout_table is None:
            self._rollout_table = RolloutTable(
                self.train_dataset.dataframe,
                image_key=self.config.data.image_key,
                rows=self.config.tracking.rollout_table_rows,
                seed=self.config.seed,
            )
        return self._rollout_table.sample(records, step)

    def _keep(self, records: Sequence[ScoredRollout], split: str) -> None:
        write_rollouts(self._folder.records / f"{split}.jsonl", self._attempt, records)


def make_trainer_cls(trainer_mode: str) -> type[PatternTrainerMixin]:
    """verl's trainer of this mode with the mixin in front.

    A subclass that is passed on, not a newly registered name: verl compares `trainer_mode != "sync"` in many places, so
    a name of our own would change its behaviour.
    """
    return type("PatternTrainer", (PatternTrainerMixin, get_trainer_cls(trainer_mode)), {})


def _read_records(batch: Any) -> dict[str, ScoredRollout]:
    """Records of the real rollouts of a batch by TransferQueue key `{uid}_{session}_{index}`."""
    data = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["extra_fields"])
    return {
        key: ScoredRollout.from_json(extra["reward_extra_info"]["record"])
        for key, tag, extra in zip(batch.keys, batch.tags, list(data["extra_fields"]), strict=True)
        if not tag.get("is_padding", False)
    }


def _without_advantage(batch: Any, dropped: Set[str]) -> Any:
    """The batch after the advantages and returns of the dropped groups (by uid) became zero in TransferQueue."""
    stored = tq.kv_batch_get(keys=batch.keys, partition_id=batch.partition_id, select_fields=["advantages", "returns"])
    drops = [_uid(key) in dropped for key in batch.keys]
    zeroed = {
        field: torch.nested.as_nested_tensor(
            [torch.zeros_like(row) if drop else row for row, drop in zip(stored[field].unbind(), drops, strict=True)],
            layout=torch.jagged,
        )
        for field in ("advantages", "returns")
    }
    return tq.kv_batch_put(
        keys=batch.keys, partition_id=batch.partition_id, fields=TensorDict(zeroed, batch_size=len(batch))
    )


def _uid(key: str) -> str:
    return key.rsplit("_", 2)[0]


def _in_order(records: Iterable[ScoredRollout]) -> list[ScoredRollout]:
    return sorted(records, key=lambda record: (record.group, record.rollout))
