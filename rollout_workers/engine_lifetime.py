"""vLLM's engine processes end with the process that started them.

vLLM watches its engine from the front end, not the other way round: when the front end (a rollout server's Ray actor,
or `vllm serve` of a judge) is killed, the engine and its workers stay, with their memory. vLLM 0.28 and 0.24 load
plugins of the group `vllm.general_plugins` in each of these processes (vllm/v1/engine/core.py:116,
vllm/v1/worker/worker_base.py:249); this plugin asks the kernel there to send SIGKILL when the parent is gone.
"""

from __future__ import annotations

import ctypes
import multiprocessing
import os
import signal
import sys

_PR_SET_PDEATHSIG = 1
_prctl = ctypes.CDLL(None).prctl  # looked up here: after a fork as little as possible may happen
_forks_are_tied = False
_forking_pid = 0


def register() -> None:
    """The plugin: acts in processes that multiprocessing started, so never in a server that a user started.

    A spawned engine calls it itself. A forked one does not, because vLLM loads its plugins once and the parent has done
    it: in a server the plugin ties what the server forks.
    """
    if sys.platform != "linux":
        return
    parent = multiprocessing.parent_process()
    if parent is not None and parent.pid is not None:
        _end_with(parent.pid)
    _tie_forks()


def _tie_forks() -> None:
    global _forks_are_tied
    if not _forks_are_tied:
        os.register_at_fork(before=_note_pid, after_in_child=lambda: _end_with(_forking_pid))
        _forks_are_tied = True


def _note_pid() -> None:
    global _forking_pid
    _forking_pid = os.getpid()


def _end_with(parent_pid: int) -> None:
    _prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent_pid:  # it died before the kernel was asked
        os._exit(1)
