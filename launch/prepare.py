"""A run as it will be submitted: composed and checked here by the trainer's own functions, with plan and upload."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console

from foundation.settings.compose import ROOT, ConfigError, compose_config
from foundation.settings.run_settings import Settings
from launch.cluster import capacity_problems, living_nodes
from launch.job import JobSpec
from launch.secrets import missing, secrets_of
from launch.settings import Launch
from launch.upload import Upload, measure
from trainer.checks.plan import Plan
from trainer.main import prepare

ASSETS = "assets/"
PLAIN = re.compile(r"^[A-Za-z0-9_./${}-]+$")
Compose = Callable[[Sequence[str]], DictConfig]


@dataclass(frozen=True, slots=True)
class Prepared:
    """A checked run. `config` is its finished tree; `notes` are remarks beside those of the plan."""

    spec: JobSpec
    settings: Settings
    config: DictConfig
    plan: Plan
    upload: Upload
    notes: tuple[str, ...]

    def print(self, console: Console) -> None:
        self.plan.print(console)
        console.print(f"upload      {self.upload}", markup=False)
        for note in self.notes:
            console.print(f"note: {note}", markup=False)


def override(key: str, value: str) -> str:
    """`key=value` in Hydra's grammar, quoted where it must be.

    >>> override("run.dir", "/shared/a b")
    "run.dir='/shared/a b'"
    """
    if PLAIN.match(value):
        return f"{key}={value}"
    escaped = value.replace("\\", "\\\\").replace("'", "\\'")
    return f"{key}='{escaped}'"


def without_dry_run(overrides: Sequence[str]) -> tuple[list[str], bool]:
    """Overrides without `dry_run=...`, and whether it was true."""
    kept = [text for text in overrides if not text.startswith("dry_run=")]
    return kept, any(text.lower() == "dry_run=true" for text in overrides)


def prepare_run(overrides: Sequence[str], launch: Launch, compose: Compose = compose_config) -> Prepared:
    """Compose a run as its job will be started, and check it.

    Its folder is below `launch.runs_dir` unless `run.dir` is given. Files that are not on this machine are notes, for
    the job runs elsewhere; it looks for them when it starts (`launch.job_start`).

    Args:
        overrides: the command line of the run, without `dry_run`.
        compose: composes the tree of some overrides.

    Raises:
        ConfigError: one line for every problem.
    """
    given = [text for text in overrides if text.startswith("run.dir=")]
    others = [text for text in overrides if text not in given]
    folder = given[-1] if given else override("run.dir", f"{launch.runs_dir}/${{run.name}}")
    config = compose([*others, folder, "dry_run=true"])
    settings, plan = prepare(config)
    problems, notes = [], []
    if not Path(launch.runs_dir).is_absolute():
        problems.append(f"launch.runs_dir={launch.runs_dir}: set an absolute path, which means the same on every node")
    if config.ray_kwargs.ray_init.get("address") == "local":
        problems.append(
            f"ray_kwargs.ray_init.address=local (cluster={settings.cluster.name}): the job would start a Ray of its "
            "own beside the cluster's: choose cluster=ray_cpu, or a cluster with GPUs"
        )
    variables, secret_problems, secret_notes = _variables(settings, launch)
    problems += secret_problems
    notes += secret_notes
    excludes = [*launch.excludes, *([] if _uses_assets(settings) else [ASSETS])]
    upload = measure(ROOT, excludes)
    problems += upload.problems(launch.upload_limit_mb)
    if problems:
        raise ConfigError(problems)
    runtime_env: dict[str, Any] = {"working_dir": str(ROOT), "excludes": excludes, "env_vars": variables}
    command = (*others, override("run.dir", settings.run.dir))
    spec = JobSpec(settings.run.name, settings.run.dir, command, runtime_env)
    return Prepared(spec, settings, config, plan, upload, tuple(notes))


def check_capacity(runs: Sequence[Prepared], launch: Launch) -> None:
    """Whether runs fit on the cluster's nodes, each for itself.

    Raises:
        ConfigError: one would wait forever; never with `launch.cluster_grows`.
    """
    if launch.cluster_grows:
        return
    nodes = living_nodes(launch)
    problems = [line for run in runs for line in capacity_problems(run.settings, run.config, nodes)]
    if problems:
        raise ConfigError(list(dict.fromkeys(problems)))


def _variables(settings: Settings, launch: Launch) -> tuple[dict[str, str], list[str], list[str]]:
    """Environment variables of a job, problems, notes."""
    variables = {name: os.environ[name] for name in launch.forward_env if os.environ.get(name)}
    variables |= launch.env
    # Ray gives a stopped job three seconds before it kills it (job_supervisor.py:429); a step needs more.
    variables["RAY_JOB_STOP_WAIT_TIME_S"] = str(launch.stop_wait_s)
    needed = secrets_of(settings)
    problems = [
        f"launch.env.{secret.name}: a key has no place in a setting; export it, with launch.secrets=runtime_env, or "
        "give it to the nodes"
        for secret in needed
        if secret.name in launch.env
    ]
    if launch.secrets == "nodes":
        names = ", ".join(secret.name for secret in needed)
        return variables, problems, [f"keys are taken from the nodes' environment: {names}"] if names else []
    lacks, notes = missing(needed)
    sent = {secret.name: os.environ[secret.name] for secret in needed if os.environ.get(secret.name)}
    if sent:
        notes.append(
            f"launch.secrets=runtime_env: whoever can reach the cluster's dashboard can read {', '.join(sent)} there"
        )
    return {**variables, **sent}, problems + [f"{line} here" for line in lacks], notes


def _uses_assets(settings: Settings) -> bool:
    """Whether a run reads the shipped models or prompts, which are sent only then."""
    paths = [settings.policy.path, *settings.corpus.train_files, *settings.corpus.val_files]
    paths += [judge.serve.model_path for judge in settings.judges.values() if judge.serve is not None]
    return any(Path(path).is_relative_to(ROOT / ASSETS) for path in paths)
