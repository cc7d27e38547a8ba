"""Batch arithmetic: what divides what, how many prompts a run sees, which of epochs and steps ends it."""

from __future__ import annotations

from dataclasses import dataclass

from omegaconf import DictConfig


@dataclass(frozen=True, slots=True)
class Batch:
    """Sizes of one step, in the units that verl's keys use.

    Attributes:
        prompts: prompts a step (`data.train_batch_size`); each is one GRPO group.
        n: rollouts a prompt (`actor_rollout_ref.rollout.n`).
        mini_batch: prompts a PPO mini-batch.
        micro_batch: rollouts a training process handles at once; None with `use_dynamic_bsz`.
        processes: training processes, one a GPU.
        rollout_parallel: GPUs of one vLLM replica of the policy.
        max_steps: `trainer.total_training_steps`; None: the epochs decide.
        epochs: `trainer.total_epochs`.
    """

    prompts: int
    n: int
    mini_batch: int
    micro_batch: int | None
    processes: int
    rollout_parallel: int
    max_steps: int | None
    epochs: int

    @property
    def rollouts(self) -> int:
        return self.prompts * self.n

    @property
    def updates(self) -> int:
        """Optimiser steps a training step; 1 is one on-policy update."""
        return self.prompts // self.mini_batch

    def length(self, rows: int) -> RunLength:
        """Length of a run over `rows` prompts. verl drops the last incomplete batch of each epoch."""
        per_epoch = rows // self.prompts
        by_epochs = per_epoch * self.epochs
        steps = by_epochs if self.max_steps is None else min(self.max_steps, by_epochs)
        return RunLength(
            steps=steps,
            prompts=steps * self.prompts,
            epochs=steps * self.prompts / rows,
            steps_by_epochs=by_epochs,
            binding="steps" if self.max_steps is not None and self.max_steps <= by_epochs else "epochs",
        )


@dataclass(frozen=True, slots=True)
class RunLength:
    """How far a run goes.

    Attributes:
        steps, prompts: in all.
        epochs: passes over the data, fractional.
        steps_by_epochs: steps that `trainer.total_epochs` alone would allow.
        binding: which setting ends the run, ``steps`` or ``epochs``.
    """

    steps: int
    prompts: int
    epochs: float
    steps_by_epochs: int
    binding: str


def read_batch(config: DictConfig) -> Batch:
    """The batch sizes of a composed tree, unchecked."""
    actor, rollout = config.actor_rollout_ref.actor, config.actor_rollout_ref.rollout
    return Batch(
        prompts=config.data.train_batch_size,
        n=rollout.n,
        mini_batch=actor.ppo_mini_batch_size,
        micro_batch=None if actor.use_dynamic_bsz else actor.ppo_micro_batch_size_per_gpu,
        processes=config.trainer.nnodes * config.trainer.n_gpus_per_node,
        rollout_parallel=(
            rollout.tensor_model_parallel_size * rollout.data_parallel_size * rollout.pipeline_model_parallel_size
        ),
        max_steps=config.trainer.total_training_steps,
        epochs=config.trainer.total_epochs,
    )


COUNTS = (
    "data.train_batch_size",
    "data.max_prompt_length",
    "data.max_response_length",
    "actor_rollout_ref.rollout.n",
    "actor_rollout_ref.rollout.tensor_model_parallel_size",
    "actor_rollout_ref.rollout.data_parallel_size",
    "actor_rollout_ref.rollout.pipeline_model_parallel_size",
    "actor_rollout_ref.actor.ppo_mini_batch_size",
    "trainer.nnodes",
    "trainer.n_gpus_per_node",
    "trainer.total_epochs",
)
OPTIONAL_COUNTS = (
    "actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu",
    "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu",
    "actor_rollout_ref.rollout.max_model_len",
    "trainer.total_training_steps",
)


