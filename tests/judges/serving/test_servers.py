"""The fleet with real vLLM on Ray: both ends of a judge's life, and a replica killed in between."""

from __future__ import annotations

import asyncio
import json
import os
import signal
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from foundation.runs.records import Labels
from foundation.settings.judges import JudgeSettings
from reward_workers.judges.pattern_rm import PatternRM

pytestmark = [pytest.mark.integration, pytest.mark.timeout(420)]

ROOT = Path(__file__).resolve().parents[3]
CPU_ENV = {
    "VLLM_CPU_KVCACHE_SPACE": "1",
    "VLLM_CPU_OMP_THREADS_BIND": "nobind",
    "OMP_NUM_THREADS": "1",
    "TORCHDYNAMO_DISABLE": "1",
    "HF_HUB_OFFLINE": "1",
    "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
    "VLLM_WORKER_MULTIPROC_METHOD": "fork",
}


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTHONPATH", str(ROOT))
        ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=100_000_000)
        yield
        ray.shutdown()


def serving(section: Any, model_path: Path, **serve: Any) -> dict[str, Any]:
    served = {
        "model_path": str(model_path),
        "replicas": 1,
        "gpus_per_replica": 0,
        "cpus_per_replica": 1,
        "resources": {},
        "tensor_parallel_size": 1,
        "max_model_len": 512,
        "ready_timeout_s": 200,
        "hung_after_s": 60,
        "max_restarts": 1,
        "idle_priority": False,
        "args": ["--dtype", "float32", "--enforce-eager", "--max-num-seqs", "16"],
        "env": CPU_ENV,
    } | serve
    limits = {"timeout_s": 20.0, "total_timeout_s": 60.0}
    built: dict[str, Any] = section(model="pattern-rm", base_urls=[], serve=served, prompt="pattern_rm", **limits)
    return built


def server_pids(port: str) -> list[int]:
    """The server processes that were given this port."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            arguments = (folder / "cmdline").read_bytes().split(b"\0")
            if b"--port" in arguments and arguments[arguments.index(b"--port") + 1] == port.encode():
                found.append(int(folder.name))
        except (FileNotFoundError, ProcessLookupError):
            continue
    return found


def group_members(leader: int) -> list[int]:
    members = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state, _, group = (folder / "stat").read_text().rpartition(")")[2].split()[:3]
        except (FileNotFoundError, ProcessLookupError):
            continue
        if int(group) == leader and state != "Z":
            members.append(int(folder.name))
    return members


def all_gone(leader: int) -> bool:
    """Whether the group is empty soon: a killed process needs a moment to disappear."""
    deadline = time.monotonic() + 20
    while group_members(leader):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def counted(fleet: Any, requests: int) -> bool:
    """Whether the server's own count is soon this one: vLLM counts a request just after it has answered it."""
    deadline = time.monotonic() + 20
    while fleet.metrics()["pattern_rm"].requests != requests:
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def test_a_replica_is_served_killed_replaced_and_stopped(cluster: None, section: Any, tmp_path: Path) -> None:
    from reward_workers.judges.serving.fleet import JudgeFleet

    config = serving(section, ROOT / "assets" / "toy" / "pattern_rm")
    said: list[str] = []
    fleet = JudgeFleet({"pattern_rm": config, "fallback": None}, tmp_path, say=said.append)
    base_urls = fleet.launch()["pattern_rm"]
    fleet.wait_ready()
    assert any("pattern_rm-0 is ready" in line for line in said)
    judge = JudgeSettings.from_config(config, "pattern_rm").with_base_urls(base_urls)
    port = base_urls[0].split(":")[2].split("/")[0]

    async def label(question: str) -> Any:
        pattern_rm = PatternRM(judge, dict.fromkeys(("cot", "rep", "con", "pr"), 0.5))
        try:
            return await pattern_rm.label(question, "There are two. \\boxed{2}")
        finally:
            await pattern_rm.aclose()

    labels = asyncio.run(label("How many red cells?"))
    assert isinstance(labels, Labels), labels
    assert all(0.0 <= p <= 1.0 for p in labels.p.values() if p is not None)
    assert labels.p["cot"] is not None and labels.decided["cot"] == (labels.p["cot"] > 0.5)
    assert counted(fleet, 1)
    (leader,) = server_pids(port)
    assert len(group_members(leader)) > 1
    os.kill(leader, signal.SIGKILL)
    deadline = time.monotonic() + 240
    while not isinstance(labels := asyncio.run(label("How many blue cells?")), Labels):
        assert time.monotonic() < deadline, labels
        time.sleep(2)
    assert all_gone(leader)
    (leader,) = server_pids(port)
    assert counted(fleet, 2)
    fleet.stop()
    assert all_gone(leader)
    report = json.loads((tmp_path / "pattern_rm.json").read_text())
    assert report["restarts"] == 1 and report["requests"] == 2 and report["generation_tokens"] > 8
    assert (tmp_path / "pattern_rm-0.log").stat().st_size > 0


def test_a_checkpoint_that_does_not_exist_is_named(cluster: None, section: Any, tmp_path: Path) -> None:
    from reward_workers.judges.serving.fleet import JudgeFleet

    fleet = JudgeFleet({"pattern_rm": serving(section, tmp_path / "nowhere")}, tmp_path, say=lambda _: None)
    fleet.launch()
    with pytest.raises(RuntimeError, match=r"(?s)pattern_rm-0 failed.*nowhere"):
        fleet.wait_ready()
