"""The whole verifier: rules first, then the questions that they leave go to the symbolic pool."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace

from foundation.runs.records import SymbolicLosses, Verdict
from reward_workers.verifier.rules.answer_types import check_answer_type
from reward_workers.verifier.rules.decide import MAX_ANSWER_CHARS, Prepared, decide, leave_to_symbolic, prepare
from reward_workers.verifier.rules.extract import extract_boxed
from reward_workers.verifier.rules.outcome import Outcome, Question
from reward_workers.verifier.symbolic.pool import SymbolicPool

logger = logging.getLogger(__name__)

MAX_QUESTIONS = 16
"""Questions of one response that may go to the pool; a list with more open pairs stays unresolved."""

_LOST = ("symbolic_timeout", "symbolic_died")
"""Reasons that name a question which cost a child process."""


@dataclass(frozen=True, slots=True)
class Consultation:
    """What the rules say of one response, and what they would ask the symbolic stage.

    Attributes:
        verdict: verdict of the rules alone.
        questions: different questions in the order in which they came up; empty when there is nothing to ask.
    """

    verdict: Verdict
    questions: tuple[Question, ...] = ()
    _prepared: Prepared | None = None
    _started: float = 0.0

    def settle(self, outcomes: Sequence[Outcome]) -> Verdict:
        """The verdict once each question has its outcome, in the order of `questions`.

        A verdict that stays open because a child was lost says so, also where another part was open before it.
        """
        if self._prepared is None:
            return self.verdict
        known = dict(zip(self.questions, outcomes, strict=True))
        settled = decide(
            self._prepared, lambda question: known.get(question, Outcome(None, "not_asked")), self._started
        )
        reason = settled.reason
        if settled.value is None:
            reason = next((outcome.reason for outcome in outcomes if outcome.reason in _LOST), reason)
        return replace(settled, stage="symbolic", reason=reason)


def consult_rules(
    response: str,
    reference: str,
    answer_type: str | None = None,
    options: Sequence[str] | None = None,
    max_answer_chars: int = MAX_ANSWER_CHARS,
) -> Consultation:
    """Run every stage but the symbolic one. A rule that fails leaves the response unresolved and is logged.

    Raises:
        ValueError: an argument of another type, or an unknown answer type.
    """
    check_arguments(response, reference, answer_type, options)
    started = time.perf_counter()
    try:
        return _consult(prepare(response, reference, answer_type, options, max_answer_chars), started)
    except Exception as error:  # a rule that fails must not cost the whole group, or the other rows of a file
        logger.exception("a rule of the verifier failed; the response stays unresolved")
        content = extract_boxed(response).content
        seconds = time.perf_counter() - started
        return Consultation(Verdict(None, "typed", f"rules_error_{type(error).__name__}", content, seconds))


def _consult(prepared: Prepared, started: float) -> Consultation:
    questions: dict[Question, None] = {}

    def collect(question: Question) -> Outcome:
        questions[question] = None
        return leave_to_symbolic(question)

    verdict = decide(prepared, collect, started)
    if verdict.value is not None or not questions:
        return Consultation(verdict)
    if len(questions) > MAX_QUESTIONS:
        return Consultation(replace(verdict, stage="symbolic", reason="too_many_questions"))
    return Consultation(verdict, tuple(questions), prepared, started)


def check_arguments(response: object, reference: object, answer_type: object = None, options: object = None) -> None:
    """Check the arguments of a verification.

    Raises:
        ValueError: with the argument, its value and what to give.
    """
    for name, text in (("response", response), ("reference", reference)):
        if not isinstance(text, str):
            raise ValueError(f"{name}={shortened(text)} must be a string")
    if answer_type is not None and not isinstance(answer_type, str):
        raise ValueError(f"answer_type={shortened(answer_type)} must be a string or left out")
    check_answer_type(answer_type)
    if options is None:
        return
    if isinstance(options, str) or not isinstance(options, Sequence) or any(not isinstance(o, str) for o in options):
        raise ValueError(f"options={shortened(options)} must be a list of strings (the texts of A, B, ...) or left out")


def shortened(value: object) -> str:
    """A value as an error message shows it: 60 characters at most."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


class Verifier:
    """Verdicts of responses; value None is left to the fallback judge.

    Usable from threads (`verify_blocking`), from async code and from an async Ray actor (`verify`). Its children start
    with the first question that needs them. It does not survive a fork: make a new one in the child.

    Args:
        symbolic: use the symbolic stage.
        symbolic_timeout_s: deadline of one symbolic question.
        symbolic_workers: child processes.
        max_answer_chars: a longer box is compared as a raw string only.

    >>> async def two_verdicts():
    ...     verifier = Verifier(symbolic_timeout_s=30.0)
    ...     try:
    ...         return await asyncio.gather(
    ...             verifier.verify(r"so \\boxed{(x-1)(x+4)n!}", "(x^2+3x-4)n!"),
    ...             verifier.verify(r"so \\boxed{(x-1)(x+5)}", "x^2+3x-4"),
    ...         )
    ...     finally:
    ...         verifier.close()
    >>> [(verdict.value, verdict.stage, verdict.reason) for verdict in asyncio.run(two_verdicts())]
    [(1, 'symbolic', 'symbolic_equal'), (0, 'typed', 'other_value')]
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
        self._reported = SymbolicLosses()
        self._lock = threading.Lock()

    async def verify(
        self, response: str, reference: str, answer_type: str | None = None, options: Sequence[str] | None = None
    ) -> Verdict:
        """Rules, then symbolic equivalence for what they leave; other coroutines run meanwhile.

        Args:
            response: a whole response (what stands before the last ``</think>`` does not count) or its visible text.
            reference: reference answer of the data row.
            answer_type: one of `answer_types.ANSWER_TYPES`; None to infer it from the reference.
            options: texts of the options A, B, ... of a choice question.

        Raises:
            ValueError: an argument of another type, or an unknown answer type.
        """
        consultation = consult_rules(response, reference, answer_type, options, self._max_answer_chars)
        if self.pool is None or not consultation.questions:
            return consultation.verdict
        pool = self.pool
        return consultation.settle(await asyncio.gather(*(pool.decide(each) for each in consultation.questions)))

    def verify_blocking(
        self, response: str, reference: str, answer_type: str | None = None, options: Sequence[str] | None = None
    ) -> Verdict:
        """The same for threads without an event loop: the caller waits."""
        consultation = consult_rules(response, reference, answer_type, options, self._max_answer_chars)
        if self.pool is None or not consultation.questions:
            return consultation.verdict
        waiting = [self.pool.submit(question) for question in consultation.questions]
        return consultation.settle([future.result() for future in waiting])

    def take_losses(self) -> SymbolicLosses:
        """Children lost since the last call, so that the sum over all calls is the number of children lost."""
        if self.pool is None:
            return SymbolicLosses()
        with self._lock:
            before, counts = self._reported, self.pool.counts
            self._reported = SymbolicLosses(killed=counts.timeouts, died=counts.deaths)
            return SymbolicLosses(self._reported.killed - before.killed, self._reported.died - before.died)

    def close(self) -> None:
        """End the child processes."""
        if self.pool is not None:
            self.pool.close()
