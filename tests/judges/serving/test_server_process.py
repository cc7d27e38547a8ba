"""The keeper of one server, with a small stand-in for vLLM: ready, restarted, hung, stopped, never orphaned."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from reward_workers.judges.serving import server_process
from reward_workers.judges.serving.server_metrics import ServerCounts, read_counts
from reward_workers.judges.serving.server_process import ServerProcess, vllm_command

pytestmark = pytest.mark.integration

STAND_IN = """
import argparse, os, subprocess, sys
from http.server import BaseHTTPRequestHandler, HTTPServer
arguments = argparse.ArgumentParser()
arguments.add_argument("--host"); arguments.add_argument("--port", type=int); arguments.add_argument("--fail")
options = arguments.parse_args()
print("stand-in started", flush=True)
if options.fail:
    sys.exit("no such checkpoint: " + options.fail)
child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])  # vLLM has engine processes
answered = 0
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        global answered
        answered += self.path == "/ask"
        body = {"/pid": f"{os.getpid()} {child.pid}", "/metrics":
            "# TYPE vllm:request_success_total counter\\n"
            f'vllm:request_success_total{{finished_reason="stop"}} {answered}\\n'
            'vllm:request_success_total{finished_reason="abort"} 100\\n'
            "# TYPE vllm:prompt_tokens_total counter\\n"
            f"vllm:prompt_tokens_total {10 * answered}\\n"}.get(self.path, "ok")
        self.send_response(200); self.end_headers(); self.wfile.write(body.encode())
    def log_message(self, *_): pass
HTTPServer((options.host, options.port), Handler).serve_forever()
"""
Start = Callable[..., ServerProcess]


def get(server: ServerProcess, path: str) -> str:
    with urllib.request.urlopen(server.root + path, timeout=5) as answer:
        return str(answer.read().decode())


def pids(server: ServerProcess) -> list[int]:
    return [int(pid) for pid in get(server, "/pid").split()]


def alive(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except FileNotFoundError:
        return False


def eventually(condition: Callable[[], bool], within_s: float = 15.0) -> bool:
    deadline = time.monotonic() + within_s
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.05)
    return True


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Start]:
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    servers = []

    def build(
        *extra: str, max_restarts: int = 1, hung_after_s: float = 20.0, idle_priority: bool = False
    ) -> ServerProcess:
        servers.append(
            ServerProcess(
                [sys.executable, str(script), *extra],
                env={"STAND_IN": "1"},
                host="127.0.0.1",
                log_path=tmp_path / "judge-0.log",
                ready_timeout_s=20.0,
                max_restarts=max_restarts,
                hung_after_s=hung_after_s,
                idle_priority=idle_priority,
            )
        )
        return servers[-1]

    yield build
    for server in servers:
        if server.status.state in ("starting", "ready"):
            server.stop()


def test_ready_counted_and_stopped_with_its_children(start: Start, tmp_path: Path) -> None:
    server = start()
    assert server.wait_ready(20).state == "ready"
    running = pids(server)
    for _ in range(3):
        get(server, "/ask")
    assert server.stop() == ServerCounts(requests=3, prompt_tokens=30)
    assert server.status.state == "stopped"
    assert eventually(lambda: not any(alive(pid) for pid in running))
    assert "stand-in started" in (tmp_path / "judge-0.log").read_text()


def test_a_dead_server_comes_back_on_its_port_and_keeps_its_counts(
    start: Start, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server_process, "_METRICS_EVERY_S", 0.1)
    server = start()
    assert server.wait_ready(20).state == "ready"
    server_pid, child_pid = pids(server)
    for _ in range(2):
        get(server, "/ask")
    time.sleep(1.5)  # longer than a round of polling
    os.kill(server_pid, signal.SIGKILL)
    assert eventually(lambda: server.status.restarts == 1 and server.status.state == "ready")
    assert pids(server)[0] != server_pid
    assert eventually(lambda: not alive(child_pid))
    get(server, "/ask")
    assert server.counts().requests == 3


def test_calls_count_that_were_answered_before_the_keeper_looked(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_POLL_S", 10.0)
    server = start()

    def asked() -> bool:
        try:
            return bool(get(server, "/ask"))
        except OSError:
            return False

    assert eventually(asked, within_s=8.0)
    assert server.status.state == "starting"
    assert server.counts().requests == 1


@pytest.mark.parametrize(("idle_priority", "policy"), [(True, os.SCHED_IDLE), (False, os.SCHED_OTHER)])
def test_priority_reaches_the_server_and_its_children(start: Start, idle_priority: bool, policy: int) -> None:
    server = start(idle_priority=idle_priority)
    assert server.wait_ready(20).state == "ready"
    assert [os.sched_getscheduler(pid) for pid in pids(server)] == [policy, policy]


def test_a_server_whose_priority_cannot_be_set_has_failed(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    def forbidden(*_: object) -> None:
        raise PermissionError

    monkeypatch.setattr(os, "sched_setscheduler", forbidden)
    status = start(idle_priority=True).wait_ready(20)
    assert status.state == "failed" and "preexec_fn" in status.failure


def test_restarts_are_bounded(start: Start) -> None:
    server = start(max_restarts=0)
    assert server.wait_ready(20).state == "ready"
    os.kill(pids(server)[0], signal.SIGKILL)
    assert eventually(lambda: server.status.state == "failed")
    assert "exited with code -9" in server.status.failure


def test_a_server_that_cannot_start_fails_at_once_with_its_log(start: Start) -> None:
    server = start("--fail", "nowhere", max_restarts=5)
    status = server.wait_ready(20)
    assert status.state == "failed" and status.restarts == 0
    assert "exited with code 1" in status.failure and "no such checkpoint: nowhere" in status.failure


def test_a_frozen_server_is_replaced(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_METRICS_EVERY_S", 0.1)
    monkeypatch.setattr(server_process, "_HTTP_TIMEOUT_S", 0.3)
    monkeypatch.setattr(server_process, "_TERM_GRACE_S", 0.5)
    server = start(hung_after_s=1.0)
    assert server.wait_ready(20).state == "ready"
    os.kill(pids(server)[0], signal.SIGSTOP)
    assert eventually(lambda: server.status.restarts == 1 and server.status.state == "ready")
    assert "hung_after_s=1" in server.status.failure


def test_time_in_service_begins_a_new_row_of_restarts(start: Start, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server_process, "_SOUND_AFTER_S", 0.0)
    server = start(max_restarts=1)
    for restarts in (1, 2):
        assert eventually(lambda: server.status.state == "ready")
        os.kill(pids(server)[0], signal.SIGKILL)
        assert eventually(lambda: server.status.restarts == restarts)  # noqa: B023 - awaited before the next round
    assert eventually(lambda: server.status.state == "ready")
    assert "exited with code -9" in server.status.failure


def test_a_command_that_does_not_exist(tmp_path: Path) -> None:
    server = ServerProcess(
        [str(tmp_path / "missing")],
        env={},
        host="127.0.0.1",
        log_path=tmp_path / "log",
        ready_timeout_s=5,
        max_restarts=1,
        hung_after_s=20.0,
    )
    status = server.wait_ready(10)
    assert status.state == "failed" and "missing" in status.failure


def test_the_server_dies_with_its_keeper(tmp_path: Path) -> None:
    script = tmp_path / "stand_in.py"
    script.write_text(STAND_IN)
    keeper = f"""
