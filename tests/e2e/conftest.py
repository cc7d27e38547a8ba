"""Jobs and judge servers that the end-to-end tests share; all end with the session."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from quickstart_job import START_S, STEP_S, Job, Run

from reward_workers.judges.serving.server_process import ServerProcess, vllm_command

ROOT = Path(__file__).resolve().parents[2]
CPU_ENV = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_WORKER_MULTIPROC_METHOD": "fork",
}


@pytest.fixture(scope="session")
def running_judges(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    """Both judges behind servers that outlive the jobs; the overrides that make a job use them as external ones."""
    logs = tmp_path_factory.mktemp("judges")
    servers, overrides = [], []
    for judge, model, name in (
        ("fallback", "answer_judge", "toy-answer-judge"),
        ("pattern_rm", "pattern_rm", "toy-pattern-rm"),
    ):
        path = str(ROOT / "assets" / "toy" / model)
        server = ServerProcess(
            [
                *vllm_command(path, name, tensor_parallel_size=1, max_model_len=512),
                "--dtype=float32",
                "--enforce-eager",
            ],
            env=CPU_ENV,
            host="127.0.0.1",
            log_path=logs / f"{judge}.log",
            ready_timeout_s=240,
            max_restarts=0,
            hung_after_s=60,
        )
        servers.append(server)
        overrides += [f"judges.{judge}.serve=null", f"judges.{judge}.base_urls=[{server.root}/v1]"]
    for server in servers:
        status = server.wait_ready(240)
        assert status.state == "ready", status.failure
    yield overrides
    for server in servers:
        server.stop()


@pytest.fixture(scope="session")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Starts jobs in folders of this session and ends what still runs afterwards."""
    base = tmp_path_factory.mktemp("runs")
    started: list[Job] = []

    def start(name: str, *overrides: str) -> Job:
        started.append(Job(base / name, overrides))
        return started[-1]

    yield start
    for job in started:
        job.kill()


@pytest.fixture(scope="session")
def pattern_run(jobs: Any) -> Run:
    """Two steps of PatternRL with both judges served by the job."""
    job = jobs("pattern", "trainer.total_training_steps=2", "trainer.test_freq=-1", "trainer.save_freq=2", "run.name=p")
    assert job.wait(START_S + 3 * STEP_S) == 0, job.output[-6000:]
    return Run(job.folder)
