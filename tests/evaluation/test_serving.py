"""Servers of a stage: started where needed, shared by equal settings, ended with the block."""

from __future__ import annotations

import sys
import urllib.error
import urllib.request
from pathlib import Path
from typing import Any

import pytest

from evaluation.pattern_eval import serving as module
from evaluation.pattern_eval.serving import serving
from foundation.settings.judges import ServedModel

STAND_IN = """
import argparse, os
from http.server import BaseHTTPRequestHandler, HTTPServer
arguments = argparse.ArgumentParser()
arguments.add_argument("--host"); arguments.add_argument("--port", type=int); arguments.add_argument("--fail")
options = arguments.parse_args()
if options.fail:
    raise SystemExit("no such checkpoint")
class Handler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200); self.end_headers()
        told = f"{os.environ.get('CUDA_VISIBLE_DEVICES')} {os.environ['GIVEN']}"
        metrics = "".join(
            f"# TYPE vllm:{name} counter\\nvllm:{name}{{finished_reason=\\"stop\\"}} 1\\n"
            for name in ("request_success_total", "prompt_tokens_total", "generation_tokens_total"))
        self.wfile.write({"/": told, "/metrics": metrics}.get(self.path, "ok").encode())
    def log_message(self, *_): pass
HTTPServer((options.host, options.port), Handler).serve_forever()
"""


def section(**serve: Any) -> ServedModel:
    own = {
        "model_path": "/models/m",
        "replicas": 1,
        "gpus_per_replica": 0,
        "cpus_per_replica": 1,
        "resources": {},
        "tensor_parallel_size": 1,
        "max_model_len": 64,
        "ready_timeout_s": 30,
        "hung_after_s": 30,
        "max_restarts": 0,
        "idle_priority": False,
        "args": [],
        "env": {},
    }
    given = {
        "model": "m",
        "base_urls": [],
        "serve": own | serve,
        "api_key_env": None,
        "timeout_s": 5.0,
        "total_timeout_s": 8.0,
        "max_attempts": 1,
        "breaker": {"failures": 10, "cooldown_s": 30.0},
        "concurrency": 1,
    }
    return ServedModel.from_config(given, "model")


@pytest.fixture
def stand_in(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "vllm_command", lambda *_, **__: [sys.executable, "-c", STAND_IN])


def get(base_url: str) -> str:
    with urllib.request.urlopen(base_url.removesuffix("/v1") + "/", timeout=5) as answer:
        return str(answer.read().decode())


@pytest.mark.integration
@pytest.mark.usefixtures("stand_in")
def test_equal_settings_share_a_server_and_gpus_are_given_out(tmp_path: Path):
    toggle, judge = section(gpus_per_replica=1), section(gpus_per_replica=2, replicas=2)
    said: list[str] = []
    wanted = {"nt": toggle, "t": section(gpus_per_replica=1), "judge": judge}
    with serving(wanted, tmp_path / "logs", {"GIVEN": "yes"}, said.append) as served:
        assert served["nt"].base_urls == served["t"].base_urls and len(served["nt"].base_urls) == 1
        addresses = [*served["nt"].base_urls, *served["judge"].base_urls]
        assert [get(address) for address in addresses] == ["0 yes", "1,2 yes", "3,4 yes"]
    assert sum("is ready" in line for line in said) == 3
    for address in addresses:
        with pytest.raises(urllib.error.URLError):
            get(address)


@pytest.mark.integration
@pytest.mark.usefixtures("stand_in")
def test_a_server_that_does_not_come_up_ends_the_others(tmp_path: Path):
    with (
        pytest.raises(RuntimeError, match=r"(?s)server bad-0 is failed: .*no such checkpoint"),
        serving({"good": section(), "bad": section(args=["--fail", "x"])}, tmp_path, {"GIVEN": ""}, lambda _: None),
    ):
        raise AssertionError("never ready")


def test_servers_of_others_are_left_alone(tmp_path: Path):
    given = section().with_base_urls(["http://elsewhere:1/v1"])
    with serving({"a": given}, tmp_path, {}, lambda _: None) as served:
        assert served["a"].base_urls == ("http://elsewhere:1/v1",)
