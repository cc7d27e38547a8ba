"""A process that stops beating is ended with a report; one that beats is not."""

import subprocess
import sys

from trainer.frame.watchdog import EXIT_CODE

SCRIPT = """
import sys, time
from pathlib import Path
from trainer.frame.watchdog import Watchdog
watchdog = Watchdog(0.4, Path(sys.argv[1]))
watchdog.start()
for _ in range(8):
    watchdog.beat("step 7")
    time.sleep(0.1)
if sys.argv[2] == "stop":
    watchdog.stop()
time.sleep(2.0)
"""


def run(report, how):
    return subprocess.run([sys.executable, "-c", SCRIPT, report, how], timeout=30, check=False).returncode


def test_a_hanging_process_is_ended_and_says_where_it_hung(tmp_path):
    report = tmp_path / "error.txt"
    assert run(report, "hang") == EXIT_CODE
    text = report.read_text()
    assert "step 7" in text
    assert "run.stall_timeout_s" in text
    assert "time.sleep" in text or "<string>" in text  # the stack of the thread that hangs


def test_beats_and_stop_keep_it_alive(tmp_path):
    assert run(tmp_path / "error.txt", "stop") == 0
    assert not (tmp_path / "error.txt").exists()
