"""Who asks with which prompt: one line a prompt, for training and for evaluation.

A class is named by its path, so that a configuration is checked without the client, torch or Ray; whoever asks imports
it through `reward_workers.judges.registry`. The prompts are the templates of `reward_workers.judges.prompts`.
"""

from __future__ import annotations

ANSWER_JUDGE = "reward_workers.judges.answer_judge:AnswerJudge"
"""Does an extracted answer mean the same as the reference?"""

PATTERN_RM = "reward_workers.judges.pattern_rm:PatternRM"
"""The labels of a visible response, with probabilities."""

CORRECTNESS_JUDGE = "evaluation.pattern_eval.judging.correctness:CorrectnessJudge"
"""Is a whole visible response right?"""

PATTERN_JUDGE = "evaluation.pattern_eval.judging.pattern_judge:PatternJudge"
"""The labels of a visible response beside its image, with reasons."""

ASKED_BY: dict[str, str] = {
    "answer_equivalence": ANSWER_JUDGE,
    "answer_equivalence_compact": ANSWER_JUDGE,
    "pattern_rm": PATTERN_RM,
    "answer_correctness": CORRECTNESS_JUDGE,
    "pattern_judge": PATTERN_JUDGE,
}
"""Every prompt of a judge, and the class that asks with it."""


def prompts_of(*kinds: str) -> tuple[str, ...]:
    """The prompts with which these classes ask.

    >>> prompts_of(ANSWER_JUDGE)
    ('answer_equivalence', 'answer_equivalence_compact')
    """
    return tuple(prompt for prompt, kind in ASKED_BY.items() if kind in kinds)


def misfit(name: str, prompt: str | None, *kinds: str) -> str | None:
    """What to set where the prompt of a judge is one with which none of these classes asks; None where one does.

    Args:
        prompt: of its section, unchecked: about one that nobody asks with, `JudgeSettings` complains.
    """
    if prompt not in ASKED_BY or ASKED_BY[prompt] in kinds:
        return None
    return f"judges.{name}.prompt={prompt!r} cannot do this: use {' or '.join(prompts_of(*kinds))}"
