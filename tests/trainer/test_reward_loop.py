"""verl's reward workers on a real Ray: one that is killed comes back, and its call in flight with it."""

from __future__ import annotations

import os
import time

import psutil
import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture
def cluster():
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
    yield
    ray.shutdown()


def test_a_dead_reward_worker_comes_back_with_its_configuration_and_its_call(cluster, monkeypatch, tmp_path):
    import ray
    from omegaconf import OmegaConf
    from verl.experimental.reward_loop import reward_loop
    from verl.trainer.ppo.v1 import trainer_base

    from trainer.grpo import reward_loop as ours

    class Worker:
        def __init__(self, config, reward_router_address):
            self.size = len(config.filler)

        async def compute_score(self, data):
            (tmp_path / "begun").write_text(str(os.getpid()))
            while not (tmp_path / "go on").exists():
                time.sleep(0.05)
            return data, self.size

    monkeypatch.setattr(ours, "RewardLoopWorker", Worker)
    monkeypatch.setattr(reward_loop, "resolve_reward_manager_cls", lambda config: None)
    # A whole configuration of verl is as large; from 100 kB on Ray stores an argument as an object of its own.
    config = OmegaConf.create(
        {"reward": {"reward_model": {"enable": False}, "num_workers": 1}, "filler": "x" * 500_000}
    )
    stock = trainer_base.RewardLoopManager
    with ours.restarting_reward_workers(1):
        manager = trainer_base.RewardLoopManager(config=config)
    assert trainer_base.RewardLoopManager is stock
    (worker,) = manager.reward_loop_worker_handles
    assert ray.get_actor("reward_loop_worker_0") == worker
    pending = worker.compute_score.remote("a rollout")
    deadline = time.monotonic() + 60
    while not (tmp_path / "begun").exists():
        assert time.monotonic() < deadline
        time.sleep(0.05)
    time.sleep(2.0)  # Ray forgets the arguments of a constructor some time after it has run
    first = int((tmp_path / "begun").read_text())
    (tmp_path / "begun").unlink()
    ray.kill(worker, no_restart=False)
    while psutil.pid_exists(first):  # Ray kills in its own time: until then the first call could still end
        assert time.monotonic() < deadline
        time.sleep(0.05)
    (tmp_path / "go on").touch()
    assert ray.get(pending, timeout=90) == ("a rollout", 500_000)
    assert (tmp_path / "begun").exists()  # it was called again
