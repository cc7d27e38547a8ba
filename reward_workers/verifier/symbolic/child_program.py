"""The child process of the symbolic stage: reads questions from stdin, writes outcomes to a private copy of stdout.

Started as ``python -m reward_workers.verifier.symbolic.child_program MEMORY_BYTES``, so that it never imports the
parent's main module. It limits its own memory, dies with its parent, and leaves deadlines to the parent.
Messages are frames of JSON. The first one says that the child is ready.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import resource
import signal
import sys

from reward_workers.verifier.symbolic.frames import read_frame, write_json

_PR_SET_PDEATHSIG = 1
_RECURSION_LIMIT = 3000
_WARM_UP = (
    ("x+1", "1+x"),
    (r"\frac{\sqrt{3}}{3}", r"\frac{1}{\sqrt{3}}"),
    (r"\sin^2 x", r"1-\cos^2 x"),
    (r"\binom{4}{2}", "6"),
)
"""The LaTeX parser is slow the first time that it meets a construct; that must not fall into a question's deadline."""


def _limit_self(memory_bytes: int) -> None:
    resource.setrlimit(resource.RLIMIT_AS, (memory_bytes, memory_bytes))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C belongs to the parent, which then closes stdin
    sys.setrecursionlimit(_RECURSION_LIMIT)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)


def main() -> None:
    _limit_self(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not enter the message stream
    logging.disable(logging.CRITICAL)

    from reward_workers.verifier.rules.outcome import Outcome, Question
    from reward_workers.verifier.symbolic.equivalence import decide

    for answer, reference in _WARM_UP:
        decide(Question(answer, reference))
    write_json(out, {"ready": True})
    while (body := read_frame(sys.stdin.buffer)) is not None:
        message = json.loads(body)
        question = Question(message["answer"], message["reference"], message["relation"])
        try:
            outcome = decide(question)
        except Exception as error:  # noqa: BLE001 - any failure of the library is 'unresolved', by name
            outcome = Outcome(None, f"symbolic_error_{type(error).__name__}")
        write_json(out, {"value": outcome.value, "reason": outcome.reason})


if __name__ == "__main__":
    main()
