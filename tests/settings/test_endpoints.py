"""Judges that someone else runs: do they answer, and with the right model?"""

from __future__ import annotations

import json
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest

from foundation.settings.judges import JudgeSettings
from reward_workers.judges.endpoint.breaker import BreakerSettings
from trainer.checks.endpoints import check_endpoints, shown


class _Models(BaseHTTPRequestHandler):
    """/v1/models lists two models to who brings the key; /broken answers text; all else is 404."""

    def do_GET(self):
        if self.path == "/v1/models":
            ok = self.headers.get("Authorization") in (None, "Bearer right")
            self._answer(200 if ok else 401, json.dumps({"data": [{"id": "judge-a"}, {"id": "judge-b"}]}))
        elif self.path == "/broken/models":
            self._answer(200, "<html>")
        elif self.path == "/odd/models":
            self._answer(200, "[1]")
        else:
            self._answer(404, "no")

    def _answer(self, code: int, text: str):
        self.send_response(code)
        self.end_headers()
        self.wfile.write(text.encode())

    def log_message(self, *args: object):
        """Quiet."""


@pytest.fixture(scope="module")
def server() -> Iterator[str]:
    httpd = HTTPServer(("127.0.0.1", 0), _Models)
    thread = threading.Thread(target=httpd.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{httpd.server_port}"
    httpd.shutdown()
    httpd.server_close()


def judge(*base_urls: str, model: str = "judge-a", api_key_env: str | None = None) -> JudgeSettings:
    return JudgeSettings(
        name="fallback",
        model=model,
        base_urls=base_urls,
        serve=None,
        prompt="answer_equivalence",
        language="en",
        api_key_env=api_key_env,
        temperature=0.0,
        max_tokens=8,
        timeout_s=1.0,
        total_timeout_s=2.0,
        max_attempts=1,
        breaker=BreakerSettings(failures=1, cooldown_s=1.0),
        concurrency=1,
    )


def test_a_judge_that_answers(server: str):
    assert check_endpoints(judge(f"{server}/v1")) == []


def test_each_dead_endpoint_is_named(server: str):
    dead = "http://127.0.0.1:9/v1"
    found = check_endpoints(judge(f"{server}/v1", dead))
    assert len(found) == 1
    assert found[0].startswith(f"judges.fallback.base_urls[1]='{dead}' does not answer")
    assert "judge=toy" in found[0]


@pytest.mark.parametrize(
    ("path", "model", "text"),
    [
        ("/v1", "judge-c", "serves judge-a, judge-b, not 'judge-c'"),
        ("/nothing", "judge-a", "HTTP 404"),
        ("/broken", "judge-a", "JSON"),
        ("/odd", "judge-a", "without a list of models"),
    ],
)
def test_an_endpoint_that_is_not_the_judge(server: str, path: str, model: str, text: str):
    (found,) = check_endpoints(judge(server + path, model=model))
    assert text in found


def test_keys_come_from_the_environment_and_are_not_shown(server: str, monkeypatch: pytest.MonkeyPatch):
    asked = judge(f"{server}/v1", api_key_env="TEST_JUDGE_KEY")
    monkeypatch.delenv("TEST_JUDGE_KEY", raising=False)
    assert "TEST_JUDGE_KEY" in check_endpoints(asked)[0]
    monkeypatch.setenv("TEST_JUDGE_KEY", "wrong-secret")
    (found,) = check_endpoints(asked)
    assert "401" in found
    assert "wrong-secret" not in found
    monkeypatch.setenv("TEST_JUDGE_KEY", "right")
    assert check_endpoints(asked) == []


def test_a_password_in_a_url_is_not_shown():
    assert shown("https://me:secret@judge.example:8000/v1?token=x") == "https://judge.example:8000/v1"
