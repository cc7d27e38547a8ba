"""The child process of the symbolic stage: reads questions from stdin, writes outcomes to a private copy of stdout.

Started as ``python -m reward_workers.verifier.symbolic_worker MEMORY_BYTES``, so that it never imports the parent's
main module. It limits its own memory, dies with its parent, and leaves deadlines to the parent, which kills it.
Messages: four bytes of length (big endian), then JSON. The first message says that the child is ready.
"""

from __future__ import annotations

import ctypes
import json
import logging
import os
import resource
import signal
import sys
from typing import BinaryIO

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


def write_message(stream: BinaryIO, message: dict[str, object]) -> None:
    body = json.dumps(message).encode()
    stream.write(len(body).to_bytes(4, "big") + body)
    stream.flush()


def read_message(stream: BinaryIO) -> dict[str, str] | None:
    """Next message; None at the end of the stream."""
    head = stream.read(4)
    if len(head) < 4:
        return None
    body = stream.read(int.from_bytes(head, "big"))
    message: dict[str, str] = json.loads(body)
    return message


def main() -> None:
    _limit_self(int(sys.argv[1]))
    out = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)  # what a library prints must not enter the message stream
    logging.disable(logging.CRITICAL)

    from reward_workers.verifier.equivalence import decide
    from reward_workers.verifier.outcome import Outcome, Question

    for answer, reference in _WARM_UP:
        decide(Question(answer, reference))
    write_message(out, {"ready": True})
    while (message := read_message(sys.stdin.buffer)) is not None:
        question = Question(message["answer"], message["reference"], message["relation"])  # type: ignore[arg-type]
        try:
            outcome = decide(question)
        except Exception as error:  # noqa: BLE001 - any failure of the library is 'unresolved', by name
            outcome = Outcome(None, f"symbolic_error_{type(error).__name__}")
        write_message(out, {"value": outcome.value, "reason": outcome.reason})


if __name__ == "__main__":
    main()
