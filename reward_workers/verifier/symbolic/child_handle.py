"""One symbolic child process as its parent sees it: start, ask with a deadline, kill."""

from __future__ import annotations

import json
import os
import select
import subprocess
import sys
import time
from pathlib import Path

from reward_workers.verifier.rules.outcome import Outcome, Question
from reward_workers.verifier.symbolic.frames import HEAD_BYTES, body_bytes, frame

_PACKAGE_ROOT = Path(__file__).resolve().parents[3]


class ChildLost(RuntimeError):
    """The child missed its deadline or died; it must be replaced."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def child_environment() -> dict[str, str]:
    """Environment in which a child finds this package wherever it is started, and uses one thread."""
    path = os.environ.get("PYTHONPATH")
    package_path = f"{_PACKAGE_ROOT}{os.pathsep}{path}" if path else str(_PACKAGE_ROOT)
    return {**os.environ, "PYTHONPATH": package_path, "OMP_NUM_THREADS": "1"}


class SymbolicChild:
    """A running child. Used by one thread at a time.

    Args:
        memory_bytes: address space of the child.
    """

    def __init__(self, memory_bytes: int) -> None:
        self._process = subprocess.Popen(
            [sys.executable, "-m", "reward_workers.verifier.symbolic.child_program", str(memory_bytes)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            env=child_environment(),
        )
        self._ready = False
        self.n_questions = 0

    @property
    def pid(self) -> int:
        return self._process.pid

    def wait_ready(self, timeout_s: float) -> None:
        """Block until the child has imported its libraries.

        Raises:
            ChildLost: it died or took longer than the timeout.
        """
        if not self._ready:
            self._read(time.monotonic() + timeout_s)
            self._ready = True

    def ask(self, question: Question, timeout_s: float) -> Outcome:
        """Send one question and wait for its outcome.

        Raises:
            ChildLost: reason ``symbolic_timeout`` or ``symbolic_died``.
        """
        self.n_questions += 1
        body = json.dumps(
            {"answer": question.answer, "reference": question.reference, "relation": question.relation}
        ).encode()
        stdin = self._process.stdin
        if stdin is None:
            raise AssertionError("the child has a pipe as stdin")
        deadline = time.monotonic() + timeout_s
        try:
            stdin.write(frame(body))
            stdin.flush()
        except OSError as error:
            raise ChildLost("symbolic_died") from error
        message = self._read(deadline)
        value = message["value"]
        return Outcome(int(value) if isinstance(value, int) else None, str(message["reason"]))

    def _read(self, deadline: float) -> dict[str, object]:
        size = body_bytes(self._read_bytes(HEAD_BYTES, deadline))
        message: dict[str, object] = json.loads(self._read_bytes(size, deadline))
        return message

    def _read_bytes(self, size: int, deadline: float) -> bytes:
        stdout = self._process.stdout
        if stdout is None:
            raise AssertionError("the child has a pipe as stdout")
        poller = select.poll()
        poller.register(stdout.fileno(), select.POLLIN | select.POLLHUP)
        received = b""
        while len(received) < size:
            remaining = deadline - time.monotonic()
            if remaining <= 0 or not poller.poll(remaining * 1000):
                raise ChildLost("symbolic_timeout")
            chunk = os.read(stdout.fileno(), size - len(received))
            if not chunk:
                raise ChildLost("symbolic_died")
            received += chunk
        return received

    def kill(self) -> None:
        """Kill and reap; safe to call twice."""
        if self._process.poll() is None:
            self._process.kill()
        for stream in (self._process.stdin, self._process.stdout):
            if stream is not None:
                try:
                    stream.close()
                except BrokenPipeError:
                    continue  # unsent bytes to a dead child
        self._process.wait()
