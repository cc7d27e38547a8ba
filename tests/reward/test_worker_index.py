"""Which reward worker a process is, by the name that verl gives to its actor."""

import importlib.util
from pathlib import Path

import pytest

from reward_workers.worker_index import worker_index


def test_the_index_is_in_the_name():
    assert [worker_index(f"reward_loop_worker_{i}") for i in (0, 7, 12)] == [0, 7, 12]


@pytest.mark.parametrize("name", [None, "", "reward_loop_worker_", "reward_loop_worker_1_2", "agent_loop_worker_1"])
def test_another_actor_is_none(name):
    with pytest.raises(RuntimeError, match="no reward worker"):
        worker_index(name)


def test_verl_still_names_its_workers_so():
    spec = importlib.util.find_spec("verl")
    assert spec is not None and spec.origin is not None
    source = Path(spec.origin).parent / "experimental" / "reward_loop" / "reward_loop.py"
    assert 'name=f"reward_loop_worker_{i}"' in source.read_text()
