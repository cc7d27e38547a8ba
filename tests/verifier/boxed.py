"""What the property tests share: the verdict of the rules on a boxed answer, and ways to write an answer down."""

from collections.abc import Sequence

from reward_workers.verifier import verify_rules

WRAPPERS = [
    "%s", " %s ", "%s.", "%s\\,", "$%s$", "\\(%s\\)", "\\text{%s}", "\\mathbf{%s}", "\\textbf{\\text{%s}}", "**%s**",
    "{%s}", "\\boxed{%s}", "\\color{red}{%s}", "\\displaystyle %s",
]  # fmt: skip
"""Forms with one ``%s`` that say nothing about the value inside."""

FULL_WIDTH = {code: code + 0xFEE0 for code in range(ord("!"), ord("~") + 1)}
"""For str.translate: printable ASCII as full-width characters."""


def value(
    answer: str, reference: str, answer_type: str | None = None, options: Sequence[str] | None = None
) -> int | None:
    """Verdict of the rules on a response with this answer in a box: 1, 0, or None for unresolved."""
    return verify_rules(f"So \\boxed{{{answer}}}", reference, answer_type, options).value
