"""`verify`: the verifier as one function, with a process-wide symbolic pool behind it."""

from __future__ import annotations

import atexit
import os
import threading
from collections.abc import Sequence

from foundation.runs.records import Verdict
from reward_workers.verifier.cascade import Verifier

_lock = threading.Lock()
_shared: Verifier | None = None


def verify(
    response: str, reference: str, answer_type: str | None = None, options: Sequence[str] | None = None
) -> Verdict:
    r"""Verdict of one response: value 1 right, 0 wrong, None unresolved (then a judge or a person must look).

    Callable from any thread. Most verdicts come from the rules, in microseconds; only a question that they leave open
    starts a child process (once, about a second), which ends with this process. In async code use `Verifier.verify`:
    this function would block the event loop.

    Args:
        response: a whole response (what stands before the last ``</think>`` does not count) or its visible text.
        reference: reference answer.
        answer_type: one of `answer_types.ANSWER_TYPES`; None to infer it from the reference.
        options: texts of the options A, B, ... of a choice question.

    Raises:
        ValueError: an argument of another type, or an unknown answer type.

    >>> verify(r"<think>1/2? No.</think> It is \boxed{0.750}.", "3/4").value
    1
    >>> verify(r"\boxed{30\text{ m}}", "30 cm").reason
    'same_number_other_unit'
    >>> verify(r"\boxed{the second one}", "B", "choice", ["red", "blue"]).value is None
    True
    >>> verify(r"\boxed{(x-1)(x+4)}", "x^2+3x-4").reason
    'proven_equal'
    >>> verify(r"\boxed{\sqrt{x^4}}", "x^2").stage
    'symbolic'
    """
    return _verifier().verify_blocking(response, reference, answer_type, options)


def _verifier() -> Verifier:
    global _shared
    with _lock:
        if _shared is None:
            _shared = Verifier()
        return _shared


def _close() -> None:
    global _shared
    with _lock:
        closing, _shared = _shared, None
    if closing is not None:
        closing.close()


def _forget() -> None:
    """In a forked child: the threads that drive the symbolic children stayed with the parent."""
    global _shared, _lock
    _lock, _shared = threading.Lock(), None


atexit.register(_close)
os.register_at_fork(after_in_child=_forget)
