"""Composition of a run's configuration from `configs/` and verl's own tree, without importing verl.

    config = compose_config(["experiment=quickstart", "reward_mix=base_rl"])

Whoever composes the tree (entry point, sweeps, tests, benchmarks) goes through this module: it registers the resolvers
that the YAML files use and turns Hydra's errors into one line that names the key and the nearest right one.
"""

from __future__ import annotations

import importlib.util
import math
import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, cast

import hydra
from hydra import compose, initialize_config_dir
from hydra.core.global_hydra import GlobalHydra
from hydra.errors import HydraException
from omegaconf import DictConfig, ListConfig, OmegaConf
from omegaconf.errors import OmegaConfBaseException

from foundation.labels import LABELS
from foundation.responses.modes import chat_template_kwargs
from foundation.settings.section_check import nearest

ROOT = Path(__file__).resolve().parents[2]
"""The checkout (or the folder of an install): holds configs/, assets/, outputs/."""

CONFIG_DIR = ROOT / "configs"
CONFIG_NAME = "train"
LAUNCH_SECTIONS = ("launch", "sweep", "render")
"""Sections of `configs/launch.yaml`: settings of the job's submission, which a run does not have."""

OWN_MODEL = (
    "for another model choose one of these, or model=hosted for an endpoint, and set model.name, model.family, "
    "model.decoding.{nt,t} as its model card gives them, and model.servers"
)
"""What to do where `configs/evaluation/model` has no file: decoding is never guessed."""

FREEZE_MODULE = "rollout_workers.freeze_vision_on"


class ConfigError(ValueError):
    """Settings or inputs that cannot run. `problems` holds one line each: key or file, value, what to do."""

    def __init__(self, problems: Sequence[str]) -> None:
        super().__init__("\n".join(problems))
        self.problems = tuple(problems)


def verl_config_dir() -> str:
    """Folder of verl's trainer configuration, found without running verl/__init__.py (torch and ray, seconds).

    Raises:
        ConfigError: verl is not installed.
    """
    spec = importlib.util.find_spec("verl")
    if spec is None or spec.origin is None:
        raise ConfigError(["verl is not installed in this environment: make install, or make install-light"])
    return str(Path(spec.origin).parent / "trainer" / "config")


def torch_device(device: str) -> str:
    """verl's name (`trainer.device`) of a `cluster.device`; an unknown one passes through to the typed check."""
    return {"gpu": "cuda"}.get(device, device)


def freeze_module(frozen: object) -> str | None:
    """Module that verl's workers import (`model.external_lib`) so that `policy.freeze_vision_tower` freezes."""
    return FREEZE_MODULE if frozen is True else None


def _mode_kwargs(family: str, mode: str) -> DictConfig:
    return OmegaConf.create(chat_template_kwargs(family, mode))


def register_resolvers() -> None:
    """Register the `${patternrl.*:}` resolvers of the YAML files; calling it again changes nothing."""
    OmegaConf.register_new_resolver("patternrl.root", lambda: str(ROOT), replace=True)
    OmegaConf.register_new_resolver("patternrl.verl_config", verl_config_dir, replace=True)
    OmegaConf.register_new_resolver("patternrl.torch_device", torch_device, replace=True)
    OmegaConf.register_new_resolver("patternrl.mode_kwargs", _mode_kwargs, replace=True)
    OmegaConf.register_new_resolver("patternrl.freeze_module", freeze_module, replace=True)
    OmegaConf.register_new_resolver("patternrl.product", lambda *factors: math.prod(factors), replace=True)


def compose_config(overrides: Sequence[str] = (), folder: Path = CONFIG_DIR, name: str = CONFIG_NAME) -> DictConfig:
    """Compose the tree as `python -m trainer.main <overrides>` does.

    Args:
        overrides: Hydra overrides, `group=option` and `key=value`.
        folder, name: the primary configuration of another command.

    Returns:
        The composed tree: struct mode, interpolations unresolved.

    Raises:
        ConfigError: an override names a key, group or option that does not exist.
    """
    register_resolvers()
    if GlobalHydra.instance().is_initialized():
        raise RuntimeError("compose_config cannot run inside another Hydra application")
    try:
        with initialize_config_dir(config_dir=str(folder), version_base="1.3", job_name="trainer.main"):
            return compose(config_name=name, overrides=list(overrides))
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError([explain(error)]) from error


def compose_command_line(folder: Path, name: str) -> DictConfig | None:
    """Compose what the command line of this process asks for, as an application of Hydra.

    Args:
        folder, name: of the command's primary configuration.

    Returns:
        The composed tree, or None where `--help`, `--cfg` and the like have printed what they had to.

    Raises:
        ConfigError: an override names a key, group or option that does not exist.
    """
    register_resolvers()
    composed: list[DictConfig] = []
    try:
        with hydra_raises():
            hydra.main(version_base="1.3", config_path=str(folder), config_name=name)(composed.append)()
    except (HydraException, OmegaConfBaseException) as error:
        raise ConfigError([explain(error)]) from error
    return composed[0] if composed else None


