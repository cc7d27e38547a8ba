"""The texts that the tiny judges read and write, as token strings.

The prompt templates are those of ``reward_workers.judges.prompts``: the judges are trained on what they are served.
"""

from __future__ import annotations

from foundation.labels import TABLE, Vector, as_lines
from reward_workers.judges.prompts.render import render


def pattern_prompt(question: str, response: str) -> str:
    """The user message that asks PatternRM for the labels of a visible response."""
    return render("pattern_rm", question=question, response=response)[0]["content"]


def equivalence_prompt(question: str, reference: str, answer: str) -> str:
    """The user message that asks the answer judge whether ``answer`` means ``reference``."""
    messages = render("answer_equivalence_compact", question=question, reference=reference, extracted=answer)
    return messages[0]["content"]


def pattern_answer(labels: Vector) -> str:
    """What PatternRM says: a line a label."""
    return as_lines(labels)


def label_tokens() -> list[str]:
    """The two decisions of each label, in order, as they stand in an answer: single tokens of PatternRM's tokenizer."""
    first, *others = (row.wire for row in TABLE)
    return [f"{start}: {digit}" for start in (first, *(f"\n{name}" for name in others)) for digit in (0, 1)]


def verdict_answer(correct: bool) -> str:
    """What the answer judge says."""
    return "CORRECT" if correct else "INCORRECT"


def judge_turn(message: str) -> str:
    """A user message as the judges' chat template renders it, up to where the judge begins to write."""
    return f"<|im_start|>user\n{message}<|im_end|>\n<|im_start|>assistant\n"


def policy_turn(question: str, thinking: bool) -> str:
    """A question with its image as the policy's chat template renders it, with one placeholder a visual token (9)."""
    image = "<|vision_start|>" + "<|image_pad|>" * 9 + "<|vision_end|>"
    tail = "<think>\n" if thinking else "<think>\n\n</think>\n\n"
    return f"<|im_start|>user\n{image}{question}<|im_end|>\n<|im_start|>assistant\n{tail}"
