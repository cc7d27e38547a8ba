"""A child of multiprocessing dies with its parent once the plugin ran in it; a user's own process is left alone."""

from __future__ import annotations

import subprocess
import sys
import time
from importlib.metadata import entry_points

import psutil
import pytest

SPAWNED = """
import multiprocessing, time
def child(plugin):
    if plugin:
        from rollout_workers.engine_lifetime import register
        register()
    print(multiprocessing.current_process().pid, flush=True)
    time.sleep(60)
if __name__ == "__main__":
    process = multiprocessing.get_context("spawn").Process(target=child, args=({plugin},))
    process.start()
    process.join()
"""


def alive(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


FORKED = """
import multiprocessing, time
def grandchild():
    print(multiprocessing.current_process().pid, flush=True)
    time.sleep(60)
def child():
    process = multiprocessing.get_context("fork").Process(target=grandchild)
    process.start()
    process.join()
if __name__ == "__main__":
    if {plugin}:
        from rollout_workers.engine_lifetime import register
        register()
    process = multiprocessing.get_context("fork").Process(target=child)
    process.start()
    process.join()
"""


@pytest.mark.integration
@pytest.mark.parametrize("plugin", [True, False])
@pytest.mark.parametrize("source", [SPAWNED, FORKED], ids=["spawned", "forked by what was forked"])
def test_a_killed_parent(tmp_path, source, plugin):
    script = tmp_path / "parent.py"
    script.write_text(source.replace("{plugin}", str(plugin)))
    parent = subprocess.Popen([sys.executable, script], stdout=subprocess.PIPE, text=True)
    pid = int(parent.stdout.readline())
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while alive(pid) and time.monotonic() < deadline and plugin:
        time.sleep(0.05)
    assert alive(pid) is not plugin
    if alive(pid):
        psutil.Process(pid).kill()


@pytest.mark.integration
def test_a_process_of_the_user_is_left_alone():
    code = (
        "import ctypes; from rollout_workers.engine_lifetime import register; register();"
        "signal = ctypes.c_int(-1); ctypes.CDLL(None).prctl(2, ctypes.byref(signal)); print(signal.value)"
    )
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout == "0\n"


def test_vllm_finds_the_plugin():
    found = [entry.value for entry in entry_points(group="vllm.general_plugins")]
    assert "rollout_workers.engine_lifetime:register" in found
