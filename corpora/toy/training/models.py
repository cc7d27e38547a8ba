"""The architectures: a Qwen3-VL policy and two Qwen3 judges, all around a million parameters or less."""

from __future__ import annotations

from typing import Any

INIT_STD = 0.07
"""At the usual .02 a policy this small never learned to copy the question's noun into its answer."""

MAX_POSITIONS = 4096
_TEXT = {
    "intermediate_size": 256,
    "num_hidden_layers": 4,
    "num_attention_heads": 4,
    "num_key_value_heads": 2,
    "head_dim": 32,
    "hidden_size": 128,
    "max_position_embeddings": MAX_POSITIONS,
    "initializer_range": INIT_STD,
    "tie_word_embeddings": True,
}
_JUDGE_SIZES = {
    "pattern_rm": {},
    "answer_judge": {"num_hidden_layers": 3, "hidden_size": 96, "intermediate_size": 192},
}


def _ends(tokenizer: Any) -> dict[str, int]:
    return {"eos_token_id": tokenizer.eos_token_id, "pad_token_id": tokenizer.pad_token_id}


def build_policy(tokenizer: Any) -> Any:
    """A fresh ``Qwen3VLForConditionalGeneration`` from torch's global generator; 9 visual tokens an image."""
    from transformers import Qwen3VLConfig, Qwen3VLForConditionalGeneration

    token_id = tokenizer.convert_tokens_to_ids
    rope = {"rope_type": "default", "rope_theta": 10000.0, "mrope_section": [8, 4, 4], "mrope_interleaved": True}
    config = Qwen3VLConfig(
        text_config={"vocab_size": len(tokenizer), "rope_parameters": rope, **_TEXT, **_ends(tokenizer)},
        vision_config={
            "depth": 2,
            "hidden_size": 64,
            "intermediate_size": 128,
            "num_heads": 2,
            "out_hidden_size": _TEXT["hidden_size"],
            "patch_size": 16,
            "spatial_merge_size": 2,
            "temporal_patch_size": 2,
            "num_position_embeddings": 64,
            "deepstack_visual_indexes": [0],
            "initializer_range": INIT_STD,
        },
        image_token_id=token_id("<|image_pad|>"),
        video_token_id=token_id("<|video_pad|>"),
        vision_start_token_id=token_id("<|vision_start|>"),
        vision_end_token_id=token_id("<|vision_end|>"),
        tie_word_embeddings=True,
    )
    return _with_generation_ends(Qwen3VLForConditionalGeneration(config), tokenizer)


def build_judge(tokenizer: Any, name: str) -> Any:
    """A fresh ``Qwen3ForCausalLM`` for ``pattern_rm`` or ``answer_judge``."""
    from transformers import Qwen3Config, Qwen3ForCausalLM

    rope = {"rope_type": "default", "rope_theta": 10000.0}
    sizes = {**_TEXT, **_JUDGE_SIZES[name]}
    config = Qwen3Config(
        vocab_size=len(tokenizer), rope_parameters=rope, bos_token_id=None, **sizes, **_ends(tokenizer)
    )
    return _with_generation_ends(Qwen3ForCausalLM(config), tokenizer)


def _with_generation_ends(model: Any, tokenizer: Any) -> Any:
    model.generation_config.eos_token_id = [tokenizer.eos_token_id]
    model.generation_config.pad_token_id = tokenizer.pad_token_id
    return model


def build_processor(tokenizer: Any) -> Any:
    """The processor that is saved beside the policy: no resizing of 96x96 images, patch 16, merge 2."""
    from transformers import Qwen2VLImageProcessor, Qwen3VLProcessor, Qwen3VLVideoProcessor

    half = [0.5, 0.5, 0.5]
    patches = {"patch_size": 16, "merge_size": 2, "temporal_patch_size": 2, "image_mean": half, "image_std": half}
    return Qwen3VLProcessor(
        image_processor=Qwen2VLImageProcessor(**patches, size={"shortest_edge": 32 * 32, "longest_edge": 256 * 256}),
        video_processor=Qwen3VLVideoProcessor(**patches),
        tokenizer=tokenizer,
        chat_template=tokenizer.chat_template,
    )
