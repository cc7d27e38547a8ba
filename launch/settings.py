"""Settings of the submission: the sections `launch`, `sweep` and `render` of `configs/launch.yaml`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

from pydantic import Field

from foundation.settings.compose import LAUNCH_SECTIONS, ConfigError, compose_config
from foundation.settings.run_settings import read_sections
from foundation.settings.sections import Count, Name, Positive, Seconds, Section

Text = Annotated[str, Field(min_length=1)]


class Launch(Section):
    """Where jobs go, what travels with them, and what happens when they end."""

    address: Annotated[str, Field(pattern=r"^https?://")]
    runs_dir: Text
    python: Text
    upload_limit_mb: Annotated[float, Field(gt=0)]
    excludes: list[str]
    env: dict[str, str]
    forward_env: list[str]
    secrets: Literal["nodes", "runtime_env"]
    max_restarts: Count
    restart_pause_s: Annotated[float, Field(ge=0)]
    start_timeout_s: Seconds
    gpu_wait_s: Annotated[float, Field(ge=0)]
    stop_wait_s: Positive
    contact_timeout_s: Seconds
    cluster_grows: bool


class Sweep(Section):
    """Many jobs: one a point."""

    name: Name
    dir: Text
    max_concurrent: Positive
    poll_s: Seconds
    objective: list[str]


class Render(Section):
    """What manifests and scripts say beside the run's own settings."""

    image: Text
    namespace: Text
    storage_claim: Text
    storage_path: Text
    secret: Text
    queue: str | None
    node_cpus: Positive
    node_memory_gb: Positive
    shm_gb: Positive
    head_cpus: Positive
    head_memory_gb: Positive
    partition: Text
    account: str | None
    time_limit: Annotated[str, Field(pattern=r"^(\d+-)?\d+:\d\d:\d\d$")]
    venv: Text
    checkout: Text


@dataclass(frozen=True, slots=True)
class LaunchSettings:
    """The checked settings of a submission."""

    launch: Launch
    sweep: Sweep
    render: Render


def split_overrides(overrides: Sequence[str]) -> tuple[list[str], list[str]]:
    """Overrides of the submission and of the run.

    >>> split_overrides(["experiment=quickstart", "launch.max_restarts=0", "sweep.name=a", "seed=0,1"])
    (['launch.max_restarts=0', 'sweep.name=a'], ['experiment=quickstart', 'seed=0,1'])
    """
    ours: list[str] = []
    run: list[str] = []
    for override in overrides:
        section = override.lstrip("+~").partition("=")[0].split(".")[0]
        (ours if section in LAUNCH_SECTIONS else run).append(override)
    return ours, run


def read_launch_settings(overrides: Sequence[str]) -> LaunchSettings:
    """The settings of a submission from its own overrides.

    Raises:
        ConfigError: one line for every problem: key, value, what to set.
    """
    config = compose_config(overrides, name="launch")
    problems: list[str] = []
    models: dict[str, type[Section]] = {"launch": Launch, "sweep": Sweep, "render": Render}
    sections = read_sections(config, models, problems)
    if problems:
        raise ConfigError(problems)
    return LaunchSettings(
        launch=cast(Launch, sections["launch"]),
        sweep=cast(Sweep, sections["sweep"]),
        render=cast(Render, sections["render"]),
    )
