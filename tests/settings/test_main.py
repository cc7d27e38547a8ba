"""The command line as a user meets it: exit codes, one message, nothing heavy imported."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from types import ModuleType

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from trainer.main import grpo, main

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["reward_mix.wieghts.cot=1"], ("reward_mix.wieghts", "weights")),
        (["trainer.totl_epochs=1"], ("trainer.totl_epochs", "total_epochs")),
        (["experiment=quikstart"], ("quikstart", "quickstart")),
        (["reward_model.enable=true"], ("reward_model.enable", "judges.pattern_rm")),
        (["reward_mix.gate.probability=1.4"], ("reward_mix.gate.probability=1.4",)),
        (["reward_mix.weights.cot=-0.1"], ("reward_mix.weights.cot=-0.1",)),
        (["corpus.train_files=/nowhere/train.parquet"], ("corpus.train_files", "/nowhere/train.parquet")),
        (
            ["judges.fallback.serve=null", "judges.fallback.base_urls=[http://127.0.0.1:9/v1]"],
            ("judges.fallback.base_urls[0]", "127.0.0.1:9"),
        ),
        (["experiment=pattern_rl_qwen3_vl_4b", "cluster.nodes=1"], ("16 GPUs asked", "8 given")),
        (["data.train_batch_size=24"], ("data.train_batch_size=24",)),
        (["--multirun", "seed=1,2"], ("--multirun",)),
        (["judges.fallback.serve.env.HF_HOME=x"], ("write +judges.fallback.serve.env.HF_HOME=",)),
    ],
)
def test_wrong_input_is_exit_code_2_and_one_line_each(
    arguments: list[str],
    parts: tuple[str, ...],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
):
    monkeypatch.setattr(sys, "argv", ["trainer.main", *arguments, f"run.dir={tmp_path}/run"])
    assert main() == 2
    out, err = capsys.readouterr()
    assert out == ""
    assert "Traceback" not in err
    lines = err.splitlines()
    assert any(line.startswith("error: ") and all(part in line for part in parts) for line in lines), err
    assert lines[-1].startswith("nothing was started")
    assert not (tmp_path / "run").exists()


def test_a_row_without_reference_is_refused(
    good_inputs: list[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
):
    table = pq.read_table(tmp_path / "train.parquet").to_pylist()
    table[5]["reward_model"]["ground_truth"] = None
    pq.write_table(pa.Table.from_pylist(table), tmp_path / "train.parquet")
    monkeypatch.setattr(sys, "argv", ["trainer.main", *good_inputs])
    assert main() == 2
    assert f"{tmp_path}/train.parquet row 5, reward_model.ground_truth=None" in capsys.readouterr().err


def test_help_names_groups_and_keys(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    monkeypatch.setattr(sys, "argv", ["trainer.main", "--help"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 0
    out = capsys.readouterr().out
    for word in ("experiment: ", "pattern_rl_qwen3_vl_8b", "reward_mix.on_unscored", "dry_run=true", "Exit codes"):
        assert word in out


def test_good_inputs_reach_the_training(good_inputs: list[str], monkeypatch: pytest.MonkeyPatch):
    # A stand-in for trainer.frame.run: importing that one would start verl and Ray.
    seen = []
    stand_in = ModuleType("trainer.frame.run")
    stand_in.run_training = lambda config, task_runner: seen.append((config, task_runner)) or 7
    monkeypatch.setitem(sys.modules, "trainer.frame.run", stand_in)
    monkeypatch.setattr(sys, "argv", ["trainer.main", *good_inputs, "trainer.total_training_steps=7"])
    assert main() == 7
    ((config, task_runner),) = seen
    assert config.trainer.total_training_steps == 7
    assert task_runner is grpo


@pytest.mark.integration
def test_a_gpu_experiment_dry_runs_from_any_folder_without_heavy_imports_or_files(tmp_path: Path):
    script = (
        f"import sys; sys.path.insert(0, {str(ROOT)!r});"
        "sys.argv[1:] = ['experiment=pattern_rl_qwen3_vl_4b', 'dry_run=true'];"
        "from trainer.main import main; code = main();"
        "heavy = {'torch', 'ray', 'verl', 'vllm', 'wandb', 'transformers'} & set(sys.modules);"
        "print('heavy:', sorted(heavy)); sys.exit(code)"
    )
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    assert "1,024 rollouts" in done.stdout
    assert "heavy: []" in done.stdout
    assert list(tmp_path.iterdir()) == []


@pytest.mark.integration
def test_the_module_passes_its_exit_code_on():
    done = subprocess.run(
        [sys.executable, "-m", "trainer.main", "reward_model.enable=true"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.startswith("error: reward_model.enable=True")