import sys, time
from pathlib import Path
from reward_workers.judges.serving.server_process import ServerProcess
command, log_path = [sys.executable, {str(script)!r}], Path({str(tmp_path / "log")!r})
server = ServerProcess(
    command, env={{}}, host="127.0.0.1", log_path=log_path, ready_timeout_s=20, max_restarts=1, hung_after_s=20
)
assert server.wait_ready(20).state == "ready"
print(server.root, flush=True)
time.sleep(600)
"""
    process = subprocess.Popen([sys.executable, "-c", keeper], stdout=subprocess.PIPE, text=True)
    assert process.stdout is not None
    root = process.stdout.readline().strip()
    with urllib.request.urlopen(f"{root}/pid", timeout=5) as answer:
        server_pid, child_pid = (int(pid) for pid in answer.read().split())
    process.kill()
    process.wait()
    process.stdout.close()
    try:
        assert eventually(lambda: not alive(server_pid))
    finally:
        os.kill(child_pid, signal.SIGKILL)  # the stand-in, unlike vLLM, does not end its children


def test_two_servers_get_two_ports_that_nobody_else_gets(start: Start) -> None:
    one, two = start(), start()
    assert one.port != two.port
    assert one.wait_ready(20).state == two.wait_ready(20).state == "ready"
    assert pids(one) != pids(two)


def test_counts_add_up_over_engines_and_reasons() -> None:
    counts = read_counts(
        "# TYPE vllm:request_success_total counter\n"
        'vllm:request_success_total{engine="0",finished_reason="stop"} 2.0\n'
        'vllm:request_success_total{engine="1",finished_reason="length"} 3.0\n'
        'vllm:request_success_total{engine="0",finished_reason="error"} 9.0\n'
        "# TYPE vllm:generation_tokens_total counter\n"
        'vllm:generation_tokens_total{engine="0"} 40.0\n'
        'vllm:generation_tokens_total{engine="1"} 2.0\n'
    )
    assert counts == ServerCounts(requests=5, prompt_tokens=0, generation_tokens=42)
    with pytest.raises(ValueError, match="no vllm:request_success_total"):
        read_counts("# TYPE other counter\nother 1\n")


def test_the_command_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "model").mkdir()
    command = vllm_command("model", "judge", tensor_parallel_size=2, max_model_len=512)
    assert command[0] == sys.executable and command[command.index("serve") + 1] == str(tmp_path / "model")
    assert command[command.index("--served-model-name") + 1] == "judge"
    assert command[command.index("--tensor-parallel-size") + 1] == "2"
    assert "org/model" in vllm_command("org/model", "judge", tensor_parallel_size=1, max_model_len=1)
