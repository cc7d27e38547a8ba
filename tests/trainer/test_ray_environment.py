"""The environment of Ray's workers: verl's own, worked out without verl where there is no GPU."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from trainer.frame.ray_environment import cpu_environment, merge_runtime_env

ROOT = Path(__file__).resolve().parents[2]
HEAVY = ("torch", "verl", "vllm", "transformers")


def test_every_key_of_the_users_runtime_env_counts():
    stock = {"working_dir": None, "env_vars": {"NCCL_DEBUG": "WARN", "TOKENIZERS_PARALLELISM": "true"}}
    given = {"working_dir": "s3://code.zip", "pip": ["x"], "env_vars": {"TOKENIZERS_PARALLELISM": "false", "A": "1"}}
    assert merge_runtime_env(stock, given) == {
        "working_dir": "s3://code.zip",
        "pip": ["x"],
        "env_vars": {"NCCL_DEBUG": "WARN", "TOKENIZERS_PARALLELISM": "false", "A": "1"},
    }
    assert merge_runtime_env(stock, {}) == stock


def test_a_variable_of_the_driver_stands_over_verls_default(monkeypatch):
    monkeypatch.setenv("NCCL_DEBUG", "INFO")
    monkeypatch.setenv("NCCL_ALGO", "Ring")
    monkeypatch.delenv("PYTHONHASHSEED", raising=False)
    variables = cpu_environment()["env_vars"]
    assert "NCCL_DEBUG" not in variables
    assert variables["NCCL_ALGO"] == "Ring"
    assert "PYTHONHASHSEED" not in variables


def test_the_files_of_a_submitted_job_stay(monkeypatch):
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    assert cpu_environment()["working_dir"] is None
    monkeypatch.setenv("RAY_JOB_CONFIG_JSON_ENV_VAR", json.dumps({"runtime_env": {"working_dir": "gcs://code.zip"}}))
    assert "working_dir" not in cpu_environment()


@pytest.mark.integration
@pytest.mark.parametrize(
    "variables",
    [
        {},
        {"NCCL_DEBUG": "INFO", "VERL_FULL_DETERMINISM": "1", "PYTHONHASHSEED": "3", "NCCL_ALGO": "Ring"},
        {"RAY_JOB_CONFIG_JSON_ENV_VAR": json.dumps({"runtime_env": {"working_dir": "gcs://code.zip"}})},
    ],
    ids=["bare", "variables set", "submitted job"],
)
def test_on_a_cpu_it_is_what_verl_returns(monkeypatch, variables):
    from verl.trainer.constants_ppo import get_ppo_ray_runtime_env

    for key in get_ppo_ray_runtime_env()["env_vars"]:
        monkeypatch.delenv(key, raising=False)
    monkeypatch.delenv("RAY_JOB_CONFIG_JSON_ENV_VAR", raising=False)
    for key, value in variables.items():
        monkeypatch.setenv(key, value)
    assert cpu_environment() == get_ppo_ray_runtime_env()


@pytest.mark.integration
def test_the_driver_and_its_task_runner_import_nothing_that_trains():
    code = (
        "import sys, trainer.frame.run, trainer.frame.ray_environment, trainer.grpo.task_runner\n"
        f"print([name for name in {HEAVY} if name in sys.modules])"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, env=os.environ, capture_output=True, text=True, timeout=60, check=False
    )
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.strip() == "[]"
