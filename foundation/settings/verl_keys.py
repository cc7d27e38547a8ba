"""Keys of verl's tree that would be ignored, or that would contradict this project's sections.

verl 0.9.1 composes many keys that nothing reads. Setting one must not look as if it worked: each is an error that names
the key which does what was meant (docs/decisions.md).
"""

from __future__ import annotations

from typing import Any

from omegaconf import DictConfig, OmegaConf

from foundation.settings.compose import FREEZE_MODULE
from foundation.settings.estimators import check_estimator, estimator_cautions
from foundation.settings.section_check import nearest
from foundation.settings.sections import SECTIONS

VERL_SECTIONS = frozenset(
    {
        "actor_rollout_ref",
        "algorithm",
        "critic",
        "custom_reward_function",
        "data",
        "distillation",
        "global_profiler",
        "model_engine",
        "ray_kwargs",
        "reward",
        "reward_model",
        "sandbox_fusion",
        "skip",
        "trainer",
        "transfer_queue",
    }
)
OUR_SECTIONS = frozenset({*SECTIONS, "judges", "dry_run", "seed"})

LEGACY = {
    "reward_model": "a legacy section of verl that trains nothing here; set judges.pattern_rm and reward_mix",
    "custom_reward_function": "a legacy section of verl that trains nothing here; the reward is reward_mix",
    "sandbox_fusion": "a legacy section of verl that trains nothing here; answers are checked by reward_mix.verifier",
}
"""Top-level sections of verl before 0.9 (trainer/config/legacy_reward_impl.yaml): all null unless somebody sets one."""

MUST_BE: tuple[tuple[str, Any, str], ...] = (
    ("reward.reward_model.enable", False, "verl's single reward model is not used; set judges.pattern_rm"),
    ("reward.custom_reward_function.path", None, "the reward is reward_mix"),
    ("reward.sandbox_fusion.url", None, "answers are checked by reward_mix.verifier"),
    ("reward.reward_manager.source", "importlib", "the reward manager of this project is the only one; set reward_mix"),
    (
        "reward.reward_manager.name",
        "PatternRewardManager",
        "the reward manager of this project is the only one; set reward_mix",
    ),
    (
        "actor_rollout_ref.actor.freeze_vision_tower",
        False,
        "declared by verl and read nowhere; set policy.freeze_vision_tower",
    ),
    (
        "actor_rollout_ref.actor.fsdp_config.dtype",
        "bfloat16",
        "not read by verl's FSDP engine; set policy.update_dtype (it becomes fsdp_config.mixed_precision)",
    ),
    ("actor_rollout_ref.hybrid_engine", True, "the policy and its rollouts share their GPUs here; leave it true"),
    ("trainer.use_v1", True, "only verl's V1 trainer is supported; leave it true"),
    ("trainer.logger", [], "metrics go to the run folder and to tracking.kind; set that"),
    ("trainer.default_hdfs_dir", None, "not read by the V1 trainer; set run.dir to shared storage"),
)
"""(key, the only value that works, what to do instead)."""

MIRRORED = {
    "data.train_files": "corpus.train_files",
    "data.val_files": "corpus.val_files",
    "data.seed": "seed",
    "actor_rollout_ref.model.path": "policy.path",
    "actor_rollout_ref.rollout.dtype": "policy.rollout_dtype",
    "actor_rollout_ref.actor.fsdp_config.mixed_precision.param_dtype": "policy.update_dtype",
    "data.image_patch_size": "policy.image_patch_size",
    "trainer.experiment_name": "run.name",
    "trainer.project_name": "tracking.project",
    "trainer.nnodes": "cluster.policy.nodes",
    "trainer.n_gpus_per_node": "cluster.policy.processes_per_node",
}
"""Keys of verl that are an interpolation of ours: two different values would mean that one of them is ignored."""


def check_verl_keys(config: DictConfig) -> list[str]:
    """Unknown sections, legacy and ignored keys, and keys that disagree with ours; one line each."""
    known = VERL_SECTIONS | OUR_SECTIONS
    problems = [f"{key}: no such section{nearest(key, known)}" for key in map(str, config) if key not in known]
    for section, advice in LEGACY.items():
        if section in config:
            problems += [f"{key}={value!r}: {advice}" for key, value in _leaves(config[section], section)]
    for key, needed, advice in MUST_BE:
        value = OmegaConf.select(config, key)
        if value != needed:
            problems.append(f"{key}={value!r}: {advice}")
    problems += check_estimator(config)
    for key, ours in MIRRORED.items():
        value, expected = OmegaConf.select(config, key), OmegaConf.select(config, ours)
        if value != expected:
            problems.append(f"{key}={value!r} differs from {ours}={expected!r}: set {ours} only")
    external = OmegaConf.select(config, "actor_rollout_ref.model.external_lib")
    imported = [external] if isinstance(external, str) else list(external or [])
    if config.policy.freeze_vision_tower is True and FREEZE_MODULE not in imported:
        problems.append(
            f"actor_rollout_ref.model.external_lib={external!r} leaves out what policy.freeze_vision_tower=true needs: "
            f"set it to a list with {FREEZE_MODULE} in it"
        )
    checkpoints = OmegaConf.select(config, "trainer.default_local_dir")
    if checkpoints != f"{config.run.dir}/checkpoints":
        problems.append(f"trainer.default_local_dir={checkpoints!r}: checkpoints lie in the run folder; set run.dir")
    return problems


def cautions(config: DictConfig) -> list[str]:
    """Settings that run and rarely do what is wanted."""
    found = estimator_cautions(config)
    if config.reward_mix.on_unscored == "count_as_incorrect":
        found.append("reward_mix.on_unscored=count_as_incorrect: a judge that fails looks like a wrong policy")
    return found


def _leaves(node: Any, path: str) -> list[tuple[str, Any]]:
    """Keys below a node that are not null, with their values."""
    if isinstance(node, DictConfig):
        return [leaf for key in map(str, node) for leaf in _leaves(node[key], f"{path}.{key}")]
    return [] if node is None else [(path, node)]
