"""The channel rules, one by one, and the traps that servers' parsers set. Expected values are by hand."""

from __future__ import annotations

import time
from typing import Any

import pytest

from foundation.responses.channels import Channels, split_channels
from foundation.responses.families import Family


def split(output: Any, **settings: Any) -> tuple[str, str, set[str]]:
    channels = split_channels(output, **settings)
    return channels.visible, channels.reasoning, set(channels.flags)


NT: dict[str, Any] = {"mode": "nt", "prompt_tail": "closed"}
OPEN: dict[str, Any] = {"mode": "t", "prompt_tail": "open"}
NONE: dict[str, Any] = {"mode": "t", "prompt_tail": "none"}
HARMONY: dict[str, Any] = {"mode": "t", "family": "gpt_oss"}


# Rule 1: non-thinking is whole.
@pytest.mark.parametrize(
    ("text", "visible"),
    [
        ("4", "4"),
        ("  4 \n", "4"),
        ("4<|im_end|>", "4"),
        ("4<|im_end|>\n<|endoftext|> ", "4"),
        ("so </think> 4<|im_end|>", "so </think> 4"),
        ("<think>hm</think>4", "<think>hm</think>4"),
        ("<think>\n\n</think>\n\n4", "<think>\n\n</think>\n\n4"),
        ("<think>never closed", "<think>never closed"),
        ("a<|im_end|>b", "a<|im_end|>b"),
        ("<|im_end|>a", "<|im_end|>a"),
        ("a</s>", "a</s>"),
    ],
)
def test_nt_is_visible_whole(text: str, visible: str) -> None:
    assert split(text, **NT) == (visible, "", set())
    assert split({"content": text}, **NT) == (visible, "", set())


@pytest.mark.parametrize("tail", ["open", "closed", "none", None])
def test_nt_does_not_depend_on_the_prompt_for_one_text(tail: Any) -> None:
    assert split("a</think>b", mode="nt", prompt_tail=tail) == ("a</think>b", "", set())


# Rule 2: a filled reasoning field in non-thinking mode.
@pytest.mark.parametrize("key", ["reasoning", "reasoning_content"])
@pytest.mark.parametrize("content", [None, "", " \n", "<|im_end|>"])
def test_nt_answer_in_the_reasoning_field(key: str, content: str | None) -> None:
    message = {"content": content, key: "The answer is 4."}
    assert split(message, **NT) == ("The answer is 4.", "", {"answer_in_reasoning_field"})


@pytest.mark.parametrize(
    ("settings", "promoted"),
    [
        ({"prompt_tail": "closed", "family": "qwen3_5"}, True),
        ({"prompt_tail": "none", "family": "qwen3_vl"}, True),  # the Instruct checkpoint has no block
        ({"prompt_tail": None, "family": "raw"}, True),  # a family without blocks
        ({"prompt_tail": None, "family": "qwen3_5"}, False),  # nobody knows where the prompt ended
        ({"prompt_tail": None, "family": "qwen3_vl"}, False),
        ({"prompt_tail": "open", "family": "qwen3_vl"}, False),
        ({"prompt_tail": "none", "family": "kimi"}, False),  # the model may open a block itself
        ({"prompt_tail": None, "family": "gpt_oss"}, False),  # the analysis channel
        ({"prompt_tail": "closed", "family": "qwen3_5", "finish_reason": "length"}, False),  # a cut trace
    ],
)
def test_nt_promotes_only_what_is_known_to_be_an_answer(settings: dict[str, Any], promoted: bool) -> None:
    result = split({"content": None, "reasoning": "4"}, mode="nt", **settings)
    if promoted:
        assert result == ("4", "", {"answer_in_reasoning_field"})
    else:
        assert result == ("", "4", {"reasoning_in_nt", "no_visible_response"})


def test_nt_with_both_fields_shows_the_content() -> None:
    assert split({"content": "4", "reasoning": "2+2"}, **NT) == ("4", "2+2", {"reasoning_in_nt"})
    assert split({"content": "4", "reasoning": " "}, **NT) == ("4", "", set())


