"""Hydra's `hydra/launcher=ray_jobs`: the points that a sweeper asks for become Ray jobs, one a point.

Hydra imports this file in every command of the project (it scans `hydra_plugins`), so it imports nothing heavy. The
work is done by `launch.sweeps.sweep`, whose `PointRunner` stands where Hydra expects the task function.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from hydra.core.config_store import ConfigStore
from hydra.core.utils import JobReturn
from hydra.plugins.launcher import Launcher
from hydra.types import HydraContext, TaskFunction
from omegaconf import DictConfig, flag_override

ConfigStore.instance().store(
    group="hydra/launcher",
    name="ray_jobs",
    node={"_target_": "hydra_plugins.patternrl_ray_jobs.RayJobsLauncher"},
    provider="patternrl",
)


class RayJobsLauncher(Launcher):
    """Hands each batch of points to the task function, which is an object with `run_points`."""

    def setup(self, *, hydra_context: HydraContext, task_function: TaskFunction, config: DictConfig) -> None:
        if not hasattr(task_function, "run_points"):
            raise ValueError("hydra/launcher=ray_jobs works in python -m launch.submit --multirun only")
        self._points: Any = task_function
        self._loader = hydra_context.config_loader
        self._config = config

    def launch(self, job_overrides: Sequence[Sequence[str]], initial_job_idx: int) -> Sequence[JobReturn]:
        """One return for each point, in order; its value is what `sweep.objective` names."""
        overrides = [[text for text in point if not text.startswith("hydra")] for point in job_overrides]
        return self._points.run_points(overrides, self._compose)

    def _compose(self, overrides: Sequence[str]) -> DictConfig:
        """The tree of a point, as Hydra's own launchers compose it."""
        tree = self._loader.load_sweep_config(self._config, list(overrides))
        with flag_override(tree, ["struct", "readonly"], [False, False]):
            del tree["hydra"]
        return tree
