"""The typed check of every setting that is this project's own: types, ranges, and what must fit together.

Pure: imports neither torch, ray, verl, vllm nor wandb. The YAML files under `configs/` hold every default; a model here has none.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from omegaconf import DictConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException
from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from reward_workers.judges.settings import JudgeSettings
from rollout_workers.families import check_mode, get_family
from trainer.compose import ConfigError, explain, nearest

Positive = Annotated[int, Field(ge=1)]
Count = Annotated[int, Field(ge=0)]
Share = Annotated[float, Field(ge=0, le=1)]
Seconds = Annotated[float, Field(gt=0)]
Weight = Annotated[float, Field(ge=0)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]*$")]

JUDGES = ("fallback", "pattern_rm")


class Section(BaseModel):
    """A section of the configuration: immutable, every key required, no other key allowed."""

    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Run(Section):
    name: Name
    dir: Annotated[str, Field(min_length=1)]
    stall_timeout_s: Seconds


class Policy(Section):
    """The model that is trained (R54). `update_dtype`: parameters in the FSDP pass; `rollout_dtype`: vLLM."""

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
    train_files: str | list[str]
    val_files: str | list[str]
    train_rows: Positive | None
    oracle: Annotated[str, Field(pattern=r"^[\w.]+:\w+$")] | None


class Weights(Section):
    cot: Weight
    rep: Weight
    con: Weight
    pr: Weight


class GateSettings(Section):
    probability: Share
    scope: Literal["rollout", "group"]
    seed: int


class VerifierSettings(Section):
    symbolic: bool
    symbolic_timeout_s: Seconds
    symbolic_workers: Positive
    max_answer_chars: Positive


class RewardMix(Section):
    """r = clip(s_ver + s_pat, 0, 1), s_pat = -z * min(cap, sum_p w_p b_p) (R50, R51)."""

    name: Name
    pattern_penalty: bool
    weights: Weights
    cap: Share
    gate: GateSettings
    threshold: Share
    score_incorrect: bool
    on_unscored: Literal["drop_group", "abort", "count_as_incorrect"]
    max_wait_s: Seconds
    verifier: VerifierSettings


class PolicyPlacement(Section):
    nodes: Positive
    processes_per_node: Positive


class JudgeReplicas(Section):
    fallback: Positive
    pattern_rm: Positive


class Cluster(Section):
    """What exists and who gets it. On `device: gpu` a training process takes one GPU."""

    name: Name
    device: Literal["cpu", "gpu"]
    nodes: Positive
    gpus_per_node: Count
    policy: PolicyPlacement
    judge_replicas: JudgeReplicas


class Tracking(Section):
    kind: Literal["wandb", "tensorboard", "none"]
    project: Annotated[str, Field(min_length=1)]
    entity: str | None
    group: str | None
    tags: list[str]
    rollout_table_every: Count
    rollout_table_rows: Positive
    loggers: list[str]


@dataclass(frozen=True, slots=True)
class Settings:
    """The checked settings of one run. `pattern_rm` is None without a pattern penalty: nothing asks that judge."""

    dry_run: bool
    seed: int
    run: Run
    policy: Policy
    corpus: Corpus
    reward_mix: RewardMix
    cluster: Cluster
    tracking: Tracking
    fallback: JudgeSettings
    pattern_rm: JudgeSettings | None

    @property
    def judges(self) -> dict[str, JudgeSettings]:
        """The judges that this run asks, by name."""
        asked = {"fallback": self.fallback}
        return asked if self.pattern_rm is None else {**asked, "pattern_rm": self.pattern_rm}


SECTIONS: dict[str, type[Section]] = {
    "run": Run,
    "policy": Policy,
    "corpus": Corpus,
    "reward_mix": RewardMix,
    "cluster": Cluster,
    "tracking": Tracking,
}


def read_settings(config: DictConfig) -> Settings:
    """Check this project's sections of a composed tree.

    Raises:
        ConfigError: one line for every problem: key, value, what to set.
    """
    problems: list[str] = []
    plain = {name: _plain(config, name, problems) for name in (*SECTIONS, "judges")}
    sections = {
        name: _collect(lambda name=name: SECTIONS[name].model_validate(plain[name]), name, problems)
        for name in SECTIONS
        if plain[name] is not None
    }
    for key, kind in (("dry_run", bool), ("seed", int)):
        if type(config[key]) is not kind:
            problems.append(f"{key}={config[key]!r}: set {'true or false' if kind is bool else 'a whole number'}")
    mix = sections.get("reward_mix")
    penalised = mix.pattern_penalty if isinstance(mix, RewardMix) else True
    judges = _read_judges(plain["judges"] or {}, penalised, problems)
    if isinstance(mix, RewardMix):
        problems += _check_reward(mix)
    if problems:
        raise ConfigError(problems)
    settings = Settings(
        dry_run=config.dry_run,
        seed=config.seed,
        fallback=judges["fallback"],
        pattern_rm=judges.get("pattern_rm"),
        **sections,  # type: ignore[arg-type]
    )
    problems = _check_judges(settings)
    if problems:
        raise ConfigError(problems)
    return settings


def _plain(config: DictConfig, name: str, problems: list[str]) -> Any:
    try:
        return OmegaConf.to_container(config[name], resolve=True, throw_on_missing=True)
    except OmegaConfBaseException as error:
        problems.append(explain(error))
        return None


def _collect(check: Callable[[], Section], name: str, problems: list[str]) -> Section | None:
    try:
        return check()
    except ValidationError as error:
        problems += [_one_line(name, dict(detail)) for detail in error.errors()]
        return None


def _one_line(section: str, detail: Mapping[str, Any]) -> str:
    """A pydantic error as `key=value: what to do`."""
    path = [section, *(str(part) for part in detail["loc"] if not str(part).startswith(("constrained-", "list[")))]
    key = ".".join(path)
    if detail["type"] == "extra_forbidden":
        return f"{key}: no such key in {'.'.join(path[:-1])}{nearest(path[-1], _keys_of(path[:-1]))}"
    if detail["type"] == "missing":
        return f"{key} is missing: set it"
    message = str(detail["msg"]).removeprefix("Value error, ")
    return f"{key}={detail['input']!r}: {message[:1].lower()}{message[1:]}"


def _keys_of(path: list[str]) -> list[str]:
    """The keys of a section by its path, such as ["reward_mix", "gate"]."""
    model: Any = SECTIONS[path[0]]
    for part in path[1:]:
        model = model.model_fields[part].annotation
    return list(model.model_fields)


def _read_judges(plain: Mapping[str, Any], penalised: bool, problems: list[str]) -> dict[str, JudgeSettings]:
    problems += [f"judges.{name}: no such judge{nearest(name, JUDGES)}" for name in plain if name not in JUDGES]
    judges = {}
    for name in JUDGES if penalised else JUDGES[:1]:
        if plain.get(name) is None:
            problems.append(f"judges.{name} is missing: choose judge=toy, judge=cluster or judge=external")
            continue
        try:
            judges[name] = JudgeSettings.from_config(plain[name], name)
        except ValueError as error:
            problems.append(str(error))
    return judges


def _check_reward(mix: RewardMix) -> list[str]:
    problems = []
    if mix.pattern_penalty and (mix.gate.probability == 0 or mix.cap == 0):
        key = "gate.probability" if mix.gate.probability == 0 else "cap"
        problems.append(
            f"reward_mix.{key}=0 never penalises, yet serves PatternRM: choose reward_mix=base_rl, or all four weights "
            "0 to watch the labels without a penalty"
        )
    if mix.score_incorrect and not mix.pattern_penalty:
        problems.append(
            "reward_mix.score_incorrect=true needs PatternRM, and reward_mix.pattern_penalty=false serves none: set "
            "pattern_penalty=true with all four weights 0 to watch the labels without a penalty"
        )
    return problems


def _check_judges(settings: Settings) -> list[str]:
    problems = []
    for name, judge in settings.judges.items():
        where = f"judges.{name}"
        if judge.serve is not None and judge.base_urls:
            problems.append(f"{where} has both base_urls and serve: set {where}.serve=null to use the endpoints")
        if judge.total_timeout_s > settings.reward_mix.max_wait_s:
            problems.append(
                f"{where}.total_timeout_s={judge.total_timeout_s:g} is above reward_mix.max_wait_s="
                f"{settings.reward_mix.max_wait_s:g}: a rollout would be given up first; lower the one or raise the other"
            )
        if judge.serve is None:
            continue
        gpus, tensor_parallel = judge.serve.gpus_per_replica, judge.serve.tensor_parallel_size
        if settings.cluster.device == "cpu" and gpus > 0:
            problems.append(
                f"{where}.serve.gpus_per_replica={gpus:g} on cluster.device=cpu: choose judge=toy, or judge=external"
            )
        if settings.cluster.device == "gpu" and gpus > 0 and tensor_parallel > max(gpus, 1):
            problems.append(
                f"{where}.serve.tensor_parallel_size={tensor_parallel} needs as many GPUs a replica: set "
                f"{where}.serve.gpus_per_replica={tensor_parallel}"
            )
    return problems
