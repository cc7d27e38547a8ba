"""What differs between model families: think markers, end-of-turn tokens, how a mode is chosen.

The one table behind `modes` and `channels`. A family that is not in it is one more entry here or a `Family` that the
caller builds; nothing else in the project knows a marker.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, Literal

Mode = Literal["nt", "t"]
"""Non-thinking or thinking."""

PromptTail = Literal["open", "closed", "none"]
"""How a rendered prompt ends: inside a think block, behind a closed one, or without any."""

MODES: tuple[Mode, ...] = ("nt", "t")
MODE_NAMES: dict[Mode, str] = {"nt": "non-thinking", "t": "thinking"}
PROMPT_TAILS: tuple[PromptTail, ...] = ("open", "closed", "none")


@dataclass(frozen=True, slots=True)
class Family:
    """How one model family marks its channels.

    Attributes:
        name: key in `FAMILIES`.
        think_markers: pairs (opening, closing) of a think block; empty where the text has none.
        end_tokens: tokens that end a turn; they are no part of an answer when they stand at its very end.
        assistant_header: text with which the last turn of a rendered prompt starts; what follows is its tail.
        harmony: the text is in the harmony format (channels analysis, commentary, final) instead of think blocks.
        thinks_unasked: may start a think block although the prompt ends without one. It decides whether a prompt
            without a block is known to stand outside of one (channel rule 2).
        mode_kwargs: chat template arguments that choose each mode; equal for both modes where the mode is another
            checkpoint or the server's business.
    """

    name: str
    think_markers: tuple[tuple[str, str], ...] = ()
    end_tokens: tuple[str, ...] = ()
    assistant_header: str = ""
    harmony: bool = False
    thinks_unasked: bool = False
    mode_kwargs: dict[Mode, dict[str, Any]] = field(default_factory=lambda: {"nt": {}, "t": {}})


_THINK = (("<think>", "</think>"),)
_CHATML_END = ("<|im_end|>", "<|endoftext|>")
_ENABLE_THINKING: dict[Mode, dict[str, Any]] = {"nt": {"enable_thinking": False}, "t": {"enable_thinking": True}}
_THINKING: dict[Mode, dict[str, Any]] = {"nt": {"thinking": False}, "t": {"thinking": True}}

FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        # Two official checkpoints; their templates ignore enable_thinking, the template of the toy policy reads it.
        Family("qwen3_vl", _THINK, _CHATML_END, "<|im_start|>assistant", mode_kwargs=_ENABLE_THINKING),
        Family(
            "qwen3_5", _THINK, _CHATML_END, "<|im_start|>assistant", thinks_unasked=True, mode_kwargs=_ENABLE_THINKING
        ),
        # No off switch: the modes are effort levels.
        Family(
            "gpt_oss",
            end_tokens=("<|return|>", "<|end|>", "<|call|>", "<|endoftext|>"),
            assistant_header="<|start|>assistant",
            harmony=True,
            thinks_unasked=True,
            mode_kwargs={"nt": {"reasoning_effort": "low"}, "t": {"reasoning_effort": "high"}},
        ),
        Family(
            "kimi",
            (("◁think▷", "◁/think▷"), *_THINK),
            ("<|im_end|>", "[EOS]"),
            "<|im_assistant|>",
            thinks_unasked=True,
            mode_kwargs=_THINKING,
        ),
        Family(
            "deepseek",
            _THINK,
            ("<｜end▁of▁sentence｜>",),
            "<｜Assistant｜>",
            thinks_unasked=True,
            mode_kwargs=_THINKING,
        ),
        Family(
            "seed", (("<seed:think>", "</seed:think>"),), ("<seed:eos>",), "<seed:bos>assistant", thinks_unasked=True
        ),
        Family("mimo", _THINK, _CHATML_END, "<|im_start|>assistant", thinks_unasked=True, mode_kwargs=_ENABLE_THINKING),
        # Hosted models whose text carries no markers; the server splits the channels.
        Family("raw"),
    )
}


def get_family(family: str | Family) -> Family:
    """The entry of a family.

    Raises:
        ValueError: the name is not in the table.
    """
    if isinstance(family, Family):
        return family
    if family not in FAMILIES:
        raise ValueError(
            f"family {family!r} is not a known model family; use one of {sorted(FAMILIES)} (raw: the server splits the "
            "channels), or add an entry to foundation/responses/families.py"
        )
    return FAMILIES[family]


def check_mode(mode: str) -> Mode:
    """The mode, checked.

    Raises:
        ValueError: it is neither "nt" nor "t".
    """
    for known in MODES:
        if mode == known:
            return known
    raise ValueError(f"policy.mode={mode!r} is not a mode; use 'nt' (non-thinking) or 't' (thinking)")
