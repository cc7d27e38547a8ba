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


def register() -> None:
    """The plugin: acts in processes that multiprocessing started, so never in a server that a user started."""
    parent = multiprocessing.parent_process()
    if parent is None or sys.platform != "linux":
        return
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent.pid:  # it died before the kernel was asked
        os._exit(1)
