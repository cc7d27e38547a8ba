"""The fleet over Ray actors that stand in for judge servers: moved when they die, in the end given up, counted."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(180)]


@pytest.fixture(scope="module")
def cluster() -> Iterator[None]:
    import ray

    ray.init(address="local", num_cpus=2, include_dashboard=False, object_store_memory=80_000_000, log_to_driver=False)
    yield
    ray.shutdown()


@pytest.fixture
def actors(cluster: None, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """Every actor that a fleet starts from now on, in this order; they hold no server."""
    import ray

    from reward_workers.judges.serving import fleet
    from reward_workers.judges.serving.server_metrics import ServerCounts
    from reward_workers.judges.serving.server_process import ServerStatus

    class Stand:
        def __init__(self, port: int) -> None:
            self.port, self.told = port, ServerStatus("ready", 0)

        def base_url(self) -> str:
            return f"http://10.0.0.1:{self.port}/v1"

        def status(self) -> tuple[ServerStatus, ServerCounts]:
            return self.told, ServerCounts(requests=7, prompt_tokens=70)

        def become(self, state: str, restarts: int, failure: str) -> None:
            self.told = ServerStatus(state, restarts, failure)  # type: ignore[arg-type]

        def metrics(self) -> ServerCounts:
            return ServerCounts(requests=8, prompt_tokens=80)

        def stop(self) -> tuple[ServerStatus, ServerCounts]:
            return self.told, ServerCounts(requests=9, prompt_tokens=90)

    started: list[Any] = []

    def start(settings: Any, serve: Any, log_path: Path) -> Any:
        actor_class: Any = ray.remote(num_cpus=serve.cpus_per_replica)(Stand)
        started.append(actor_class.remote(8000 + len(started)))
        return started[-1]

    monkeypatch.setattr(fleet, "start_actor", start)
    return started


@pytest.fixture
def fleet(actors: list[Any], section: Callable[..., dict[str, Any]], tmp_path: Path) -> Iterator[Any]:
    """A fleet of two replicas, what it said, and what it published."""
    from reward_workers.judges.serving.fleet import JudgeFleet

    serve = {
        "model_path": "m",
        "replicas": 2,
        "gpus_per_replica": 0,
        "cpus_per_replica": 0.5,
        "resources": {},
        "tensor_parallel_size": 1,
        "max_model_len": 512,
        "ready_timeout_s": 60,
        "hung_after_s": 60,
        "max_restarts": 1,
        "idle_priority": False,
        "args": [],
        "env": {},
    }
    said: list[str] = []
    published: list[dict[str, Any]] = []
    judges = {"fallback": section(base_urls=[], serve=serve), "pattern_rm": section(base_urls=["http://far/v1"])}
    made = JudgeFleet(judges, tmp_path, say=said.append, publish=lambda urls: published.append(dict(urls)))
    made.launch()
    made.wait_ready()
    yield made, said, published
    made.stop()


URLS = ["http://10.0.0.1:8000/v1", "http://10.0.0.1:8001/v1", "http://10.0.0.1:8002/v1", "http://10.0.0.1:8003/v1"]


def look_until(fleet: Any, condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 30
    while not condition():
        if time.monotonic() > deadline:
            return False
        fleet.look()
        time.sleep(0.1)
    return True


def wait_until_dead(actor: Any) -> None:
    import ray

    deadline = time.monotonic() + 30
    while time.monotonic() < deadline:
        try:
            ray.get(actor.status.remote())
        except ray.exceptions.ActorDiedError:
            return
    raise AssertionError("the actor still answers")


def last_fallback(published: list[dict[str, Any]]) -> Any:
    return [addresses["fallback"] for addresses in published if "fallback" in addresses][-1]


def health_of(fleet: Any) -> tuple[int, int, int, int]:
    """Replicas, ready ones, restarts and moves of the only judge that is served."""
    (health,) = fleet.health().values()
    return health.replicas, health.ready, health.restarts, health.moves


def test_addresses_are_published_with_those_of_others(fleet: Any) -> None:
    made, said, published = fleet
    assert published[0] == {"pattern_rm": ["http://far/v1"]}
    assert last_fallback(published) == URLS[:2]
    assert any("fallback-1 is ready" in line for line in said)
    assert health_of(made) == (2, 2, 0, 0)


def test_a_replica_whose_actor_dies_moves_and_its_address_with_it(
    fleet: Any, actors: list[Any], tmp_path: Path
) -> None:
    import ray

    made, said, published = fleet
    ray.kill(actors[0])
    assert look_until(made, lambda: len(actors) == 3 and last_fallback(published) == [URLS[2], URLS[1]])
    assert [URLS[1]] in [addresses.get("fallback") for addresses in published]  # nobody is sent to the dead one
    assert any("fallback-0 at http://10.0.0.1:8000/v1: its actor or node is dead" in line for line in said)
    assert made.metrics()["fallback"].requests == 7 + 8 + 8  # of the dead actor, what it told last
    assert look_until(made, lambda: health_of(made) == (2, 2, 0, 1))
    made.stop()
    report = json.loads((tmp_path / "fallback.json").read_text())
    assert report["requests"] == 7 + 9 + 9
    assert [replica["base_url"] for replica in report["replicas"]] == [URLS[0], URLS[2], URLS[1]]
    assert not (tmp_path / "pattern_rm.json").exists()


def test_when_all_are_gone_the_last_addresses_stay_until_there_are_others(fleet: Any, actors: list[Any]) -> None:
    import ray

    made, _, published = fleet
    for actor in actors:
        ray.kill(actor)
    for actor in actors:  # a look that found one of them dead before the other would hand out the ports in that order
        wait_until_dead(actor)
    assert look_until(made, lambda: last_fallback(published) == URLS[2:4])
    assert [] not in [addresses.get("fallback") for addresses in published]
    assert made.lost() is None


def test_a_judge_is_lost_when_every_replica_is_given_up(fleet: Any, actors: list[Any]) -> None:
    import ray

    made, said, published = fleet
    ray.get(actors[1].become.remote("failed", 1, "the server exited with code 1\nlast lines"))
    assert look_until(made, lambda: last_fallback(published) == URLS[:1])
    assert made.lost() is None
    ray.kill(actors[0])
    assert look_until(made, lambda: len(actors) == 3 and last_fallback(published) == [URLS[2]])
    ray.kill(actors[2])  # max_restarts is 1
    assert look_until(made, lambda: made.lost() is not None)
    assert health_of(made) == (2, 0, 1, 1)
    assert "fallback-1 is given up: the server exited with code 1" in made.lost()
    assert "fallback-0 is given up: its actor or node is dead" in made.lost() and "max_restarts" in made.lost()
    assert "judge server fallback-1 is given up after 1 restarts: the server exited with code 1" in said


def test_restarts_in_place_are_told_and_keep_the_address(fleet: Any, actors: list[Any]) -> None:
    import ray

    made, said, published = fleet
    before = len(published)
    ray.get(actors[0].become.remote("starting", 1, "the server exited with code -9"))
    made.look()
    assert health_of(made) == (2, 1, 1, 0)
    ray.get(actors[0].become.remote("ready", 1, "the server exited with code -9"))
    made.look()
    assert "judge server fallback-0: the server exited with code -9; started again (restart 1)" in said
    assert said[-1].startswith("judge server fallback-0 is ready after") and len(published) == before
