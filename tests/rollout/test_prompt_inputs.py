"""What the rollouts of a prompt share, and what a reward worker gets."""

from __future__ import annotations

import pytest

pytestmark = pytest.mark.integration


def test_positions_go_on_from_the_prompt() -> None:
    import torch

    from rollout_workers.prompt_inputs import PromptInputs

    # Text rows 0..3; one image token grid jumps the vision row to 5, from where text goes on in all rows.
    positions = torch.tensor([[0, 1, 2, 3], [0, 1, 4, 5]])
    inputs = PromptInputs([9, 9, 9], "none", {}, None, {}, {}, positions)
    assert inputs.position_ids(0).tolist() == [[0, 1, 2], [0, 1, 4]]
    assert inputs.position_ids(3).tolist() == [[0, 1, 2, 3, 4, 5], [0, 1, 4, 5, 6, 7]]
    flat = PromptInputs([9, 9], "none", {}, None, {}, {}, torch.tensor([0, 1, 2]))
    assert flat.position_ids(2).tolist() == [0, 1, 2, 3]


def test_image_lengths_for_the_actor() -> None:
    import torch

    from rollout_workers.prompt_inputs import actor_inputs

    output = {"input_ids": [1], "attention_mask": [1], "image_grid_thw": torch.tensor([[1, 4, 6], [2, 2, 2]])}
    inputs = actor_inputs(output)
    assert sorted(inputs) == ["image_grid_thw", "images_seqlens"]
    assert inputs["images_seqlens"].tolist() == [24, 4, 4]
    assert actor_inputs({"input_ids": [1], "attention_mask": [1]}) == {}


def test_messages_without_pixels() -> None:
    from rollout_workers.prompt_inputs import without_pixels

    messages = [
        {"role": "system", "content": "s"},
        {
            "role": "user",
            "content": [{"type": "image", "image": object(), "bytes": b"x"}, {"type": "text", "text": "q"}],
        },
    ]
    assert without_pixels(messages) == [
        {"role": "system", "content": "s"},
        {"role": "user", "content": [{"type": "image"}, {"type": "text", "text": "q"}]},
    ]
    assert messages[1]["content"][0]["bytes"] == b"x"  # type: ignore[index]


@pytest.mark.parametrize(
    ("response", "expected"), [([5, 2], False), ([5, 3], False), ([5, 6], True), ([], True), ([2, 5], True)]
)
def test_truncated_means_without_a_stop_token(response: list[int], expected: bool) -> None:
    from rollout_workers.reward_call import is_truncated

    assert is_truncated(response, {2, 3}) is expected


def test_row_without_a_needed_column_is_named() -> None:
    from rollout_workers.reward_call import reward_batch

    with pytest.raises(ValueError, match=r"row 7 has no \['reward_model', 'extra_info'\]"):
        reward_batch(
            [1],
            [2],
            {"uid": "u", "session_id": 0, "global_steps": 1, "index": 7, "data_source": "toy", "pattern_mix": None},
            mode="nt",
            prompt_tail="none",
            validate=False,
            truncated=False,
        )
