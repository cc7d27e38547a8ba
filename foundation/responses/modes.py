"""The switch between thinking and non-thinking mode, and what a rendered prompt says about it.

A mode is chosen by chat template arguments (a toggle or an effort level) or by another checkpoint. What was chosen
shows at the end of the rendered prompt, so that a switch without effect is found at the first prompt and not in a plot.

Example:
    >>> chat_template_kwargs("qwen3_5", "nt")
    {'enable_thinking': False}
    >>> prompt_tail("<|im_start|>assistant\\n<think>\\n", "qwen3_vl")
    'open'
"""

from __future__ import annotations

from typing import Any

from foundation.responses.families import Family, PromptTail, check_mode, get_family

_HARMONY_TAILS: dict[str, PromptTail] = {"analysis": "open", "final": "closed"}


def chat_template_kwargs(family: str | Family, mode: str) -> dict[str, Any]:
    """Chat template arguments that choose `mode`; empty where the checkpoint decides.

    Raises:
        ValueError: unknown family or mode.
    """
    return dict(get_family(family).mode_kwargs[check_mode(mode)])


def has_switch(family: str | Family) -> bool:
    """Whether the family's chat template arguments tell the modes apart; else a mode is another checkpoint.

    Raises:
        ValueError: unknown family.
    """
    kwargs = get_family(family).mode_kwargs
    return kwargs["nt"] != kwargs["t"]


def prompt_tail(rendered_prompt: str, family: str | Family = "qwen3_vl") -> PromptTail:
    """How a rendered prompt (special tokens kept) ends.

    Only the turn that the prompt opens for the model counts: a marker inside a user's question says nothing. Without
    the family's turn header only a marker at the very end counts.

    Returns:
        "open" inside a think block, "closed" behind one, "none" where there is no block.
    """
    fam = get_family(family)
    turn = rendered_prompt.rfind(fam.assistant_header) if fam.assistant_header else -1
    if fam.harmony:
        return _harmony_tail(rendered_prompt[turn:] if turn >= 0 else "")
    tail = rendered_prompt[turn:] if turn >= 0 else rendered_prompt.rstrip()
    last: tuple[int, PromptTail] = (-1, "none")
    for opening, closing in fam.think_markers:
        for marker, state in ((opening, "open"), (closing, "closed")):
            at = tail.rfind(marker)
            if at < 0 or (turn < 0 and at + len(marker) != len(tail)):
                continue
            last = max(last, (at, "open" if state == "open" else "closed"))
    return last[1]


def check_prompt_tail(tail: PromptTail, mode: str, family: str | Family) -> None:
    """Refuse a prompt that does not put the model into the mode asked for.

    Raises:
        ValueError: non-thinking mode with an open think block; thinking mode without a way into one.
    """
    fam, checked = get_family(family), check_mode(mode)
    if checked == "nt" and tail == "open":
        raise ValueError(
            f"policy.mode='nt', but the rendered prompt of family {fam.name!r} ends inside a think block: use the "
            f"non-thinking checkpoint, or a chat template with a switch (data.apply_chat_template_kwargs="
            f"{chat_template_kwargs(fam, 'nt')})"
        )
    if checked == "t" and tail != "open" and fam.think_markers and not (tail == "none" and fam.thinks_unasked):
        raise ValueError(
            f"policy.mode='t', but the rendered prompt of family {fam.name!r} has think block {tail!r}: use the "
            f"thinking checkpoint, or a chat template with a switch (data.apply_chat_template_kwargs="
            f"{chat_template_kwargs(fam, 't')})"
        )


def _harmony_tail(turn: str) -> PromptTail:
    """Tail of a harmony prompt: prefilled into the analysis or the final channel, or before any."""
    header, marker, _ = turn.rpartition("<|message|>")
    channel = header.rpartition("<|channel|>")[2].split()
    return _HARMONY_TAILS.get(channel[0], "none") if marker and channel else "none"
