"""The typed judge section: every mistake is one message with key, value and remedy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from foundation.settings.judges import JudgeSettings, ServedModel

SERVE = {
    "model_path": "some/model",
    "replicas": 2,
    "gpus_per_replica": 2,
    "cpus_per_replica": 4,
    "resources": {"judge_node": 1},
    "tensor_parallel_size": 2,
    "max_model_len": 512,
    "ready_timeout_s": 60,
    "hung_after_s": 60,
    "max_restarts": 3,
    "idle_priority": False,
    "args": ["--enforce-eager"],
    "env": {"A": 1},
}
Section = Callable[..., dict[str, Any]]


def test_a_complete_section(section: Section) -> None:
    judge = JudgeSettings.from_config(section(base_urls=[], serve=SERVE), "pattern_rm")
    assert judge.name == "pattern_rm" and judge.serve is not None
    assert judge.serve.args == ("--enforce-eager",) and dict(judge.serve.env) == {"A": "1"}
    assert dict(judge.serve.resources) == {"judge_node": 1.0}
    assert judge.with_base_urls(["http://h:1/v1/"]).base_urls == ("http://h:1/v1",)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"base_urls": []}, ["judges.fallback", "base_urls", "serve"]),
        ({"base_urls": ["localhost:1"]}, ["base_urls", "localhost:1", "http://"]),
        ({"base_urls": "http://h:1/v1"}, ["base_urls", "list"]),
        ({"model": ""}, ["judges.fallback.model"]),
        ({"prompt": "patern_rm"}, ["prompt", "patern_rm", "pattern_rm"]),
        ({"language": "de"}, ["language", "de", "en, zh"]),
        ({"temperature": -0.1}, ["temperature", "-0.1"]),
        ({"temperature": float("nan")}, ["temperature", "nan"]),
        ({"max_tokens": 0}, ["max_tokens", "0"]),
        ({"max_tokens": 1.5}, ["max_tokens", "1.5"]),
        ({"max_attempts": True}, ["max_attempts", "True"]),
        ({"concurrency": "8"}, ["concurrency", "'8'"]),
        ({"timeout_s": 9.0, "total_timeout_s": 5.0}, ["total_timeout_s", "5.0", "9.0"]),
        ({"temprature": 0}, ["judges.fallback.temprature", "no such key", "did you mean 'temperature'"]),
        ({"serve": {**SERVE, "replicas": 0}}, ["judges.fallback.serve.replicas", "0"]),
        ({"serve": {**SERVE, "gpus_per_replica": 1}}, ["tensor_parallel_size", "2", "gpus_per_replica=1"]),
        ({"serve": {**SERVE, "gpus_per_replica": 0.5}}, ["tensor_parallel_size", "2", "gpus_per_replica=0.5"]),
        ({"serve": {**SERVE, "model_path": None}}, ["model_path"]),
        ({"serve": {**SERVE, "args": "--enforce-eager"}}, ["serve.args", "list"]),
        ({"serve": {**SERVE, "resources": ["judge_node"]}}, ["serve.resources", "judge_node", "mapping"]),
        ({"serve": {**SERVE, "resources": {"judge_node": -1}}}, ["serve.resources.judge_node", "-1"]),
        ({"serve": {**SERVE, "hung_after_s": 0}}, ["serve.hung_after_s", "0"]),
        ({"serve": {**SERVE, "idle_priority": 10}}, ["serve.idle_priority", "10", "true or false"]),
        ({"serve": {"replicas": 1}}, ["judges.fallback.serve.model_path is missing"]),
        ({"serve": "yes"}, ["judges.fallback.serve", "yes"]),
        ({"breaker": {"failures": 0, "cooldown_s": 1}}, ["judges.fallback.breaker.failures", "0"]),
        ({"breaker": {"failures": 2.5, "cooldown_s": 1}}, ["judges.fallback.breaker.failures", "2.5", "whole"]),
        ({"breaker": {"failures": 1, "cooldown_s": -1}}, ["judges.fallback.breaker.cooldown_s", "-1"]),
        ({"breaker": {"failures": 1}}, ["judges.fallback.breaker.cooldown_s is missing"]),
        ({"breaker": None}, ["judges.fallback.breaker=None", "failures, cooldown_s"]),
        ({"serve": {**SERVE, "env": ["A=1"]}}, ["judges.fallback.serve.env", "A=1", "mapping"]),
        ({"name": "other"}, ["judges.fallback.name", "no such key"]),
    ],
    ids=str,
)
def test_mistakes_are_named(section: Section, changes: dict[str, Any], parts: list[str]) -> None:
    with pytest.raises(ValueError) as raised:  # noqa: PT011  the parts are the match
        JudgeSettings.from_config(section(**changes), "fallback")
    for part in parts:
        assert part in str(raised.value)


def test_a_missing_key_is_named(section: Section) -> None:
    config = section()
    del config["max_tokens"]
    with pytest.raises(ValueError, match=r"judges\.fallback\.max_tokens is missing"):
        JudgeSettings.from_config(config, "fallback")


def test_all_mistakes_of_a_judge_come_at_once(section: Section) -> None:
    wrong = section(
        model="",
        base_urls=[],
        serve={**SERVE, "replicas": 0, "gpus_per_replica": 1},
        prompt="patern_rm",
        language="de",
        temperature=-1,
        timeout_s=9.0,
        total_timeout_s=5.0,
        breaker={"failures": 0, "cooldown_s": 1.0},
        retries=3,
    )
    del wrong["max_tokens"]
    problems: list[str] = []
    assert JudgeSettings.read(wrong, "fallback", "judges.fallback", problems) is None
    assert {problem.split("=")[0].split(" ")[0].rstrip(":") for problem in problems} == {
        f"judges.fallback.{key}"
        for key in (
            *("model", "serve.replicas", "serve.tensor_parallel_size", "prompt", "language", "temperature"),
            *("total_timeout_s", "breaker.failures", "retries", "max_tokens"),
        )
    }
    assert len(problems) == 10 and not any("\n" in problem for problem in problems)


def test_a_mistake_names_the_place_of_its_section(section: Section) -> None:
    problems: list[str] = []
    ServedModel.read("gpt", "model", "model.servers.nt", problems)
    (text,) = problems
    assert text.startswith("model.servers.nt='gpt': a section stands here") and "base_urls" in text
    assert "name" not in text.partition("set its keys")[2]


def test_a_model_that_is_no_judge_has_no_prompt(section: Section) -> None:
    asked = {key: value for key, value in section().items() if key not in ("prompt", "language")}
    own = {key: value for key, value in asked.items() if key not in ("temperature", "max_tokens")}
    assert ServedModel.from_config(own, "model").decoding == {}
    with pytest.raises(ValueError, match=r"judges\.model\.prompt: no such key"):
        ServedModel.from_config({**own, "prompt": "pattern_rm"}, "model")
    assert JudgeSettings.from_config(section(), "fallback").decoding == {"temperature": 0.0, "max_tokens": 64}


def test_settings_cannot_be_changed_in_place(section: Section) -> None:
    judge = JudgeSettings.from_config(section(), "fallback")
    with pytest.raises(ValueError, match="frozen"):
        judge.concurrency = 1  # type: ignore[misc]


@pytest.mark.parametrize(
    ("concurrency", "workers", "shares"), [(8, 1, [8]), (8, 3, [3, 3, 2]), (3, 3, [1, 1, 1]), (512, 8, [64] * 8)]
)
def test_the_reward_workers_share_the_calls_of_a_judge(
    section: Section, concurrency: int, workers: int, shares: list[int]
) -> None:
    judge = JudgeSettings.from_config(section(concurrency=concurrency), "fallback")
    assert [judge.share(worker, workers).concurrency for worker in range(workers)] == shares


def test_a_worker_without_a_call_is_an_error(section: Section) -> None:
    judge = JudgeSettings.from_config(section(concurrency=2), "fallback")
    with pytest.raises(ValueError, match=r"judges\.fallback\.concurrency=2 is below reward\.num_workers=3"):
        judge.share(0, 3)
    with pytest.raises(ValueError, match=r"reward worker 2 of 2"):
        judge.share(2, 2)
