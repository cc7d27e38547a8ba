"""What is checked and sent before anything runs: folder, upload, keys, environment, GPUs."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from foundation.settings.compose import ROOT, ConfigError
from launch import secrets
from launch.cluster import Node, capacity_problems
from launch.prepare import override, prepare_run
from launch.upload import measure

QUICK = ("experiment=quickstart", "cluster=ray_cpu")
PAPER = ("experiment=pattern_rl_qwen3_vl_4b",)


@pytest.fixture
def launch(launch_settings, tmp_path):
    return lambda *overrides: launch_settings(f"launch.runs_dir={tmp_path}/runs", *overrides).launch


def test_a_run_gets_its_folder_below_runs_dir(launch, tmp_path):
    spec = prepare_run([*QUICK, "run.name=mine"], launch()).spec
    assert spec.run_dir == f"{tmp_path}/runs/mine"
    assert spec.overrides == (*QUICK, "run.name=mine", f"run.dir={tmp_path}/runs/mine")
    given = prepare_run([*QUICK, override("run.dir", "/x/a b")], launch())
    assert given.spec.run_dir == "/x/a b"
    assert given.spec.overrides[-1] == "run.dir='/x/a b'"


def test_a_relative_runs_dir_means_something_else_on_every_node(launch_settings):
    with pytest.raises(ConfigError, match=r"launch\.runs_dir=outputs: set an absolute path"):
        prepare_run(QUICK, launch_settings("launch.runs_dir=outputs").launch)


def test_the_shipped_models_are_sent_only_to_a_run_that_reads_them(launch):
    with_assets, without = prepare_run(QUICK, launch()), prepare_run(PAPER, launch())
    assert any(path.startswith("assets/toy/policy/") for path, _ in with_assets.upload.files)
    assert not any(path.startswith("assets/") for path, _ in without.upload.files)
    assert without.spec.runtime_env["excludes"] == ["assets/"]


def test_a_run_that_would_start_its_own_ray_is_refused(launch):
    with pytest.raises(ConfigError, match=r"address=local \(cluster=laptop_cpu\).*choose cluster=ray_cpu"):
        prepare_run(["experiment=quickstart"], launch())


def test_what_a_run_may_not_send(launch, monkeypatch):
    with pytest.raises(ConfigError) as caught:
        prepare_run(QUICK, launch("launch.upload_limit_mb=0.5"))
    (problem,) = caught.value.problems
    assert "launch.upload_limit_mb=0.5" in problem and "assets/toy/policy/model.safetensors" in problem
    monkeypatch.setenv("WANDB_API_KEY", "k")
    with pytest.raises(ConfigError, match=r"launch\.env\.WANDB_API_KEY: a key has no place in a setting"):
        prepare_run(QUICK, launch("+launch.env.WANDB_API_KEY=k"))


def test_keys_travel_only_when_told_to(launch, monkeypatch):
    monkeypatch.setenv("WANDB_API_KEY", "s3cret")
    monkeypatch.setenv("MY_KEY", "s3cret-too")
    run = [*PAPER, "judges.fallback.api_key_env=MY_KEY"]
    kept = prepare_run(run, launch("launch.stop_wait_s=77"))
    assert kept.spec.runtime_env["env_vars"] == {"RAY_JOB_STOP_WAIT_TIME_S": "77"}
    assert kept.notes == ("keys are taken from the nodes' environment: MY_KEY, WANDB_API_KEY",)
    sent = prepare_run(run, launch("launch.secrets=runtime_env"))
    assert sent.spec.runtime_env["env_vars"]["MY_KEY"] == "s3cret-too"
    assert "s3cret" not in str(sent.notes) + repr(sent.spec)
    monkeypatch.delenv("MY_KEY")
    with pytest.raises(ConfigError, match=r"judges\.fallback\.api_key_env: the environment variable MY_KEY is not set"):
        prepare_run(run, launch("launch.secrets=runtime_env"))


def test_without_a_wandb_key_the_run_records_offline(launch, monkeypatch):
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    (note,) = prepare_run(PAPER, launch("launch.secrets=runtime_env")).notes
    assert note.startswith("tracking.kind=wandb without WANDB_API_KEY: recorded offline")
    assert prepare_run([*PAPER, "tracking=none"], launch()).notes == ()


def test_folders_of_data_and_models_go_with_the_job(launch, monkeypatch):
    monkeypatch.setenv("PATTERNRL_DATA", "/shared/data")
    variables = prepare_run(PAPER, launch("+launch.env.HF_HOME=/shared/hf")).spec.runtime_env["env_vars"]
    assert (variables["PATTERNRL_DATA"], variables["HF_HOME"]) == ("/shared/data", "/shared/hf")


@pytest.mark.parametrize("excludes", [[], ["*.bin"], ["kept/"]])
def test_the_size_is_that_of_the_package_that_ray_makes(tmp_path, excludes):
    from ray._private.ray_constants import get_runtime_env_default_excludes
    from ray._private.runtime_env.packaging import create_package

    root = tmp_path / "checkout"
    for path, size in {
        "a.py": 10,
        "big.bin": 5000,
        "kept/c.txt": 30,
        "left/out.txt": 40,
        ".git/objects/x": 50,
        "__pycache__/y.pyc": 60,
        "sub/ignored.log": 70,
    }.items():
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_bytes(b"x" * size)
    (root / ".gitignore").write_text("*.log\n")
    (root / ".rayignore").write_text("left/\n")
    package = tmp_path / "package.zip"
    all_excludes = [*get_runtime_env_default_excludes(), *excludes]
    create_package(str(root), package, include_gitignore=True, excludes=all_excludes)
    packed = {i.filename: i.file_size for i in zipfile.ZipFile(package).infolist() if not i.is_dir()}
    assert dict(measure(root, excludes).files) == packed
    assert "a.py" in packed and "left/out.txt" not in packed


def test_the_checkout_is_small():
    """Without the models of the quickstart a job is about a megabyte of code and configuration."""
    upload = measure(ROOT, ["assets/"])
    assert 0.2e6 < upload.size < 3e6, upload.files[:5]
    sent = {Path(path).parts[0] for path, _ in upload.files}
    assert {"configs", "trainer", "reward_workers", "rollout_workers", "launch", "corpora"} <= sent
    assert not {"tests", "docs", "outputs", "wandb", ".venv", ".git"} & sent


@pytest.mark.parametrize(
    ("overrides", "gpus", "said"),
    [
        (PAPER, [8, 8], ""),
        (PAPER, [8], "16 GPUs asked, 8 on the cluster (1 nodes: 8)"),
        (PAPER, [4, 4, 4, 4], "no node has 8 GPUs left for a block of policy"),
        ((*PAPER, "cluster=split_three_nodes_24gpu"), [8, 8, 8, 0], ""),
        (QUICK, [1], ""),
        (QUICK, [0], "ray start --head --num-cpus=16 --num-gpus=1"),
    ],
)
def test_a_run_is_measured_against_the_nodes(launch, overrides, gpus, said):
    run = prepare_run(overrides, launch())
    problems = capacity_problems(run.settings, run.config, [Node("n", float(g), 16.0) for g in gpus])
    assert (said in problems[0]) if said else problems == []


def test_missing_keys_are_told_by_name():
    needed = [
        secrets.Secret("A", "judges.fallback.api_key_env", True),
        secrets.Secret("B", "tracking.kind=wandb", False),
    ]
    assert secrets.missing(needed, {"A": "x", "B": "y"}) == ([], [])
    problems, notes = secrets.missing(needed, {"A": ""})
    assert problems == ["judges.fallback.api_key_env: the environment variable A is not set"]
    assert len(notes) == 1 and "wandb sync" in notes[0]
