"""A sweep of two points on a real job server: left by Ctrl-C in the middle, continued by the same command, reported."""

from __future__ import annotations

import csv
import json
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
from quickstart_job import SMALL, START_S, STEP_S

from launch.local_cluster import LocalCluster

pytestmark = [pytest.mark.e2e, pytest.mark.slow, pytest.mark.timeout(1500)]

STEPS = 3


@pytest.fixture(scope="module")
def sweep(running_judges, tmp_path_factory):
    """The driver of the first point is killed after its first checkpoint: its job is submitted again and goes on."""
    base = tmp_path_factory.mktemp("sweep")
    runs = base / "runs"
    command = [
        *(sys.executable, "-m", "launch.submit", "--multirun"),
        *SMALL,
        "cluster=ray_cpu",
        f"launch.runs_dir={runs}",
        "launch.restart_pause_s=0",
        "sweep.name=small",
        "sweep.poll_s=0.5",
        f"trainer.total_training_steps={STEPS}",
        "trainer.save_freq=1",
        "tracking=tensorboard",
        *running_judges,
        "reward_mix=pattern_rl,base_rl",
    ]
    first_log, second_log = base / "first.log", base / "second.log"
    with LocalCluster() as cluster:
        first = _start(command, cluster, first_log)
        point = runs / "small" / "reward_mix_pattern_rl"
        marker = point / "checkpoints" / "latest_checkpointed_iteration.txt"
        _wait(marker.exists, START_S + STEP_S, first_log)
        first.send_signal(signal.SIGINT)
        _driver(point).kill()
        first_code = first.wait(60)
        second = _start(command, cluster, second_log)
        second_code = second.wait(2 * START_S + 4 * STEP_S)
    report = subprocess.run(
        [sys.executable, "-m", "launch.sweep_report", str(runs / "small")], capture_output=True, text=True, check=False
    )
    return {
        "folder": runs / "small",
        "codes": (first_code, second_code),
        "outputs": (first_log.read_text(), second_log.read_text()),
        "report": report,
    }


def _start(command: list[str], cluster: LocalCluster, log: Path) -> subprocess.Popen[bytes]:
    with log.open("w") as file:
        return subprocess.Popen(
            command, env=cluster.environment, stdout=file, stderr=subprocess.STDOUT, start_new_session=True
        )


def _wait(condition, timeout_s: float, log: Path) -> None:
    deadline = time.monotonic() + timeout_s
    while not condition():
        assert time.monotonic() < deadline, log.read_text()[-6000:]
        time.sleep(0.1)


def _driver(run_dir: Path) -> psutil.Process:
    """The training process of a run's job, which is no child of ours."""
    return next(
        p
        for p in psutil.process_iter()
        if p.status() != psutil.STATUS_ZOMBIE and "trainer.main" in p.cmdline() and f"run.dir={run_dir}" in p.cmdline()
    )


def test_ctrl_c_leaves_the_running_job_and_the_same_command_ends_the_sweep(sweep):
    assert sweep["codes"] == (130, 0), sweep["outputs"][1][-6000:]
    assert "On the cluster go on: small-reward_mix_pattern_rl-1" in sweep["outputs"][0]
    assert "2 of 2 points finished" in sweep["outputs"][1]


def test_a_killed_job_goes_on_from_its_checkpoint(sweep):
    points = {p["name"]: p for p in json.loads((sweep["folder"] / "manifest.json").read_text())["points"]}
    assert len(points["reward_mix_pattern_rl"]["submissions"]) == 2
    assert "FAILED, exit code -9" in sweep["outputs"][1]
    starts = json.loads((sweep["folder"] / "reward_mix_pattern_rl" / "run.json").read_text())["starts"]
    assert starts[1]["resumed_from"] >= 1


def test_each_point_has_its_own_run(sweep):
    runs = {}
    for mix in ("pattern_rl", "base_rl"):
        folder = sweep["folder"] / f"reward_mix_{mix}"
        runs[mix] = json.loads((folder / "summary.json").read_text())
        assert runs[mix]["run"] == f"small-reward_mix_{mix}"
        assert runs[mix]["steps"] == STEPS
        assert list((folder / "tensorboard").iterdir())
    assert runs["base_rl"]["calls"]["pattern_rm"]["asked"] == 0


def test_the_report_compares_them(sweep):
    assert sweep["report"].returncode == 0, sweep["report"].stderr
    assert "one seed: spread unknown" in sweep["report"].stdout
    assert re.search(r"labels of toy oracle", sweep["report"].stdout)
    rows = list(csv.DictReader((sweep["folder"] / "report" / "runs.csv").open()))
    assert {row["reward_mix"] for row in rows} == {"pattern_rl", "base_rl"}
    assert all(0 <= float(row["trigger"]) <= 1 for row in rows)
