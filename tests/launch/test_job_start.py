"""What the nodes of a cluster must see, from what they say."""

from __future__ import annotations

import pytest

from foundation.settings.compose import compose_config
from launch import job_start
from launch.job_start import Seen, inspect_here, needs_of, problems_of, wait_for_gpus, wait_for_queue
from trainer.main import prepare


@pytest.fixture
def settings(tmp_path):
    overrides = [
        "experiment=pattern_rl_qwen3_vl_4b",
        f"policy.path={tmp_path}/policy",
        f"corpus.train_files={tmp_path}/train.parquet",
        "judges.fallback.api_key_env=MY_KEY",
        f"run.dir={tmp_path}/run",
        "dry_run=true",
    ]
    return prepare(compose_config(overrides))[0]


def test_what_is_needed_is_what_the_run_reads(settings, tmp_path):
    needs = needs_of(settings, "/marker")
    assert needs.models["policy.path"] == f"{tmp_path}/policy"
    assert set(needs.models) == {"policy.path", "judges.pattern_rm.serve.model_path"}  # the fallback is a hub id
    assert set(needs.files) == {"corpus.train_files[0]", "corpus.val_files[0]"}
    assert needs.variables == ("MY_KEY", "WANDB_API_KEY")


def test_a_node_tells_what_it_lacks(settings, tmp_path, monkeypatch):
    monkeypatch.setenv("MY_KEY", "k")
    monkeypatch.delenv("WANDB_API_KEY", raising=False)
    (tmp_path / "policy").mkdir()
    (tmp_path / "policy" / "config.json").touch()
    (tmp_path / "train.parquet").touch()
    seen = inspect_here(needs_of(settings, str(tmp_path / "marker")), "node", 8)
    assert seen.models == ("judges.pattern_rm.serve.model_path",)
    assert seen.files == ("corpus.val_files[0]",)
    assert not seen.sees_marker
    assert seen.variables == ("WANDB_API_KEY",)


def test_models_matter_where_gpus_are(settings):
    needs = needs_of(settings, "/marker")
    head = Seen("head", 0, ("policy.path",), (), True, ())
    worker = Seen("worker", 8, (), (), True, ())
    assert problems_of([head, worker], needs, settings) == ([], [])
    blind = Seen("worker", 8, ("policy.path",), (), True, ())
    (problem,), _ = problems_of([head, blind], needs, settings)
    assert problem.startswith(f"policy.path: {settings.policy.path} is not on worker: put it on storage")
    cpu_only = Seen("laptop", 0, ("policy.path",), (), True, ())
    assert len(problems_of([cpu_only], needs, settings)[0]) == 1


def test_every_other_lack_is_a_line(settings):
    needs = needs_of(settings, "/marker")
    bad = Seen("b", 8, (), ("corpus.train_files[0]",), False, ("MY_KEY", "WANDB_API_KEY"))
    problems, notes = problems_of([Seen("a", 8, (), (), True, ()), bad], needs, settings)
    assert [line.split(":")[0] for line in problems] == [
        "corpus.train_files[0]",
        f"run.dir={settings.run.dir}",
        "judges.fallback.api_key_env",
    ]
    assert all("b" in line for line in problems)
    assert len(notes) == 1 and "offline" in notes[0]


@pytest.fixture
def free_gpus(monkeypatch):
    """Ray's answers, one a look; what an autoscaler is asked for."""

    def answers(*free: float) -> list[list[dict[str, float]]]:
        left, wanted = list(free), []
        look = lambda: {"GPU": left.pop(0) if len(left) > 1 else left[0]}  # noqa: E731
        monkeypatch.setattr(job_start.ray, "available_resources", look)
        monkeypatch.setattr(job_start.ray, "cluster_resources", lambda: {"GPU": 8.0})
        monkeypatch.setattr(job_start, "request_resources", lambda bundles: wanted.append(bundles))
        monkeypatch.setattr(job_start, "POLL_S", 0.01)
        return wanted

    return answers


def test_a_run_waits_for_gpus_that_others_use(free_gpus):
    wanted, said = free_gpus(2, 2, 8), []
    assert wait_for_gpus(8, 5, lambda line, flush: said.append(line)) == []
    assert said == ["waiting for GPUs: 8 asked, 2 free of 8; at most 5 s"]
    assert wanted == [[{"GPU": 1.0}] * 8, []]


def test_a_run_does_not_wait_forever(free_gpus):
    free_gpus(2)
    (problem,) = wait_for_gpus(8, 0.05, lambda line, flush: None)
    assert problem.startswith("8 GPUs asked, 2 free of 8 on the cluster for 0.05 s (launch.gpu_wait_s)")


def test_free_gpus_are_taken_at_once(free_gpus):
    wanted = free_gpus(8)
    assert wait_for_gpus(8, 0) == [] and wanted == []


@pytest.fixture
def other_job(monkeypatch):
    """Whether another job trains on the cluster, one answer a look."""

    def answers(*busy: bool) -> None:
        left = list(busy)
        monkeypatch.setattr(job_start, "queue_in_use", lambda: left.pop(0) if len(left) > 1 else left[0])
        monkeypatch.setattr(job_start, "POLL_S", 0.01)

    return answers


def test_jobs_of_one_cluster_take_turns(other_job):
    other_job(True, True, False)
    said = []
    assert wait_for_queue(5, lambda line, flush: said.append(line)) == []
    assert said == ["waiting for another job that trains on this cluster; at most 5 s"]


def test_a_job_does_not_wait_for_another_forever(other_job):
    other_job(True)
    (problem,) = wait_for_queue(0.05, lambda line, flush: None)
    assert problem.startswith("another job trained on this cluster for 0.05 s (launch.gpu_wait_s)")
