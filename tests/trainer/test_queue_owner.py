"""What this project relies on in TransferQueue: one name in a cluster, and no storage on nodes without CPU slots."""

from __future__ import annotations

import inspect

import pytest

pytestmark = pytest.mark.integration


def test_a_second_job_of_a_cluster_is_refused(monkeypatch):
    import ray.util

    from trainer.frame.queue_owner import require_free_queue

    named = [{"name": "reward_loop_worker_0", "namespace": "a"}, {"name": "TransferQueueController", "namespace": "b"}]
    monkeypatch.setattr(ray.util, "list_named_actors", lambda all_namespaces: named)
    require_free_queue()
    named.append({"name": "TransferQueueController", "namespace": "transfer_queue"})
    with pytest.raises(RuntimeError, match="another job trains on this Ray cluster"):
        require_free_queue()


def test_the_name_is_the_one_that_transfer_queue_looks_for():
    from transfer_queue import interface

    call = 'ray.get_actor("TransferQueueController", namespace="transfer_queue")'
    assert call in inspect.getsource(interface._init_from_existing)


def test_rollouts_are_stored_on_nodes_with_cpu_slots_only(monkeypatch):
    """The judges' nodes of a split cluster have none, and an actor that takes one cannot start there."""
    from transfer_queue.utils import common

    from foundation.settings.compose import compose_config

    judges, policy = "a" * 56, "b" * 56
    nodes = [
        {"NodeID": judges, "Alive": True, "Resources": {"GPU": 8.0, "judge_node": 8.0}},
        {"NodeID": policy, "Alive": True, "Resources": {"CPU": 64.0, "GPU": 8.0}},
    ]
    monkeypatch.setattr(common.ray, "nodes", lambda: nodes)
    storage = compose_config(["experiment=pattern_rl_qwen3_vl_4b", "dry_run=true"]).transfer_queue.backend.SimpleStorage
    places = common.get_node_round_robin_scheduling_strategies(4, storage.required_node_resource)
    assert {place.node_id for place in places} == {policy}
