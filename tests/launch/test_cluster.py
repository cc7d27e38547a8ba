"""Submit, follow, stop and list jobs on a real job server; the training is a small program in its place."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from launch.local_cluster import LocalCluster, end_tree

pytestmark = [pytest.mark.integration, pytest.mark.timeout(600)]

ROOT = Path(__file__).resolve().parents[2]
STAND_IN = """#!/usr/bin/env bash
# Stands where the cluster's Python would be: job_start and the training are not run.
echo "arguments: $*"
case "$*" in
    *seed=100*) exit 0 ;;
    *seed=101*) exit 7 ;;
    *seed=102*) trap 'echo "checkpoint written"; exit 130' TERM; while :; do sleep 0.1; done ;;
    *seed=103*) n=$(cat "$0.count" 2>/dev/null || echo 0); echo $((n + 1)) >"$0.count"
                if [ "$n" -lt 2 ]; then kill -KILL $$; fi; echo "start $((n + 1)) succeeds" ;;
    *seed=104*) env ;;
esac
"""


@pytest.fixture(scope="module")
def cluster() -> Iterator[LocalCluster]:
    with LocalCluster() as cluster:
        yield cluster


def command(module: str, *arguments: str) -> list[str]:
    return [sys.executable, "-m", f"launch.{module}", *arguments]


@pytest.fixture(scope="module")
def launch(cluster: LocalCluster) -> Callable[..., subprocess.CompletedProcess[str]]:
    """Runs `python -m launch.<module>` against the cluster, from the checkout."""

    def run(module: str, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command(module, *arguments),
            env={**clean(cluster), **environment},
            cwd=ROOT,
            capture_output=True,
            text=True,
            timeout=120,
            check=False,
        )

    return run


def clean(cluster: LocalCluster) -> dict[str, str]:
    """The environment without keys and folders of whoever runs the tests."""
    return {k: v for k, v in cluster.environment.items() if not k.startswith(("WANDB_", "PATTERNRL_"))}


@pytest.fixture
def run(tmp_path: Path) -> list[str]:
    program = tmp_path / "python"
    program.write_text(STAND_IN)
    program.chmod(0o755)
    return [
        f"launch.python={program}",
        f"launch.runs_dir={tmp_path}/runs",
        "launch.restart_pause_s=0",
        "experiment=quickstart",
        "cluster=ray_cpu",
    ]


@pytest.mark.slow
def test_a_job_is_followed_and_its_success_is_ours(cluster, launch, run, tmp_path):
    done = launch("submit", *run, "seed=100", "run.name=good")
    assert done.returncode == 0, done.stderr
    assert "launch: submitted as good-1" in done.stdout
    assert (
        "arguments: -m launch.job_start 600 experiment=quickstart cluster=ray_cpu seed=100 run.name=good "
        f"run.dir={tmp_path}/runs/good" in done.stdout
    )
    assert "launch: good-1: SUCCEEDED" in done.stdout


def test_the_exit_code_of_the_job_is_ours(launch, run):
    done = launch("submit", *run, "seed=101", "run.name=bad", "launch.max_restarts=0")
    assert done.returncode == 7
    assert "bad-1: FAILED, exit code 7" in done.stdout


@pytest.mark.slow
def test_a_killed_job_is_started_again_until_it_succeeds(launch, run):
    done = launch("submit", *run, "seed=103", "run.name=killed", "launch.max_restarts=2")
    assert done.returncode == 0, done.stdout
    assert "killed-2: FAILED, exit code -9" in done.stdout
    assert "start 3 succeeds" in done.stdout


@pytest.mark.slow
def test_no_wait_status_logs_and_an_orderly_stop(launch, run):
    done = launch("submit", "--no-wait", *run, "seed=102", "run.name=long")
    assert done.returncode == 0, done.stderr
    assert "submitted as long-1" in done.stdout
    deadline = time.monotonic() + 60
    while "arguments" not in launch("logs", "long").stdout:
        assert time.monotonic() < deadline
    assert "long-1: RUNNING" in launch("status", "long").stdout
    assert "long-1: stopping" in launch("stop", "long").stdout
    followed = launch("logs", "long", "--follow")
    assert followed.returncode == 130
    assert "checkpoint written" in followed.stdout  # more than the three seconds that Ray gives by default
    listed = launch("status").stdout
    assert "long-1" in listed and "STOPPED" in listed
    assert "had ended already" in launch("stop", "long-1").stdout


@pytest.mark.slow
def test_ctrl_c_leaves_the_job_running_and_says_so(cluster, launch, run, tmp_path):
    log = tmp_path / "out"
    with log.open("w") as file:
        process = subprocess.Popen(
            command("submit", *run, "seed=102", "run.name=left"),
            env=clean(cluster),
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
    deadline = time.monotonic() + 90
    while "arguments" not in log.read_text():
        assert time.monotonic() < deadline, log.read_text()
        time.sleep(0.2)
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert "The job goes on, and nobody restarts it; python -m launch.logs left" in log.read_text()
    assert "left-1: RUNNING" in launch("status", "left").stdout
    launch("stop", "left")


@pytest.mark.slow
def test_keys_stay_here_unless_they_are_to_be_sent(cluster, launch, run):
    mine = {"WANDB_API_KEY": "s3cret-of-mine"}
    kept = launch("submit", *run, "seed=104", "run.name=kept", **mine)
    assert "s3cret" not in kept.stdout + kept.stderr
    assert "s3cret" not in json.dumps(cluster.get("/api/jobs/kept-1").json())
    sent = launch("submit", *run, "seed=104", "run.name=sent", "launch.secrets=runtime_env", **mine)
    assert "whoever can reach the cluster's dashboard can read WANDB_API_KEY there" in sent.stdout
    assert "WANDB_API_KEY=s3cret-of-mine" in sent.stdout  # `env` of the stand-in: the job has it
    assert cluster.get("/api/jobs/sent-1").json()["runtime_env"]["env_vars"]["WANDB_API_KEY"] == "s3cret-of-mine"


def test_a_sweep_runs_every_point_goes_on_and_retries(cluster, launch, run, tmp_path):
    command = (
        "--multirun",
        *run,
        "sweep.name=s",
        "sweep.max_concurrent=2",
        "sweep.poll_s=0.5",
        "launch.max_restarts=0",
    )
    first = launch("submit", *command, "seed=100,101", "reward_mix=base_rl,pattern_rl")
    assert first.returncode == 1, first.stderr
    assert "2 of 4 points finished" in first.stdout
    assert "failed: seed_101-reward_mix_base_rl (exit code 7)" in first.stdout
    manifest = json.loads((tmp_path / "runs" / "s" / "manifest.json").read_text())
    assert [point["state"] for point in manifest["points"]] == ["finished", "finished", "failed", "failed"]
    assert manifest["points"][0]["run_dir"] == f"{tmp_path}/runs/s/seed_100-reward_mix_base_rl"

    again = launch("submit", *command, "seed=100,101", "reward_mix=base_rl,pattern_rl")
    assert again.returncode == 1
    assert "submitted as" not in again.stdout

    retried = launch("submit", "--retry-failed", *command, "seed=100,101", "reward_mix=base_rl,pattern_rl")
    assert retried.stdout.count("submitted as") == 2
    assert "s-seed_101-reward_mix_base_rl-2" in retried.stdout


def test_one_wrong_point_keeps_all_from_being_submitted(launch, run):
    done = launch("submit", "--multirun", *run, "sweep.name=w", "reward_mix.weights.cot=0.1,-0.1")
    assert done.returncode == 2
    assert "point cot_-0.1: reward_mix.weights.cot=-0.1" in done.stderr
    assert "submitted as" not in done.stdout


def test_a_run_that_does_not_fit_is_refused_before_anything_is_sent(launch):
    done = launch("submit", "experiment=pattern_rl_qwen3_vl_4b")
    assert done.returncode == 2
    assert "16 GPUs asked, 1 on the cluster (1 nodes: 1)" in done.stderr
    assert done.stderr.endswith("nothing was submitted\n")


def test_what_is_wrong_with_an_address_is_said(cluster, launch):
    def message(address: str = cluster.address, **environment: str) -> str:
        done = launch("status", f"launch.address={address}", **{"RAY_API_SERVER_ADDRESS": "", **environment})
        assert done.returncode == 2 and "Traceback" not in done.stderr
        return done.stderr

    assert "no answer (connection refused)" in message("http://127.0.0.1:9")
    assert "the cluster wants its token" in message(RAY_AUTH_TOKEN="", RAY_AUTH_MODE="disabled")
    assert "RAY_ADDRESS=http://elsewhere:8265 instead" in message(RAY_ADDRESS="http://elsewhere:8265")
    with _answering(404, b"not found") as address:
        assert "something answers (status 404) that is not Ray's job server" in message(address)
    with _answering(200, json.dumps({"version": "4", "ray_version": "2.9.0"}).encode()) as address:
        assert "the cluster runs Ray 2.9.0" in message(address)


class _answering:
    """A web server that gives one answer to everything."""

    def __init__(self, status: int, body: bytes) -> None:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(status)
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *args: object) -> None:
                """Silent."""

        self._server = HTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self) -> str:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return f"http://127.0.0.1:{self._server.server_port}"

    def __exit__(self, *exception: object) -> None:
        self._server.shutdown()
        self._server.server_close()


HOLDER = """
import time, ray
ray.init()
queue = ray.remote(type("Queue", (), {})).options(name="TransferQueueController", namespace="transfer_queue").remote()
print("training", flush=True)
time.sleep(600)
"""


@pytest.mark.slow
def test_a_second_job_waits_for_its_turn(cluster, launch, run):
    """job_start itself, while a job of another kind holds the name that a training holds."""
    ray = [sys.executable, "-m", "ray.scripts.scripts", "job"]
    holder = [*ray, "submit", "--no-wait", "--submission-id=holder", "--", sys.executable, "-c", HOLDER]
    subprocess.run(holder, env=cluster.environment, check=True, capture_output=True)
    try:
        deadline = time.monotonic() + 60
        while "training" not in cluster.get("/api/jobs/holder/logs").json()["logs"]:
            assert time.monotonic() < deadline
            time.sleep(0.2)
        done = launch("submit", *run, f"launch.python={sys.executable}", "launch.gpu_wait_s=1", "run.name=turn")
    finally:
        subprocess.run([*ray, "stop", "holder"], env=cluster.environment, check=True, capture_output=True)
    assert done.returncode == 2, done.stdout
    assert "waiting for another job that trains on this cluster; at most 1 s" in done.stdout
    assert "error: another job trained on this cluster for 1 s" in done.stdout


@pytest.mark.slow
def test_a_run_of_two_nodes_is_checked_on_both(cluster, launch, run, tmp_path):
    """job_start itself, on a second raylet of this machine that has no key and the same files."""
    node = cluster.add_node(1, 0)
    try:
        missing = [
            f"launch.python={sys.executable}",
            "policy.path=/nowhere/policy",
            "judges.fallback.serve=null",
            "judges.fallback.base_urls=[http://127.0.0.1:9/v1]",
            "judges.fallback.api_key_env=MY_JUDGE_KEY",
            "run.name=missing",
        ]
        done = launch("submit", *run, *missing)
    finally:
        end_tree(node)
    assert done.returncode == 2, done.stdout
    lines = [line for line in done.stdout.splitlines() if line.startswith("error: ")]
    assert any("policy.path: /nowhere/policy is not on" in line and "same path" in line for line in lines), done.stdout
    assert sum("MY_JUDGE_KEY is not set on" in line for line in lines) == 2
    assert "wandb sync" in done.stdout
    assert "missing-2" not in done.stdout  # a wrong input is not started again
