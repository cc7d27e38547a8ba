"""What the shipped judge files resolve to: a shared file must not change a value of a judge unseen."""

from __future__ import annotations

from typing import Any

import pytest

from foundation.settings.compose import CONFIG_DIR, compose_config, plain_settings
from foundation.settings.judges import JudgeSettings

TINY = {
    "base_urls": [],
    "serve.replicas": 1,
    "serve.gpus_per_replica": 0,
    "serve.cpus_per_replica": 1,
    "serve.tensor_parallel_size": 1,
    "serve.max_model_len": 512,
    "serve.ready_timeout_s": 240,
    "serve.hung_after_s": 30,
    "serve.max_restarts": 3,
    "serve.idle_priority": True,
    "serve.args": ["--dtype", "float32", "--enforce-eager", "--max-num-seqs", "64"],
    "serve.env.VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "serve.env.VLLM_WORKER_MULTIPROC_METHOD": "fork",
    "language": "en",
    "api_key_env": None,
    "temperature": 0.0,
    "timeout_s": 20,
    "total_timeout_s": 60,
    "max_attempts": 3,
    "breaker.failures": 5,
    "breaker.cooldown_s": 5,
    "concurrency": 32,
}
LARGE = {key: value for key, value in TINY.items() if not key.startswith("serve.env")} | {
    "serve.gpus_per_replica": 1,
    "serve.cpus_per_replica": 8,
    "serve.ready_timeout_s": 1800,
    "serve.hung_after_s": 60,
    "serve.idle_priority": False,
    "serve.args": ["--gpu-memory-utilization", "0.92"],
    "timeout_s": 60,
    "total_timeout_s": 110,
    "breaker.cooldown_s": 15,
    "concurrency": 512,
}
HOSTED = {
    "base_urls": [],
    "serve": None,
    "language": "en",
    "temperature": 0.0,
    "max_tokens": 4096,
    "timeout_s": 180,
    "total_timeout_s": 600,
    "max_attempts": 5,
    "breaker.failures": 20,
    "breaker.cooldown_s": 30,
    "concurrency": 32,
}
GOLDEN: dict[tuple[str, str], dict[str, Any]] = {
    ("toy", "fallback"): TINY | {"prompt": "answer_equivalence_compact", "max_tokens": 8, "model": "toy-answer-judge"},
    ("toy", "pattern_rm"): TINY | {"prompt": "pattern_rm", "max_tokens": 4, "model": "toy-pattern-rm"},
    ("cluster", "fallback"): LARGE
    | {"prompt": "answer_equivalence", "max_tokens": 2048, "model": "openai/gpt-oss-120b", "serve.max_model_len": 8192},
    ("cluster", "pattern_rm"): LARGE
    | {
        "prompt": "pattern_rm",
        "max_tokens": 64,
        "model": "pattern-rm-27b",
        "serve.max_model_len": 20480,
        "serve.args": ["--gpu-memory-utilization", "0.92", "--enable-prefix-caching"],
    },
    ("api", "correctness"): HOSTED
    | {"prompt": "answer_correctness", "model": "qwen3-max", "api_key_env": "PATTERNRL_CORRECTNESS_KEY"},
    ("api", "pattern"): HOSTED
    | {"prompt": "pattern_judge", "model": "seed-2.0-pro", "api_key_env": "PATTERNRL_PATTERN_KEY"},
}
PATHS = {
    ("toy", "fallback"): "/assets/toy/answer_judge",
    ("toy", "pattern_rm"): "/assets/toy/pattern_rm",
    ("cluster", "fallback"): "openai/gpt-oss-120b",
    ("cluster", "pattern_rm"): "/pattern_rm_27b",
}


def leaves(section: dict[str, Any], under: str = "") -> dict[str, Any]:
    flat: dict[str, Any] = {}
    for key, value in section.items():
        flat |= leaves(value, f"{under}{key}.") if isinstance(value, dict) else {f"{under}{key}": value}
    return flat


@pytest.mark.parametrize(("judge", "name"), GOLDEN, ids=["-".join(key) for key in GOLDEN])
def test_a_judge_has_these_values(judge: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    for variable in ("MODELS", "CORRECTNESS_MODEL", "CORRECTNESS_URLS", "PATTERN_MODEL", "PATTERN_URLS"):
        monkeypatch.delenv(f"PATTERNRL_{variable}", raising=False)
    if judge == "api":
        config = compose_config(["model=toy"], CONFIG_DIR / "evaluation", "pattern_eval")
    else:
        config = compose_config([f"judge={judge}"])
    found = leaves(plain_settings(config.judges)[name])
    path = found.pop("serve.model_path", "")
    assert path.endswith(PATHS.get((judge, name), ""))
    assert found == GOLDEN[judge, name]


def test_external_judges_are_those_of_a_cluster_at_other_addresses() -> None:
    urls = [f"judges.{name}.base_urls=[http://h/v1]" for name in ("fallback", "pattern_rm")]
    external = plain_settings(compose_config(["judge=external", *urls]).judges)
    for name, section in external.items():
        judge = JudgeSettings.from_config(section, name)
        assert judge.serve is None and judge.base_urls == ("http://h/v1",)
        own = {key: value for key, value in leaves(section).items() if key not in ("serve", "base_urls")}
        assert own == {key: value for key, value in GOLDEN["cluster", name].items() if key in own}
