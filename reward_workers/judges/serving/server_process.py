"""One ``vllm serve`` process: started, watched, started again when it dies or hangs, and stopped with all its children.

Everything happens in one keeper thread, because Linux ties the parent-death signal of a child to the thread that
started it. The other threads only read the state.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from reward_workers.judges.serving.server_metrics import ServerCounts, read_counts

State = Literal["starting", "ready", "stopped", "failed"]

_POLL_S = 0.5
_METRICS_EVERY_S = 5.0
_HTTP_TIMEOUT_S = 5.0
_SOUND_AFTER_S = 600.0
_TERM_GRACE_S = 10.0
_LOG_TAIL_LINES = 25
_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # looked up here: between fork and exec as little as possible may happen


@dataclass(frozen=True, slots=True)
class ServerStatus:
    """What a server is doing.

    Attributes:
        state: of the current incarnation; ``failed`` is final.
        restarts: incarnations so far after the first one.
        failure: why the last incarnation that is gone ended, with the end of its log once the state is ``failed``.
    """

    state: State
    restarts: int
    failure: str = ""


class ServerProcess:
    """A server on a fixed port of this machine.

    Args:
        command: the command line without host and port.
        env: environment variables on top of this process's own.
        host: address to listen on.
        log_path: file that receives the output of all incarnations.
        ready_timeout_s: how long each incarnation may take until ``/health`` answers.
        max_restarts: how often in a row it is started again; ten minutes of service begin a new row.
        hung_after_s: a ready server that answers nothing for so long is ended and started again.
        idle_priority: the server and its children run only while no other process wants the core (SCHED_IDLE).
    """

    def __init__(
        self,
        command: Sequence[str],
        *,
        env: Mapping[str, str],
        host: str,
        log_path: Path,
        ready_timeout_s: float,
        max_restarts: int,
        hung_after_s: float,
        idle_priority: bool = False,
    ) -> None:
        self._reserved = _reserve_port(host)
        self.port: int = self._reserved.getsockname()[1]
        self.root = f"http://{host}:{self.port}"
        self._command = [*command, "--host", host, "--port", str(self.port)]
        self._env = {**os.environ, **env}
        self._log_path = log_path
        self._ready_timeout_s = ready_timeout_s
        self._max_restarts = max_restarts
        self._hung_after_s = hung_after_s
        self._idle_priority = idle_priority
        self._status = ServerStatus("starting", 0)
        self._changed = threading.Condition()
        self._stop = threading.Event()
        # Incarnations that are gone, and the current one, as last polled; one tuple, so that a reader needs no lock.
        self._counts = (ServerCounts(), ServerCounts())
        self._counting = threading.Lock()
        self._ready_at = float("inf")
        self._keeper = threading.Thread(target=self._keep, name=f"keeper of {log_path.stem}", daemon=True)
        self._keeper.start()

    @property
    def status(self) -> ServerStatus:
        return self._status

    @property
    def last_counts(self) -> ServerCounts:
        """As :meth:`counts` without asking the server: a few seconds old."""
        past, current = self._counts
        return past + current

    def wait_ready(self, timeout_s: float) -> ServerStatus:
        """The status once the server is ready, failed or stopped, or after the timeout."""
        with self._changed:
            self._changed.wait_for(lambda: self._status.state != "starting", timeout_s)
        return self._status

    def counts(self) -> ServerCounts:
        """Requests and tokens of all incarnations; asked for now, where the server answers."""
        with self._counting:
            self._poll_counts()  # in every state: a server may answer calls before the keeper has seen that it is ready
            return self.last_counts

    def stop(self) -> ServerCounts:
        """Terminate the server and its children, and return the final counts."""
        counts = self.counts()
        self._stop.set()
        self._keeper.join()
        self._reserved.close()
        return counts

    def _keep(self) -> None:
        restarts, in_a_row, failure = 0, 0, ""
        while True:
            self._become(ServerStatus("starting", restarts, failure))
            self._ready_at = float("inf")
            try:
                ended = self._live(restarts, failure)
            except (OSError, ValueError, subprocess.SubprocessError) as error:  # no start, or metrics without sense
                ended = f"{type(error).__name__}: {error}"
            if ended is None:
                self._become(ServerStatus("stopped", restarts, failure))
                return
            failure = ended
            with self._counting:
                self._counts = (self.last_counts, ServerCounts())
            with self._log_path.open("a") as log:
                log.write(f"\n--- incarnation {restarts} ended: {failure}\n")
            if time.monotonic() - self._ready_at > _SOUND_AFTER_S:
                in_a_row = 0
            # A server that never came up will not come up next time either: its configuration is wrong.
            never_up = self._status.state == "starting" and restarts == 0
            if never_up or in_a_row == self._max_restarts:
                break
            restarts, in_a_row = restarts + 1, in_a_row + 1
        self._become(ServerStatus("failed", restarts, f"{failure}\n{log_tail(self._log_path)}"))

    def _live(self, restarts: int, before: str) -> str | None:
        """One incarnation; returns why it ended, or None when it was stopped. `before`: why the last one did."""
        process = self._start()
        try:
            deadline = time.monotonic() + self._ready_timeout_s
            while not self._answers("/health"):
                if process.poll() is not None:
                    return f"the server exited with code {process.returncode} before it was ready"
                if time.monotonic() > deadline:
                    return f"the server was not ready within ready_timeout_s={self._ready_timeout_s:g}"
                if self._stop.wait(_POLL_S):
                    return None
            self._become(ServerStatus("ready", restarts, before))
            self._ready_at = answered = polled = time.monotonic()
            while not self._stop.wait(_POLL_S):
                if process.poll() is not None:
                    return f"the server exited with code {process.returncode}"
                if time.monotonic() - polled < min(_METRICS_EVERY_S, self._hung_after_s / 4):
                    continue
                with self._counting:
                    answers = self._poll_counts()
                if answers:
                    answered = time.monotonic()
                elif time.monotonic() - answered > self._hung_after_s:
                    return f"the server has not answered for hung_after_s={self._hung_after_s:g}"
                polled = time.monotonic()
            return None
        finally:
            _end_group(process)

    def _start(self) -> subprocess.Popen[bytes]:
        with self._log_path.open("a") as log:
            log.write(f"--- {' '.join(self._command)}\n")
            log.flush()
            return subprocess.Popen(
                self._command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                env=self._env,
                start_new_session=True,  # a process group of its own, so that the engine processes go with it
                preexec_fn=self._prepare_child,
            )

    def _prepare_child(self) -> None:
        _prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)
        if self._idle_priority:
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))

    def _become(self, status: ServerStatus) -> None:
        with self._changed:
            self._status = status
            self._changed.notify_all()

    def _answers(self, path: str) -> bool:
        return _get(self.root + path) is not None

    def _poll_counts(self) -> bool:
        exposition = _get(f"{self.root}/metrics")
        if exposition is None:
            return False
        self._counts = (self._counts[0], read_counts(exposition))
        return True


def log_tail(log_path: Path) -> str:
    """The last lines of a log, for an error message."""
    lines = log_path.read_text(errors="replace").splitlines() if log_path.exists() else []
    return "\n".join([f"last lines of {log_path}:", *lines[-_LOG_TAIL_LINES:]])


def vllm_command(model_path: str, served_name: str, *, tensor_parallel_size: int, max_model_len: int) -> list[str]:
    """``vllm serve`` run by this interpreter; a checkpoint folder becomes an absolute path."""
    local = Path(model_path)
    return [
        *(sys.executable, "-P", "-m", "vllm.entrypoints.cli.main", "serve"),
        str(local.resolve()) if local.exists() else model_path,
        *("--served-model-name", served_name),
        *("--tensor-parallel-size", str(tensor_parallel_size)),
        *("--max-model-len", str(max_model_len)),
        "--disable-uvicorn-access-log",  # one line per judged rollout otherwise
    ]


def _reserve_port(host: str) -> socket.socket:
    """A bound socket that never listens: the kernel gives its port to nobody else, yet the server may bind it.

    Linux lets a second socket bind when both set SO_REUSEADDR and none listens; vLLM sets it (its api_server.py,
    ``create_server_socket``). Kept open, so that a restart finds the port free.
    """
    reserved = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    reserved.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    reserved.bind((host, 0))
    return reserved


def _get(url: str) -> str | None:
    """Body of a 200 answer, or None when the server does not give one."""
    try:
        with _DIRECT.open(url, timeout=_HTTP_TIMEOUT_S) as answer:
            body: bytes = answer.read()
            return body.decode(errors="replace") if answer.status == 200 else None
    except (urllib.error.URLError, OSError, ValueError):
        return None


_DIRECT = urllib.request.build_opener(urllib.request.ProxyHandler({}))


def _end_group(process: subprocess.Popen[bytes]) -> None:
    """SIGTERM to the server, then SIGKILL to whatever is left of its process group."""
    if process.poll() is None:
        process.send_signal(signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            process.wait(_TERM_GRACE_S)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()
