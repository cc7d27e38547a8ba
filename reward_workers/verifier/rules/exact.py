"""The exact stage: identical raw strings, then identical canonical strings (policy 2)."""

from __future__ import annotations

from reward_workers.verifier.rules.normalize import tight
from reward_workers.verifier.rules.outcome import Outcome


def compare_exact(answer: str, reference: str, raw_answer: str, raw_reference: str) -> Outcome:
    """1 when the strings are the same as written or in canonical form; never 0."""
    if raw_answer == raw_reference:
        return Outcome(1, "identical")
    if answer and (answer == reference or tight(answer) == tight(reference)):
        return Outcome(1, "same_normalized")
    return Outcome(None, "not_identical")
