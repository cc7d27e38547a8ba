"""The verifier in an async Ray actor: a thousand items side by side, ten of them hostile."""

import asyncio
import time
from collections.abc import Iterator
from typing import Any

import psutil
import pytest

pytestmark = [pytest.mark.integration, pytest.mark.timeout(400)]

CONCURRENCY = 64


@pytest.fixture(scope="module")
def actor() -> Iterator[Any]:
    import ray

    from benchmarks.verifier_ray import start_actor, start_ray

    start_ray()
    try:
        yield start_actor(CONCURRENCY, symbolic_workers=1, symbolic_timeout_s=20.0)
    finally:
        ray.shutdown()


def test_no_honest_item_is_lost_or_wrong(actor: Any) -> None:
    from benchmarks.verifier_ray import ask_all, faults, make_items

    items = make_items(1000, hostile_every=100, symbolic_every=50)
    kinds = [item.kind for item in items]
    assert (kinds.count("hostile"), kinds.count("symbolic")) == (10, 20)
    answered = asyncio.run(ask_all(actor, items, CONCURRENCY, deadline_s=300.0))
    assert faults(answered) == []
    assert {each.item for each in answered} == set(items)
    asked = [each.verdict.stage for each in answered if each.item.kind == "symbolic" and each.verdict is not None]
    assert asked == ["symbolic"] * 20


def test_children_end_with_the_actor(actor: Any) -> None:
    import ray

    assert ray.get(actor.verify.remote(r"\boxed{(y-1)(y+4)}", "y^2+3y-4")).value == 1
    pids = ray.get(actor.children.remote())
    assert pids
    ray.kill(actor)
    deadline = time.monotonic() + 20
    while any(psutil.pid_exists(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.1)
    assert not any(psutil.pid_exists(pid) for pid in pids)
