"""The prompts of a paired evaluation, as batches for verl's validation: every prompt once in each mode.

verl's `_validate` (0.9.1, trainer/ppo/v1/trainer_base.py:1031) iterates over `val_dataloader` and passes the columns of
a batch on to the agent loop. What differs from a held-out row are three columns: mode, seed and one rollout a prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from verl.trainer.ppo.utils import create_rl_dataset
from verl.utils.dataset.rl_dataset import collate_fn

from foundation.responses.families import Mode
from foundation.responses.modes import chat_template_kwargs, check_prompt_tail, prompt_tail
from foundation.responses.prompt_seed import prompt_seed
from rollout_workers.reward_call import MODE, SAMPLING_SEED


class PairedPrompts:
    """Batches of prompts in all modes; the modes of a prompt are neighbours, so that its image is encoded once.

    It draws no random number: neither the order of the training prompts nor their rollouts depend on it. Requests with
    a seed of their own leave vLLM's shared stream alone.

    Args:
        dataset: verl's data set of prompts.
        max_prompts: the first so many; None for all.
        batch_size: rows of one batch at most, at least 1.
        seed: of the sampling; the same prompt gets the same noise in both modes and at every step.
        on_batch: called before each batch.
    """

    def __init__(
        self,
        dataset: Any,
        *,
        modes: Sequence[Mode],
        max_prompts: int | None,
        batch_size: int,
        seed: int,
        on_batch: Callable[[], None],
    ) -> None:
        self._dataset = dataset
        self._modes = tuple(modes)
        self._batch_size = batch_size
        self._seed = seed
        self._on_batch = on_batch
        self.n_prompts = len(dataset) if max_prompts is None else min(max_prompts, len(dataset))

    @property
    def n_responses(self) -> int:
        return self.n_prompts * len(self._modes)

    def __iter__(self) -> Iterator[dict[str, Any]]:
        asked = [(i, mode) for i in range(self.n_prompts) for mode in self._modes]
        for start in range(0, len(asked), self._batch_size):
            self._on_batch()
            yield collate_fn([self._row(i, mode) for i, mode in asked[start : start + self._batch_size]])

    def _row(self, i: int, mode: Mode) -> dict[str, Any]:
        row = self._dataset[i]
        seed = prompt_seed(self._seed, str(row["extra_info"]["prompt_id"]))
        return {**row, MODE: mode, SAMPLING_SEED: seed, "__rollout_n__": 1}


def paired_prompts(
    config: Any, heldout: Any, tokenizer: Any, processor: Any, on_batch: Callable[[], None]
) -> PairedPrompts:
    """The prompts of the section `pattern_eval`.

    A batch is at most as large as a training step, so that it takes no longer than `run.stall_timeout_s` allows one.

    Args:
        heldout: verl's validation data set, used where `pattern_eval.prompts` is null.

    Raises:
        ValueError: the policy cannot be asked in one of the modes.
    """
    settings = config.pattern_eval
    kwargs = dict(config.data.get("apply_chat_template_kwargs") or {})
    check_modes(tokenizer, config.policy.family, settings.modes, kwargs)
    dataset = heldout
    if settings.prompts is not None:
        dataset = create_rl_dataset(list(settings.prompts), config.data, tokenizer, processor, is_train=False)
    return PairedPrompts(
        dataset,
        modes=settings.modes,
        max_prompts=settings.max_prompts,
        batch_size=config.data.train_batch_size * config.actor_rollout_ref.rollout.n,
        seed=config.seed,
        on_batch=on_batch,
    )


def check_modes(tokenizer: Any, family: str, modes: Sequence[Mode], template_kwargs: Mapping[str, Any]) -> None:
    """Refuse modes that the policy's chat template does not offer, before any server starts.

    Raises:
        ValueError: the rendered prompt of a mode is that of another one.
    """
    for mode in modes:
        rendered = tokenizer.apply_chat_template(
            [{"role": "user", "content": "?"}],
            add_generation_prompt=True,
            tokenize=False,
            **{**template_kwargs, **chat_template_kwargs(family, mode)},
        )
        try:
            check_prompt_tail(prompt_tail(rendered, family), mode, family)
        except ValueError as error:
            others = [other for other in modes if other != mode]
            raise ValueError(
                f"pattern_eval.modes={list(modes)}: the chat template of policy.path has no mode {mode!r}, its prompt "
                f"ends with {rendered[-40:]!r}: set pattern_eval.modes={others or 'the other mode'}, and evaluate the "
                "checkpoint of this mode with python -m evaluation.pattern_eval"
            ) from error