def plain_settings(config: DictConfig) -> dict[str, Any]:
    """A tree as plain data, interpolations resolved.

    Raises:
        ConfigError: a mandatory value is missing, or an interpolation leads nowhere.
    """
    try:
        return cast(dict[str, Any], OmegaConf.to_container(config, resolve=True, throw_on_missing=True))
    except OmegaConfBaseException as error:
        raise ConfigError([explain(error)]) from error


@contextmanager
def hydra_raises() -> Iterator[None]:
    """Let Hydra raise its errors instead of printing them and exiting with 1 (hydra/_internal/utils.py:222)."""
    before = os.environ.get("HYDRA_FULL_ERROR")
    os.environ["HYDRA_FULL_ERROR"] = "1"
    try:
        yield
    finally:
        if before is None:
            del os.environ["HYDRA_FULL_ERROR"]
        else:
            os.environ["HYDRA_FULL_ERROR"] = before


def anchor_paths(config: DictConfig) -> None:
    """Make the paths of a composed tree absolute, in place.

    Relative ones are meant from where the command was typed, and Ray's workers run elsewhere. Hub ids stay; values of
    another type than text are left for the typed check.
    """
    config.run.dir = _absolute(config.run.dir)
    for section, key in (
        (config.corpus, "train_files"),
        (config.corpus, "val_files"),
        (config.pattern_eval, "prompts"),
    ):
        paths = section[key]
        section[key] = [_absolute(path) for path in paths] if isinstance(paths, ListConfig) else _absolute(paths)
    config.policy.path = _absolute_model(config.policy.path)
    for judge in config.judges.values():
        if isinstance(judge, DictConfig) and isinstance(judge.get("serve"), DictConfig):
            judge.serve.model_path = _absolute_model(judge.serve.model_path)


def is_hub_id(model: str) -> bool:
    """Whether a model is named `owner/name` on a hub and not by a folder.

    >>> is_hub_id("Qwen/Qwen3-VL-4B-Instruct"), is_hub_id("./my/model"), is_hub_id("models/a/b")
    (True, False, False)
    """
    owner, slash, name = model.partition("/")
    plain = bool(owner and slash and name) and "/" not in name and owner[0] not in ".~"
    return plain and not Path(owner).is_dir()


def _absolute(path: Any) -> Any:
    return str(Path(path).expanduser().absolute()) if isinstance(path, str) and path else path


def _absolute_model(model: Any) -> Any:
    return model if isinstance(model, str) and is_hub_id(model) else _absolute(model)


def explain(error: Exception) -> str:
    """One line for an error of Hydra or OmegaConf: what was written, why it fails, the nearest right spelling."""
    cause: BaseException = error
    while cause.__cause__ is not None and not isinstance(cause, OmegaConfBaseException):
        cause = cause.__cause__
    if isinstance(cause, OmegaConfBaseException) and cause.full_key:
        full_key, parent = str(cause.full_key), cause.parent_node
        if "is not in struct" in str(cause):
            leaf = str(cause.key)
            siblings = [str(key) for key in parent] if isinstance(parent, DictConfig) else []
            where = full_key.rpartition(".")[0]
            if full_key in LAUNCH_SECTIONS:
                return f"{full_key}: a setting of python -m launch.submit; a run has no such key"
            if not where:
                return f"{full_key}: no such key or group{nearest(leaf, {*siblings, *config_groups()})}"
            if leaf in LABELS and set(siblings) <= set(LABELS):
                return f"{full_key}: not set so far; to set it write +{full_key}=..., or add it to the YAML file"
            if where.endswith((".env", ".env_vars")):
                return f"{full_key}: not set so far; to add an environment variable write +{full_key}=..."
            return f"{full_key}: no such key in {where}{nearest(leaf, siblings)}"
        return f"{full_key}: {first_line(cause)}"
    text = str(error)
    group = re.search(r"Could not override '([^']+)'\. No match in the defaults list", text)
    if group:
        if group[1] in LAUNCH_SECTIONS:
            return f"{group[1]}: a setting of python -m launch.submit; a run has no such group"
        return f"{group[1]}: no such key or group{nearest(group[1].split('.')[0], config_groups())}"
    option = re.search(r"Could not find '([^']+)/([^'/]+)'", text)
    if option:
        options = [
            path.stem for root in (CONFIG_DIR, CONFIG_DIR / "evaluation") for path in (root / option[1]).glob("*.yaml")
        ]
        found = f"{option[1]}={option[2]}: no such option{nearest(option[2], options)}"
        return f"{found}; {OWN_MODEL}" if option[1] == "model" else found
    if isinstance(cause, ConfigError):
        return str(cause)
    return f"{first_line(error)} (write overrides as key=value or group=option, in quotes where they hold blanks)"


def config_groups() -> list[str]:
    """Names of this project's groups, such as `reward_mix` and `reward_mix/schedule`."""
    return sorted(path.relative_to(CONFIG_DIR).as_posix() for path in CONFIG_DIR.rglob("*") if path.is_dir())


def first_line(error: Exception) -> str:
    """The first line of a message, without a trailing full stop."""
    return str(error).strip().splitlines()[0].rstrip(".") if str(error).strip() else type(error).__name__