# Rule 3: thinking, one text.
@pytest.mark.parametrize(
    ("text", "settings", "expected"),
    [
        ("2+2</think>\n\n4<|im_end|>", OPEN, ("4", "2+2", set())),
        ("<think>2+2</think>4", NONE, ("4", "2+2", set())),
        ("<think>\n2+2\n</think>4", OPEN, ("4", "2+2", set())),
        ("a</think>b</think>c", OPEN, ("c", "a</think>b", set())),
        ("a</think>4", {"mode": "t", "prompt_tail": None}, ("4", "a", set())),
        ("The answer is 4.", OPEN, ("", "The answer is 4.", {"unclosed_think", "no_visible_response"})),
        ("<think>The answer is 4.", NONE, ("", "The answer is 4.", {"unclosed_think", "no_visible_response"})),
        ("Well. <think>4", NONE, ("", "Well. <think>4", {"unclosed_think", "no_visible_response"})),
        ("The answer is 4.", NONE, ("The answer is 4.", "", set())),
        ("The answer is 4.", {"mode": "t", "prompt_tail": None}, ("The answer is 4.", "", set())),
        ("The answer is 4.", {"mode": "t", "prompt_tail": "closed"}, ("The answer is 4.", "", set())),
        ("a</think> \n", OPEN, ("", "a", {"no_visible_response"})),
        ("</think>4", OPEN, ("4", "", set())),
        ("a</think><think>b", OPEN, ("", "a", {"unclosed_think", "no_visible_response"})),
        ("a</think>4 <think>b", OPEN, ("4 <think>b", "a", {"reopened_think"})),
        ("a<think>b</think>4", OPEN, ("4", "a<think>b", set())),
        ("i count 4 </think> the answer is 4", OPEN, ("the answer is 4", "i count 4", set())),
    ],
)
def test_thinking_in_one_text(text: str, settings: dict[str, Any], expected: tuple[str, str, set[str]]) -> None:
    assert split(text, **settings) == expected


def test_cut_thinking_is_never_an_answer() -> None:
    cut = split("\\boxed{4}", **OPEN, finish_reason="length")
    assert cut == ("", "\\boxed{4}", {"unclosed_think", "no_visible_response"})


# Rule 4: thinking, split by the server.
def test_server_split_is_taken() -> None:
    assert split({"content": "\n4<|im_end|>", "reasoning": "2+2"}, **OPEN) == ("4", "2+2", set())
    assert split({"content": "a </think> 4", "reasoning": "2+2"}, **OPEN) == ("a </think> 4", "2+2", set())
    assert split({"content": None, "reasoning": "2+2"}, **OPEN) == ("", "2+2", {"no_visible_response"})


def test_closed_prompt_beats_the_server() -> None:
    message = {"content": None, "reasoning_content": "The answer is 4."}
    closed = {"mode": "t", "prompt_tail": "closed"}
    assert split(message, **closed) == ("The answer is 4.", "", {"answer_in_reasoning_field"})


def test_server_that_needs_both_tags_leaves_the_split_to_us() -> None:
    """A parser that looks for <think> gives the whole text as content when only </think> was generated."""
    assert split({"content": "2+2</think>4", "reasoning": None}, **OPEN) == ("4", "2+2", set())
    assert split({"content": "no end", "reasoning": None}, **OPEN)[2] == {"unclosed_think", "no_visible_response"}


# Rule 5: harmony.
ANALYSIS = "<|channel|>analysis<|message|>2+2<|end|>"
FINAL = "<|start|>assistant<|channel|>final<|message|>4<|return|>"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (ANALYSIS + FINAL, ("4", "2+2", set())),
        ("<|channel|>final<|message|>4", ("4", "", set())),
        ("<|channel|>analysis<|message|>2+2", ("", "2+2", {"unclosed_think", "no_visible_response"})),
        (ANALYSIS, ("", "2+2", {"no_visible_response"})),
        (ANALYSIS + "<|start|>assistant<|channel|>final<|message|>cut he", ("cut he", "2+2", set())),
        (
            ANALYSIS
            + "<|start|>assistant<|channel|>commentary to=functions.look <|constrain|>json<|message|>{}<|call|>"
            + "<|start|>functions.look to=assistant<|channel|>commentary<|message|>sky<|end|>"
            + FINAL,
            ("4", "2+2", set()),
        ),
        ("<|start|>assistant to=functions.f<|channel|>final<|message|>{}<|call|>", ("", "", {"no_visible_response"})),
        ("<|channel|>final <|constrain|>json<|message|>{}<|return|>", ("{}", "", set())),
        ("<|channel|>final<|message|>say `<|end|>` last<|return|>", ("say `<|end|>` last", "", set())),
        ("4", ("4", "", set())),
    ],
)
def test_harmony(text: str, expected: tuple[str, str, set[str]]) -> None:
    assert split(text, **HARMONY) == expected


def test_harmony_prompt_may_end_inside_a_channel() -> None:
    assert split("2+2<|end|>" + FINAL, **HARMONY, prompt_tail="open") == ("4", "2+2", set())
    assert split("4<|return|>", **HARMONY, prompt_tail="closed") == ("4", "", set())


def test_harmony_reasoning_without_thinking_is_flagged() -> None:
    assert split(ANALYSIS + FINAL, mode="nt", family="gpt_oss") == ("4", "2+2", {"reasoning_in_nt"})
    assert split({"content": "4", "reasoning": "2+2"}, mode="nt", family="gpt_oss") == ("4", "2+2", {"reasoning_in_nt"})


