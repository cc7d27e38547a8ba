"""The mode switch and the end of rendered prompts."""

from __future__ import annotations

from typing import Any

import pytest

from foundation.responses.families import FAMILIES
from foundation.responses.modes import chat_template_kwargs, check_prompt_tail, has_switch, prompt_tail


@pytest.mark.parametrize(
    ("family", "mode", "expected"),
    [
        ("qwen3_5", "nt", {"enable_thinking": False}),
        ("qwen3_5", "t", {"enable_thinking": True}),
        ("qwen3_vl", "nt", {"enable_thinking": False}),
        ("deepseek", "t", {"thinking": True}),
        ("gpt_oss", "nt", {"reasoning_effort": "low"}),
        ("gpt_oss", "t", {"reasoning_effort": "high"}),
        ("raw", "t", {}),
    ],
)
def test_template_arguments(family: str, mode: str, expected: dict[str, Any]) -> None:
    assert chat_template_kwargs(family, mode) == expected


def test_template_arguments_are_a_copy() -> None:
    chat_template_kwargs("qwen3_5", "nt")["enable_thinking"] = True
    assert chat_template_kwargs("qwen3_5", "nt") == {"enable_thinking": False}


def test_every_family_knows_both_modes() -> None:
    assert all(set(family.mode_kwargs) == {"nt", "t"} for family in FAMILIES.values())


@pytest.mark.parametrize(
    ("rendered", "family", "expected"),
    [
        ("<|im_start|>user\nq<|im_end|>\n<|im_start|>assistant\n", "qwen3_vl", "none"),
        ("<|im_start|>assistant\n<think>\n", "qwen3_vl", "open"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\n", "qwen3_5", "closed"),
        ("<|im_start|>assistant\n<think>\nOkay, the picture", "qwen3_vl", "open"),
        ("<|im_start|>assistant\n<think>\n\n</think>\n\nThe answer is", "qwen3_vl", "closed"),
        ("<|im_start|>user\nwhat is <think><|im_end|>\n<|im_start|>assistant\n", "qwen3_vl", "none"),
        ("<|im_start|>user\nwhat is </think><|im_end|>\n<|im_start|>assistant\n<think>\n", "qwen3_vl", "open"),
        ("<think>\n\n</think>\n\n", "qwen3_vl", "closed"),
        ("the <think> marker", "qwen3_vl", "none"),
        ("", "qwen3_vl", "none"),
        ("<｜User｜>q<｜Assistant｜></think>", "deepseek", "closed"),
        ("<｜User｜>q<｜Assistant｜><think>", "deepseek", "open"),
        ("<|im_assistant|>assistant<|im_middle|>◁think▷", "kimi", "open"),
        ("<|im_assistant|>assistant<|im_middle|><think></think>", "kimi", "closed"),
        ("<|start|>user<|message|>q<|end|><|start|>assistant", "gpt_oss", "none"),
        ("<|start|>assistant<|channel|>analysis<|message|>", "gpt_oss", "open"),
        ("<|start|>assistant<|channel|>final<|message|>", "gpt_oss", "closed"),
        ("q", "raw", "none"),
    ],
)
def test_prompt_tail(rendered: str, family: str, expected: str) -> None:
    assert prompt_tail(rendered, family) == expected


@pytest.mark.parametrize(
    ("tail", "mode", "family"),
    [
        ("closed", "nt", "qwen3_5"),
        ("none", "nt", "qwen3_vl"),
        ("open", "t", "qwen3_vl"),
        ("none", "t", "kimi"),
        ("none", "t", "gpt_oss"),
        ("none", "t", "raw"),
    ],
)
def test_prompt_that_fits_the_mode(tail: Any, mode: str, family: str) -> None:
    check_prompt_tail(tail, mode, family)


@pytest.mark.parametrize(
    ("tail", "mode", "family", "named"),
    [
        ("open", "nt", "qwen3_vl", "ends inside a think block"),
        ("none", "t", "qwen3_vl", "has think block 'none'"),
        ("closed", "t", "qwen3_5", "has think block 'closed'"),
    ],
)
def test_switch_without_effect_is_named(tail: Any, mode: str, family: str, named: str) -> None:
    with pytest.raises(ValueError, match=f"policy.mode='{mode}'.*{named}"):
        check_prompt_tail(tail, mode, family)


def test_families_whose_modes_are_other_checkpoints_have_no_switch() -> None:
    assert [has_switch(family) for family in ("qwen3_5", "kimi", "gpt_oss", "seed", "raw")] == [True] * 3 + [False] * 2


def test_unknown_names_are_listed() -> None:
    with pytest.raises(ValueError, match=r"family 'qwen9'.*qwen3_5"):
        chat_template_kwargs("qwen9", "nt")
    with pytest.raises(ValueError, match=r"policy\.mode='off'"):
        chat_template_kwargs("qwen3_5", "off")
