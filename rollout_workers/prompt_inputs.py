"""What all rollouts of a prompt share: token ids, images, model inputs, positions. Built once per prompt.

Stock verl decodes and preprocesses the images of a prompt again for every rollout, twice (verl 0.9.1,
experimental/agent_loop/agent_loop.py:916 and trainer/ppo/v1/agent_loop_tq.py:195, after the prompt's own run in
single_turn_agent_loop.py:54). The results do not depend on the response: pixel tensors come from the images alone, and
positions are causal, so those of a response go on from those of its prompt.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch

from foundation.responses.families import PromptTail


@dataclass(frozen=True, slots=True)
class PromptInputs:
    """Model inputs of one prompt, shared by its rollouts. Nothing in it is changed after it was built.

    Attributes:
        token_ids: the rendered prompt with expanded image placeholders, P token ids.
        tail: how the rendered prompt ends.
        multi_modal_data: decoded images (videos, audios) by verl's key; empty for a text prompt.
        image_argument: what the rollout server gets as images: a reference to one copy in Ray's object store, the
            images themselves without Ray, None without images.
        mm_processor_kwargs: arguments of the processor run, which the rollout server must use too.
        multi_modal_inputs: tensors of the actor's forward pass (pixel_values, image_grid_thw, images_seqlens).
        positions: (4, P + 1) for models with multi-dimensional rotary positions, else (P + 1,): positions of the prompt
            and of the first response token.
    """

    token_ids: list[int]
    tail: PromptTail
    multi_modal_data: dict[str, Any]
    image_argument: Any
    mm_processor_kwargs: dict[str, Any]
    multi_modal_inputs: dict[str, Any]
    positions: torch.Tensor

    def position_ids(self, n_response: int) -> torch.Tensor:
        """Positions of the prompt and a response of `n_response` text tokens: (4, P + n) or (P + n,)."""
        prompt, first = self.positions[..., :-1], self.positions[..., -1:]
        return torch.cat([prompt, first + torch.arange(n_response, dtype=first.dtype)], dim=-1)


def actor_inputs(processor_output: dict[str, Any]) -> dict[str, Any]:
    """The tensors of a processor run that verl passes to the actor (verl 0.9.1, agent_loop.py:832-844)."""
    inputs = {k: v for k, v in processor_output.items() if k not in ("input_ids", "attention_mask")}
    grid = inputs.get("image_grid_thw")
    if grid is not None:
        inputs["images_seqlens"] = torch.repeat_interleave(grid[:, 1] * grid[:, 2], grid[:, 0])
    return inputs


def without_pixels(messages: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The chat messages with text only: each image, video or audio part keeps nothing but its type."""
    return [
        {**message, "content": [_without_pixels(part) for part in message["content"]]}
        if isinstance(message["content"], list)
        else message
        for message in messages
    ]


def _without_pixels(part: dict[str, Any]) -> dict[str, Any]:
    return part if part.get("type") == "text" else {"type": part.get("type")}