# Rule 6: nothing visible.
@pytest.mark.parametrize("output", ["", " \n", "<|im_end|>", {"content": None}, {}, {"content": []}])
@pytest.mark.parametrize("mode", ["nt", "t"])
def test_nothing_visible_is_flagged(output: Any, mode: Any) -> None:
    assert split(output, mode=mode, prompt_tail="none") == ("", "", {"no_visible_response"})


# Rule 7: other families, and markers that are text.
@pytest.mark.parametrize(
    ("family", "text"),
    [
        ("kimi", "◁think▷2+2◁/think▷4[EOS]"),
        ("kimi", "<think>2+2</think>4<|im_end|>"),
        ("deepseek", "<think>2+2</think>4<｜end▁of▁sentence｜>"),
        ("seed", "<seed:think>2+2</seed:think>4<seed:eos>"),
        ("mimo", "<think>2+2</think>4<|im_end|>"),
        (Family("own", (("[THINK]", "[/THINK]"),), ("</s>",)), "[THINK]2+2[/THINK]4</s>"),
    ],
)
def test_markers_of_a_family(family: str | Family, text: str) -> None:
    assert split(text, mode="t", prompt_tail="none", family=family) == ("4", "2+2", set())


def test_markers_of_another_family_are_text() -> None:
    assert split("◁think▷2+2◁/think▷4", **NONE)[0] == "◁think▷2+2◁/think▷4"
    assert split("<think>2+2</think>4", mode="t", family="raw")[0] == "<think>2+2</think>4"


@pytest.mark.parametrize(
    "answer",
    [
        "Close it with `</think>` at the end.",
        'The string "</think>" ends the block.',
        "“</think>”是结束标记",
        "「</think>」是结束标记",
        "The </think> token ends the block.",
        "```xml\n<think>\nplan\n</think>\n```",
        "```\n</think>\n```",
        "~~~\n</think>\n~~~\nDone.",
        "``a ` </think> b``",
        "Write `<think>` first.",
    ],
)
def test_marker_as_subject_or_in_code_is_text(answer: str) -> None:
    assert split("plan</think>" + answer, **OPEN) == (answer, "plan", set())
    assert split(answer, **NONE) == (answer, "", set())


def test_quoted_marker_does_not_close_a_block() -> None:
    text = 'I must end with "</think>" or `</think>`'
    assert split(text, **OPEN) == ("", text, {"unclosed_think", "no_visible_response"})
    assert split(text + "\n</think>4", **OPEN) == ("4", text, set())


def test_unclosed_fence_in_the_reasoning_hides_no_marker() -> None:
    assert split("```py\nx = 1\n</think>\nUse:\n```py\nx\n```", **OPEN)[0] == "Use:\n```py\nx\n```"
    assert split("try `x </think>4", **OPEN)[0] == "4"


# Interface.
def test_content_parts_are_joined() -> None:
    parts = [{"type": "text", "text": "a"}, {"type": "image_url"}, {"type": "text", "text": "b"}]
    assert split({"content": parts}, **NT)[0] == "ab"


def test_result_is_a_frozen_record() -> None:
    channels = split_channels("4", mode="nt")
    assert channels == Channels("4", "", frozenset())
    with pytest.raises(AttributeError):
        channels.visible = "5"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ({"mode": "fast"}, "policy.mode='fast'"),
        ({"mode": "t", "prompt_tail": "half"}, "prompt_tail='half'"),
        ({"mode": "t", "family": "gpt9"}, "family 'gpt9'"),
    ],
)
def test_wrong_settings_are_named(arguments: dict[str, Any], named: str) -> None:
    with pytest.raises(ValueError, match=named):
        split_channels("x", **arguments)


def test_field_that_is_no_text_is_named() -> None:
    with pytest.raises(ValueError, match="'content' is int"):
        split_channels({"content": 4}, mode="nt")


@pytest.mark.parametrize(
    "piece",
    [
        "<think>",
        "</think>",
        "<|im_end|>",
        "`",
        "``` \n",
        "```py\n",
        '"</think>" ',
        "<|start|>",
        "<|start|>a<|message|>",
        " ",
    ],
)
@pytest.mark.parametrize("family", ["qwen3_vl", "gpt_oss"])
def test_time_is_linear(piece: str, family: str) -> None:
    """Ten times the text takes about ten times as long; a quadratic pass over 200,000 characters takes minutes."""

    def seconds(n: int) -> float:
        text = piece * (n // len(piece)) + "</think>4"
        start = time.process_time()
        for mode in ("nt", "t"):
            split_channels(text, mode=mode, prompt_tail="open", family=family)  # type: ignore[arg-type]
        return time.process_time() - start

    short = min(seconds(20_000) for _ in range(3))
    assert min(seconds(200_000) for _ in range(3)) < 40 * short + 1.0
