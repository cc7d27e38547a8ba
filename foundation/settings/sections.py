"""The types of this project's sections of the configuration: keys, value types and ranges.

Pure: imports neither torch, ray, verl, vllm nor wandb. The YAML files under `configs/` hold every default; a model here
has none. The judges' sections are typed where they are used, in `foundation.settings.judges`.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, field_validator

from foundation.responses.families import MODES, Mode, check_mode, get_family
from foundation.settings.by_label import by_label
from foundation.settings.schedule_section import Schedule

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]


def _as_paths(value: Any) -> tuple[str, ...]:
    paths = [value] if isinstance(value, str) else value
    if not isinstance(paths, list) or not paths or not all(isinstance(path, str) and path for path in paths):
        raise ValueError("set the path of a parquet file or a list of paths")
    return tuple(paths)


def _as_modes(value: Any) -> tuple[Mode, ...]:
    if not isinstance(value, list) or not value or len(set(map(str, value))) != len(value):
        raise ValueError("set [nt, t], [nt] or [t]")
    chosen = {check_mode(str(mode)) for mode in value}
    return tuple(mode for mode in MODES if mode in chosen)


Files = Annotated[tuple[str, ...], BeforeValidator(_as_paths)]
OptionalFiles = Annotated[
    tuple[str, ...] | None, BeforeValidator(lambda value: None if value is None else _as_paths(value))
]
Modes = Annotated[tuple[Mode, ...], BeforeValidator(_as_modes)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]


class Section(BaseModel):
    """A section of the configuration: immutable, every key required, no other key allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Run(Section):
    name: Name
    dir: Annotated[str, Field(min_length=1)]
    stall_timeout_s: Seconds
    reward_worker_restarts: Count
    worker_output: bool


class Policy(Section):
    """The model that is trained. `update_dtype`: parameters in the FSDP pass; `rollout_dtype`: vLLM."""

    name: Name
    path: Annotated[str, Field(min_length=1)]
    family: str
    mode: str
    freeze_vision_tower: bool
    image_patch_size: Positive
    rollout_dtype: Literal["float32", "bfloat16", "float16"]
    update_dtype: Literal["fp32", "bf16"]

    @field_validator("family")
    @classmethod
    def _known_family(cls, family: str) -> str:
        return get_family(family).name

    @field_validator("mode")
    @classmethod
    def _known_mode(cls, mode: str) -> str:
        return check_mode(mode)


class Corpus(Section):
    """Parquet files of prompts. `train_rows`: expected rows, used by plans where the file is on another machine."""

    name: Name
    dir: str | None = None
    train_files: Files
    val_files: Files
    train_rows: Positive | None
    oracle: Annotated[str, Field(pattern=r"^[\w.]+:\w+$")] | None


class Weights(by_label(Section, Weight)):  # type: ignore[misc]
    """What each label costs."""


class GateSettings(Section):
    probability: Share
    scope: Literal["rollout", "group"]
    seed: int


class Thresholds(by_label(Section, Share)):  # type: ignore[misc]
    """The probability above which each label is set."""


class LabelSettings(Section):
    """Whose labels the penalty charges (`reward_workers.label_source`)."""

    source: Literal["pattern_rm", "rules", "union", "agreement"]


class VerifierSettings(Section):
    symbolic: bool
    symbolic_timeout_s: Seconds
    symbolic_workers: Positive
    max_answer_chars: Positive


class RewardMix(Section):
    """r = clip(s_ver + s_pat, 0, 1), s_pat = -z * min(cap, sum_p w_p b_p) (the paper)."""

    name: Name
    pattern_penalty: bool
    weights: Weights
    schedule: Schedule
    cap: Share
    gate: GateSettings
    penalty: Literal["hard", "expected"]
    threshold: Thresholds
    labels: LabelSettings
    score_incorrect: bool
    on_unscored: Literal["drop_group", "abort", "count_as_incorrect"]
    max_wait_s: Seconds
    verifier: VerifierSettings

    @property
    def asks_pattern_rm(self) -> bool:
        """Whether PatternRM is served and asked."""
        return self.pattern_penalty and self.labels.source != "rules"


class PolicyPlacement(Section):
    nodes: Positive
    processes_per_node: Positive


class Cluster(Section):
    """What exists and who gets it. On `device: gpu` a training process takes one GPU.

    `judge_nodes` of the nodes are kept for judges, by Ray's resource `judge_node`; 0: no node is. `judge_replicas`:
    servers of a judge, by the key of its section.
    """

    name: Name
    device: Literal["cpu", "gpu"]
    nodes: Positive
    gpus_per_node: Count
    judge_nodes: Count
    policy: PolicyPlacement
    judge_replicas: dict[str, Positive]


class JudgeCache(Section):
    """Results of judges on disk; `size_limit_gb` bounds the folder of one node, in 10^9 bytes."""

    enabled: bool
    folder: Annotated[str, Field(min_length=1)]
    size_limit_gb: Annotated[float, Field(ge=0.001)]


class PatternEval(Section):
    """Paired evaluation while training (`trainer.grpo.paired_evaluation`).

    `every`: steps between two evaluations, 0 for none. `modes`: in the order non-thinking, thinking. `prompts`: parquet
    files, None for those of `corpus.val_files`. `max_prompts`: the first so many, None for all.
    """

    every: Count
    modes: Modes
    prompts: OptionalFiles
    max_prompts: Positive | None


class Tracking(Section):
    kind: Literal["wandb", "tensorboard", "none"]
    project: Annotated[str, Field(min_length=1)]
    entity: str | None
    group: str | None
    tags: list[str]
    rollout_table_every: Count
    rollout_table_rows: Positive


SECTIONS: dict[str, type[Section]] = {
    "run": Run,
    "policy": Policy,
    "corpus": Corpus,
    "reward_mix": RewardMix,
    "cluster": Cluster,
    "judge_cache": JudgeCache,
    "pattern_eval": PatternEval,
    "tracking": Tracking,
}
