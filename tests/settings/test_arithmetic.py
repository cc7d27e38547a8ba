"""Batch arithmetic and GPUs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import pytest
from omegaconf import DictConfig

from foundation.settings.batch import check_batch, check_rows, read_batch
from foundation.settings.run_settings import read_settings
from trainer.checks.placement import check_gpus
from trainer.checks.preflight import gpu_roles

PAPER = "experiment=pattern_rl_qwen3_vl_4b"

Tree = Callable[[Sequence[str]], DictConfig]


def gpu_problems(tree: Tree, *overrides: str) -> list[str]:
    config = tree([PAPER, *overrides])
    settings = read_settings(config)
    return check_gpus(settings, gpu_roles(settings, config))


def test_the_arithmetic_of_the_paper(tree: Tree):
    batch = read_batch(tree([PAPER]))
    length = batch.length(44_200)
    assert batch.rollouts == 1_024
    assert batch.updates == 1
    assert (length.steps, length.prompts, length.binding) == (600, 76_800, "steps")
    assert round(length.epochs, 2) == 1.74
    assert length.steps_by_epochs == 5 * 345  # 221,000 / 128 are 1,726; verl drops each epoch's incomplete batch


def test_few_epochs_end_a_run_before_its_steps(tree: Tree):
    length = read_batch(tree([PAPER, "trainer.total_epochs=1"])).length(44_200)
    assert (length.steps, length.binding) == (345, "epochs")


def test_without_a_number_of_steps_the_epochs_decide(tree: Tree):
    length = read_batch(tree(["trainer.total_training_steps=null", "trainer.total_epochs=2"])).length(100)
    assert (length.steps, length.prompts, length.binding) == (12, 192, "epochs")


@pytest.mark.parametrize(
    ("overrides", "parts"),
    [
        (["data.train_batch_size=24"], ("data.train_batch_size=24", "ppo_mini_batch_size=16", "=12")),
        (["data.train_batch_size=8"], ("data.train_batch_size=8", "ppo_mini_batch_size=16", "=8")),
        (["actor_rollout_ref.actor.ppo_micro_batch_size_per_gpu=7"], ("=7", "128", "set 4")),
        (["actor_rollout_ref.rollout.log_prob_micro_batch_size_per_gpu=48"], ("=48", "128", "set 32")),
        (["cluster.policy.processes_per_node=3"], ("128 rollouts", "3 training processes")),
        (["actor_rollout_ref.rollout.tensor_model_parallel_size=2"], ("tensor_model_parallel_size=2", "1 GPUs")),
        (["actor_rollout_ref.rollout.n=1"], ("rollout.n=1", "at least 2")),
        (["actor_rollout_ref.rollout.max_model_len=100"], ("max_model_len=100", "164")),
        (["data.train_batch_size=0"], ("data.train_batch_size=0", "at least 1")),
        (["trainer.total_training_steps=-1"], ("trainer.total_training_steps=-1", "null")),
    ],
)
def test_sizes_that_do_not_divide(tree: Tree, overrides: list[str], parts: tuple[str, ...]):
    found = check_batch(tree(overrides))
    assert any(all(part in text for part in parts) for text in found), found


def test_the_rows_hold_at_least_one_batch(tree: Tree):
    batch = read_batch(tree([]))
    assert check_rows(batch, 16) == []
    assert "15 rows" in check_rows(batch, 15)[0]


@pytest.mark.parametrize("cluster", ["one_node_8gpu", "two_nodes_16gpu", "four_nodes_32gpu"])
def test_every_shipped_cluster_is_full_and_fits(tree: Tree, cluster: str):
    config = tree([PAPER, f"cluster={cluster}"])
    settings = read_settings(config)
    assert check_batch(config) == []
    assert gpu_problems(tree, f"cluster={cluster}") == []
    asked = sum(role.total for role in gpu_roles(settings, config))
    assert asked == settings.cluster.nodes * 8


def test_more_gpus_asked_than_given_shows_the_sum(tree: Tree):
    text = gpu_problems(tree, "cluster.judge_replicas.pattern_rm=9")[0]
    assert "policy 1 x 8 = 8 + fallback 3 x 1 = 3 + pattern_rm 9 x 1 = 9: 20 GPUs asked" in text
    assert "2 nodes x 8 = 16 given" in text


def test_a_replica_must_fit_on_one_node(tree: Tree):
    # 6 + 6 policy GPUs leave 2 + 2: enough in sum for one replica of 4, too little on a node.
    text = gpu_problems(
        tree,
        "cluster.policy.nodes=2",
        "cluster.policy.processes_per_node=6",
        "cluster.judge_replicas.fallback=1",
        "judges.fallback.serve.gpus_per_replica=4",
        "judges.fallback.serve.tensor_parallel_size=4",
        "judges.pattern_rm.serve.gpus_per_replica=0",
    )[0]
    assert "a block of 4 GPUs of fallback" in text


def test_policy_nodes_must_exist(tree: Tree):
    assert "policy" in gpu_problems(tree, "cluster.policy.nodes=3", "cluster.policy.processes_per_node=2")[0]


def test_base_rl_leaves_the_gpus_of_the_pattern_judge_free(tree: Tree):
    config = tree([PAPER, "reward_mix=base_rl"])
    names = [role.name for role in gpu_roles(read_settings(config), config)]
    assert names == ["policy", "fallback"]


SPLIT = "cluster=split_three_nodes_24gpu"


def test_a_split_keeps_judges_and_policy_apart(tree: Tree):
    assert gpu_problems(tree, SPLIT) == []
    # 22 of 24 GPUs, but the policy's second block would need the judges' node.
    (problem,) = gpu_problems(tree, SPLIT, "cluster.judge_nodes=2", "cluster.judge_replicas.pattern_rm=3")
    assert "2 of 3 nodes kept for judges" in problem and "block of 8 GPUs of policy" in problem
    (problem,) = gpu_problems(tree, SPLIT, "cluster.nodes=4", "cluster.judge_replicas.fallback=4")
    assert "block of 1 GPUs of pattern_rm" in problem or "block of 1 GPUs of fallback" in problem
    (problem,) = gpu_problems(tree, SPLIT, "cluster.judge_nodes=3")
    assert "leaves none for the policy" in problem


def test_judges_of_a_split_fit_on_a_node_without_cpu_slots(tree: Tree):
    """Nothing else of a run is placed there then, and the run outlives the node."""
    config = tree([PAPER, SPLIT])
    assert [config.judges[name].serve.cpus_per_replica for name in ("fallback", "pattern_rm")] == [0, 0]


def test_a_split_needs_judges_that_stay_on_their_nodes(tree: Tree):
    problems = gpu_problems(tree, "cluster=two_nodes_16gpu", "cluster.judge_nodes=1")
    assert [problem.split()[0] for problem in problems] == [
        "judges.fallback.serve.resources",
        "judges.pattern_rm.serve.resources",
    ]
    assert "add +judges.fallback.serve.resources.judge_node=1" in problems[0]
