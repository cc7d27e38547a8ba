"""Hydra's multirun over the launcher of this project: points, checks before submission, sweepers that search."""

from __future__ import annotations

import json
from typing import Any

import pytest
from filelock import FileLock
from rich.console import Console

from foundation.settings.compose import ConfigError
from launch.sweeps import sweep
from launch.sweeps.sweep import run_sweep

pytestmark = pytest.mark.integration  # each point is composed as a whole, twice

OK = [("SUCCEEDED", 0)]
QUICK = ["experiment=quickstart", "cluster=ray_cpu"]


@pytest.fixture
def multirun(fake_jobs, launch_settings, monkeypatch, tmp_path):
    """Runs a command line; returns the exit code and the jobs."""
    jobs = fake_jobs(*[OK] * 20)
    monkeypatch.setattr(sweep, "connect", lambda launch: jobs)
    monkeypatch.setattr(sweep, "check_capacity", lambda runs, launch: None)
    console = Console(width=200, highlight=False, soft_wrap=True)

    def run(*overrides: str, ours: tuple[str, ...] = (), script=None) -> tuple[int, Any]:
        if script is not None:
            jobs.script[:] = script
        settings = launch_settings(f"launch.runs_dir={tmp_path}/runs", "sweep.name=s", *ours)
        return run_sweep([*QUICK, *overrides], settings, console, retry_failed=False), jobs

    return run


def test_each_point_has_a_name_a_folder_and_the_group_of_the_sweep(multirun, tmp_path):
    code, jobs = multirun("reward_mix.weights.cot=0.02,0.1", "seed=choice(1)")
    assert code == 0
    assert [job["metadata"]["patternrl.run"] for job in jobs.submitted] == [
        "s-cot_0.02-seed_1",
        "s-cot_0.1-seed_1",
    ]
    assert jobs.submitted[1]["entrypoint"].endswith(
        "experiment=quickstart cluster=ray_cpu reward_mix.weights.cot=0.1 seed=1 run.name=s-cot_0.1-seed_1 "
        f"tracking.group=s run.dir={tmp_path}/runs/s/cot_0.1-seed_1"
    )
    assert jobs.most_at_once <= 1


def test_settings_of_all_points_are_not_part_of_a_name_however_hydra_writes_them(multirun):
    _, jobs = multirun(
        "trainer.val_before_train=false",
        "judges.fallback.serve=null",
        "judges.fallback.base_urls=[http://127.0.0.1:9/v1]",
        "+judges.pattern_rm.serve.env.A='b c'",
        "seed=0,1",
    )
    assert [job["metadata"]["patternrl.run"] for job in jobs.submitted] == ["s-seed_0", "s-seed_1"]


def test_a_sweep_goes_on_where_it_was_and_grows(multirun):
    assert multirun("seed=0,1")[0] == 0
    code, jobs = multirun("seed=0,1,2")
    assert code == 0
    assert len(jobs.submitted) == 3


def test_a_wrong_point_keeps_all_from_being_submitted(multirun, tmp_path):
    with pytest.raises(ConfigError, match=r"point cap_2: reward_mix\.cap=2"):
        multirun("reward_mix.cap=0.1,2")
    assert not (tmp_path / "runs" / "s" / "manifest.json").exists()
    with pytest.raises(ConfigError, match=r"reward_mix\.wieghts"):
        multirun("reward_mix.wieghts.cot=0.1,0.2")


def test_a_folder_of_two_points_is_refused(multirun):
    with pytest.raises(ConfigError, match="is the folder of two points"):
        multirun("run.name=same", "seed=0,1")
    code, jobs = multirun("run.name=r${seed}", "seed=0,1")
    assert code == 0
    assert [job["metadata"]["patternrl.run"] for job in jobs.submitted] == ["r0", "r1"]


def test_a_dry_run_submits_nothing(multirun, tmp_path, capsys):
    code, jobs = multirun("seed=0,1", "dry_run=true")
    assert code == 0 and jobs.submitted == []
    assert f"point       s-seed_1: {tmp_path}/runs/s/seed_1" in capsys.readouterr().out
    assert not (tmp_path / "runs" / "s" / "manifest.json").exists()


def test_one_process_runs_a_sweep(multirun, tmp_path):
    folder = tmp_path / "runs" / "s"
    folder.mkdir(parents=True)
    with FileLock(folder / ".lock"), pytest.raises(ConfigError, match="another process runs this sweep"):
        multirun("seed=0,1")


def test_a_search_ends_with_a_point_that_failed(multirun, tmp_path, capsys):
    code, jobs = multirun(
        "seed=0,1",
        "hydra.sweeper.max_batch_size=1",
        ours=("sweep.objective=[trigger]", "launch.max_restarts=0"),
        script=([("FAILED", 1)],),
    )
    assert code == 1
    assert len(jobs.submitted) == 1
    out = capsys.readouterr().out
    assert "point seed_0 failed: it has no objective; the search ends here" in out
    assert "0 of 1 points finished" in out


def test_a_sweep_folder_that_cannot_be_made_is_named(multirun):
    with pytest.raises(ConfigError, match=r"sweep\.dir=/proc/nothing: cannot be made here"):
        multirun("seed=0,1", ours=("sweep.dir=/proc/nothing",))


def test_a_sweeper_that_searches_gets_the_objective(multirun, tmp_path, monkeypatch):
    """Hydra's basic sweeper with batches of one stands for one that waits for each result."""
    seen = []
    read = sweep.read_objective
    monkeypatch.setattr(sweep, "read_objective", lambda folder, names: seen.append(read(folder, names)) or seen[-1])
    for seed, trigger in ((0, 0.3), (1, 0.1)):
        folder = tmp_path / "runs" / "s" / f"seed_{seed}"
        folder.mkdir(parents=True)
        last = {"accuracy": {"value": 0.5}, "oracle": {"trigger": {"value": trigger}}}
        (folder / "summary.json").write_text(json.dumps({"heldout": [last]}))
    code, _ = multirun("seed=0,1", "hydra.sweeper.max_batch_size=1", ours=("sweep.objective=[trigger,accuracy]",))
    assert code == 0
    assert seen == [(0.3, 0.5), (0.1, 0.5)]