def check_batch(config: DictConfig) -> list[str]:
    """Sizes that do not divide, one line each with the numbers and a value that works; empty when all fit."""
    problems = [line for key in COUNTS if (line := _not_a_count(config, key, optional=False))]
    problems += [line for key in OPTIONAL_COUNTS if (line := _not_a_count(config, key, optional=True))]
    if problems:
        return problems
    batch = read_batch(config)
    rollout, actor = config.actor_rollout_ref.rollout, config.actor_rollout_ref.actor
    if batch.n < 2:
        problems.append(f"actor_rollout_ref.rollout.n={batch.n}: the rollouts of a prompt are compared; set at least 2")
    if batch.prompts % batch.mini_batch:
        problems.append(
            f"data.train_batch_size={batch.prompts} is not a multiple of actor_rollout_ref.actor.ppo_mini_batch_size="
            f"{batch.mini_batch}: set ppo_mini_batch_size={_divisor(batch.prompts, batch.mini_batch)}"
        )
    in_mini_batch = batch.mini_batch * batch.n
    if in_mini_batch % batch.processes:
        problems.append(
            f"a mini-batch of ppo_mini_batch_size={batch.mini_batch} x rollout.n={batch.n} = {in_mini_batch} rollouts "
            f"does not divide over {batch.processes} training processes (trainer.nnodes x n_gpus_per_node): change "
            "cluster.policy or the batch"
        )
    elif batch.micro_batch is not None and in_mini_batch // batch.processes % batch.micro_batch:
        mini_share = in_mini_batch // batch.processes
        problems.append(
            f"actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu={batch.micro_batch} does not divide the "
            f"{mini_share} rollouts of a process in a mini-batch: set {_divisor(mini_share, batch.micro_batch)}"
        )
    if batch.micro_batch is None and not actor.use_dynamic_bsz:
        problems.append("actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu is null: set it, or use_dynamic_bsz=true")
    if rollout.log_prob_micro_batch_size_per_gpu is None and not rollout.log_prob_use_dynamic_bsz:
        problems.append(
            "actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu is null: set it, or "
            "actor_rollout_ref.actor.use_dynamic_bsz=true"
        )
    share = batch.rollouts // batch.processes
    log_prob = rollout.log_prob_micro_batch_size_per_gpu
    if log_prob is not None and not rollout.log_prob_use_dynamic_bsz and share % log_prob:
        problems.append(
            f"actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu={log_prob} does not divide the {share} "
            f"rollouts of a process in a step: set {_divisor(share, log_prob)}"
        )
    if batch.processes % batch.rollout_parallel:
        problems.append(
            f"actor_rollout_ref.rollout.tensor_model_parallel_size={rollout.tensor_model_parallel_size} (x data and "
            f"pipeline parallel = {batch.rollout_parallel}) does not divide the {batch.processes} GPUs of the policy: "
            f"set tensor_model_parallel_size={_divisor(batch.processes, batch.rollout_parallel)}"
        )
    longest = config.data.max_prompt_length + config.data.max_response_length
    if rollout.max_model_len is not None and rollout.max_model_len < longest:
        problems.append(
            f"actor_rollout_ref.rollout.max_model_len={rollout.max_model_len} is below data.max_prompt_length + "
            f"data.max_response_length = {longest}: raise it to {longest}"
        )
    return problems


def check_rows(batch: Batch, rows: int) -> list[str]:
    """Whether the data hold at least one batch."""
    if rows >= batch.prompts:
        return []
    return [
        f"corpus.train_files hold {rows} rows, less than data.train_batch_size={batch.prompts}: verl drops incomplete "
        f"batches, so there would be no step; set data.train_batch_size to at most {rows} or give more rows"
    ]


def _not_a_count(config: DictConfig, key: str, optional: bool) -> str | None:
    section, _, leaf = key.rpartition(".")
    node: DictConfig = config
    for part in section.split("."):
        node = node[part]
    value = node[leaf]
    if (optional and value is None) or (type(value) is int and value >= 1):
        return None
    return f"{key}={value!r}: set a whole number of at least 1" + (" or null" if optional else "")


def _divisor(number: int, near: int) -> int:
    """The largest divisor of `number` that is not above `near`."""
    return next(candidate for candidate in range(min(number, near), 0, -1) if number % candidate == 0)
