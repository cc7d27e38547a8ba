"""What a reward worker gets to score one rollout: tokens and the row's texts, never images.

Stock verl ships the whole sample, with the images in `raw_prompt`, and computes model inputs for it that no reward
manager reads (verl 0.9.1, experimental/agent_loop/agent_loop.py:895-980).
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any

import numpy as np
import torch
from tensordict import TensorDict
from verl import DataProto

from foundation.responses.families import Mode, PromptTail
from reward_workers.mix import PATTERN_MIX


class RewardBatch(DataProto):
    """A `DataProto` that travels as numpy arrays: torch.save and torch.load cost more than the rest of the call."""

    def __getstate__(self) -> tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, Any]]:
        return {key: tensor.numpy() for key, tensor in self.batch.items()}, self.non_tensor_batch, self.meta_info

    def __setstate__(self, state: tuple[dict[str, np.ndarray], dict[str, np.ndarray], dict[str, Any]]) -> None:
        arrays, self.non_tensor_batch, self.meta_info = state
        # Unpickled arrays may lie in read-only memory of Ray's object store.
        self.batch = TensorDict({key: torch.from_numpy(np.array(array)) for key, array in arrays.items()}, batch_size=1)


MODE = "thinking_mode"
"""Column with the mode that a prompt is asked in, where a batch holds both; without it `policy.mode` counts."""

SAMPLING_SEED = "sampling_seed"
"""Column with the seed of a prompt's request; without it vLLM draws from the stream that all requests share."""

SAMPLE_KEYS = (
    *("uid", "session_id", "global_steps", "index", "data_source", "reward_model", "extra_info"),
    PATTERN_MIX,
)
"""Columns of the data set row and of the rollout that a reward manager finds in `non_tensor_batch`."""


def reward_batch(
    prompt_ids: list[int],
    response_ids: list[int],
    sample: Mapping[str, Any],
    *,
    mode: Mode,
    prompt_tail: PromptTail,
    validate: bool,
    truncated: bool,
) -> DataProto:
    """A batch of one rollout for `RewardLoopWorker.compute_score`.

    Returns:
        batch: prompts (1, P), responses (1, R), attention_mask (1, P + R), all int64, without padding.
        non_tensor_batch: object arrays of length 1: `SAMPLE_KEYS`, prompt_len, response_len, mode, prompt_tail,
        validate, truncated.

    Raises:
        ValueError: the data set row lacks one of `SAMPLE_KEYS`.
    """
    missing = [key for key in SAMPLE_KEYS if key not in sample]
    if missing:
        raise ValueError(f"data set row {sample.get('index')!r} has no {missing}; prepare the data with these columns")
    batch = TensorDict(
        {
            "prompts": torch.tensor([prompt_ids], dtype=torch.int64),
            "responses": torch.tensor([response_ids], dtype=torch.int64),
            "attention_mask": torch.ones((1, len(prompt_ids) + len(response_ids)), dtype=torch.int64),
        },
        batch_size=1,
    )
    values = {key: sample[key] for key in SAMPLE_KEYS} | {
        "prompt_len": len(prompt_ids),
        "response_len": len(response_ids),
        "mode": mode,
        "prompt_tail": prompt_tail,
        "validate": validate,
        "truncated": truncated,
    }
    return RewardBatch(batch=batch, non_tensor_batch={key: _column(value) for key, value in values.items()})


def is_truncated(response_ids: list[int], stop_ids: Collection[int]) -> bool:
    """Whether the response was cut: it does not end with a stop token.

    verl's server reports "completed" for both ends (verl 0.9.1, vllm_async_server.py:721), but keeps the stop token.
    """
    return not response_ids or response_ids[-1] not in stop_ids


def _column(value: Any) -> np.ndarray:
    """An object array of length 1, whatever the value is (numpy would unpack a list)."""
    column = np.empty(1, dtype=object)
    column[0] = value
    return column
