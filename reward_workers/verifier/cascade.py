"""The whole verifier: rules first, then the questions that they leave go to the symbolic pool (R49)."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Sequence
from dataclasses import replace

from reward_workers.records import Verdict
from reward_workers.verifier.outcome import Leaf, Outcome, Question
from reward_workers.verifier.rules import MAX_ANSWER_CHARS, judge, prepare
from reward_workers.verifier.symbolic import SymbolicPool

MAX_QUESTIONS = 16
"""Questions of one response that may go to the pool; a list with more open pairs stays unresolved."""


class Verifier:
    """Verdicts of responses; value None is left to the fallback judge.

    Args:
        symbolic: use the symbolic stage.
        symbolic_timeout_s: deadline of one symbolic question.
        symbolic_workers: child processes.
        max_answer_chars: a longer box is compared as a raw string only.

    Example (in async code)::

        verifier = Verifier()
        verdict = await verifier.verify(r"so \\boxed{(x-1)(x+4)}", "x^2+3x-4")
        verifier.close()
    """

    def __init__(
        self,
        symbolic: bool = True,
        symbolic_timeout_s: float = 3.0,
        symbolic_workers: int = 1,
        max_answer_chars: int = MAX_ANSWER_CHARS,
    ) -> None:
        if max_answer_chars < 1:
            raise ValueError(f"max_answer_chars={max_answer_chars} must be 1 or more")
        self.pool = SymbolicPool(symbolic_workers, symbolic_timeout_s) if symbolic else None
        self._max_answer_chars = max_answer_chars

    async def verify(
        self, visible: str, reference: str, answer_type: str | None = None, options: Sequence[str] | None = None
    ) -> Verdict:
        """Rules, then symbolic equivalence for what they leave.

        Raises:
            ValueError: unknown answer type.
        """
        started = time.perf_counter()
        prepared = prepare(visible, reference, answer_type, options, self._max_answer_chars)
        open_questions: list[Question] = []

        def collect(question: Question) -> Outcome:
            if question not in open_questions:
                open_questions.append(question)
            return Outcome(None, "needs_symbolic")

        verdict = judge(prepared, collect, started)
        if verdict.value is not None or not open_questions or self.pool is None:
            return verdict
        if len(open_questions) > MAX_QUESTIONS:
            return replace(verdict, stage="symbolic", reason="too_many_questions")
        outcomes = await asyncio.gather(*(self.pool.decide(question) for question in open_questions))
        settled = judge(prepared, _look_up(dict(zip(open_questions, outcomes, strict=True))), started)
        return replace(settled, stage="symbolic")

    def close(self) -> None:
        """End the child processes."""
        if self.pool is not None:
            self.pool.close()


def _look_up(outcomes: dict[Question, Outcome]) -> Leaf:
    def leaf(question: Question) -> Outcome:
        return outcomes.get(question, Outcome(None, "not_asked"))

    return leaf
