"""Every shipped configuration composes and passes its checks, and names what the paper and the model cards give."""

from __future__ import annotations

from typing import Any

import pytest

from evaluation.pattern_eval.generate import request_fields
from foundation.settings.compose import CONFIG_DIR, ConfigError, compose_config

FOLDER = CONFIG_DIR / "evaluation"
MODELS = sorted(path.stem for path in (FOLDER / "model").glob("*.yaml"))
HOSTED = ("model.name=GPT", "model.servers.nt.model=gpt", "model.servers.nt.base_urls=[http://127.0.0.1:9/v1]")
JUDGES = ("judges.correctness.base_urls=[http://127.0.0.1:9/v1]", "judges.pattern.base_urls=[http://127.0.0.1:9/v1]")


@pytest.fixture
def keys(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("OPENAI_API_KEY", "PATTERNRL_CORRECTNESS_KEY", "PATTERNRL_PATTERN_KEY"):
        monkeypatch.setenv(name, "x")


def test_the_shipped_models_are_these():
    assert MODELS == ["hosted", "kimi_k2_5", "qwen3_5_27b", "qwen3_vl_32b", "qwen3_vl_4b", "qwen3_vl_8b", "toy"]


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("model", MODELS)
def test_every_model_passes_its_checks(model: str, compose_eval: Any):
    settings = compose_eval(f"model={model}", *(HOSTED if model == "hosted" else ()), *JUDGES)
    assert set(settings.servers) == {"nt", "t"}
    assert list(settings.judges) == ["correctness", "pattern"]


@pytest.mark.usefixtures("keys")
def test_official_decoding_of_two_checkpoints(compose_eval: Any):
    decoding = compose_eval("model=qwen3_vl_8b", *JUDGES).model.decoding
    assert (decoding.nt["temperature"], decoding.nt["top_p"], decoding.nt["seed"]) == (0.7, 0.8, 3407)
    assert (decoding.t["temperature"], decoding.t["top_p"], decoding.t["max_tokens"]) == (0.6, 0.95, 40960)


@pytest.mark.usefixtures("keys")
def test_official_decoding_of_a_toggle_is_one_for_both_modes(compose_eval: Any):
    settings = compose_eval("model=kimi_k2_5", *JUDGES)
    assert settings.model.decoding.nt == settings.model.decoding.t
    assert (settings.model.decoding.t["temperature"], settings.model.decoding.t["top_p"]) == (1.0, 0.95)
    assert request_fields(settings, "nt")["chat_template_kwargs"] == {"thinking": False}


@pytest.mark.usefixtures("keys")
@pytest.mark.parametrize("judge", ["toy", "cluster"])
def test_the_judges_of_the_training_can_be_asked(judge: str, compose_eval: Any):
    settings = compose_eval("model=toy", f"judge={judge}", "asks.correctness=fallback", "asks.pattern=[pattern_rm]")
    assert set(settings.judges) == {"fallback", "pattern_rm"}


def test_the_toy_experiment(compose_eval: Any):
    settings = compose_eval("experiment=toy")
    assert (settings.limit, settings.prompts.oracle) == (200, "corpora.toy.oracle.label_response")
    assert settings.servers["nt"] == settings.servers["t"]


def test_the_composition_of_the_paper_is_the_default_of_the_construction():
    config = compose_config(["pool.files=[a]", "rollouts=[b]"], FOLDER, "construction")
    assert sum(config.sampling.quotas.values()) == 2415
    assert {c for family in config.prompts.taxonomy.values() for c in family} == set(config.sampling.quotas)


def test_a_misspelt_option_is_named_with_the_right_one():
    with pytest.raises(ConfigError, match=r"model=qwen3_vl_9b: no such option; did you mean 'qwen3_vl_"):
        compose_config(["model=qwen3_vl_9b"], FOLDER, "pattern_eval")
