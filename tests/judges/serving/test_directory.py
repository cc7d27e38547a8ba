"""The addresses of judges: published by the fleet, taken over by workers that have older ones."""

from __future__ import annotations

import pytest

from reward_workers.judges.serving.directory import JudgeDirectory, host_name


def test_a_worker_gets_addresses_once_for_each_change() -> None:
    directory = JudgeDirectory()
    directory.publish({"fallback": ["http://a/v1", "http://b/v1"], "pattern_rm": ["http://c/v1"]})
    first = directory.newer_than(0)
    assert first is not None
    version, addresses = first
    assert addresses == {"fallback": ("http://a/v1", "http://b/v1"), "pattern_rm": ("http://c/v1",)}
    assert directory.newer_than(version) is None
    directory.publish({"fallback": ["http://b/v1", "http://d/v1"]})
    second = directory.newer_than(version)
    assert second is not None
    assert second[1] == {"fallback": ("http://b/v1", "http://d/v1"), "pattern_rm": ("http://c/v1",)}


def test_no_address_is_not_published() -> None:
    with pytest.raises(ValueError, match=r"judges\.fallback"):
        JudgeDirectory().publish({"fallback": []})


def test_two_runs_have_two_names() -> None:
    assert host_name("/data/outputs/a") != host_name("/data/outputs/b")
