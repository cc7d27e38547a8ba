"""Entry point: compose, check, show the plan, train.

    python -m trainer.main experiment=quickstart
    python -m trainer.main experiment=pattern_rl_qwen3_vl_4b dry_run=true

Exit codes: 0 done, 2 a setting or an input is wrong and nothing was started, otherwise that of the training.
Everything up to the plan runs without torch, Ray or verl. Not here: submission of jobs and sweeps (`launch.submit`; one
process trains one run).
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager

import hydra
from hydra.errors import HydraException
from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console

from trainer.compose import CONFIG_DIR, CONFIG_NAME, ConfigError, anchor_paths, explain, register_resolvers
from trainer.plan import Plan, make_plan
from trainer.preflight import data_problems, inspect_inputs, start_problems, static_problems
from trainer.settings import Settings, read_settings
from trainer.terminal import FILE_WIDTH, refuse

END = "nothing was started; all settings: python -m trainer.main --help"
"""Columns of a plan that goes to a file or a job log."""


def prepare(config: DictConfig) -> tuple[Settings, Plan]:
    """Check a composed tree and finish it in place.

    Finishing makes paths absolute, resolves interpolations and removes judges that this run does not ask. A dry run
    checks the files that are here, shows absent ones in its plan and asks no endpoint: its job may run elsewhere.

    Raises:
        ConfigError: wrong settings, or inputs that keep the run from starting on this machine.
    """
    try:
        anchor_paths(config)
        settings = read_settings(config)
        problems = static_problems(settings, config)
        if settings.pattern_rm is None:
            with open_dict(config):
                config.judges.pop("pattern_rm", None)
        OmegaConf.resolve(config)
    except OmegaConfBaseException as error:
        raise ConfigError([explain(error)]) from error
    inputs = inspect_inputs(settings)
    problems += data_problems(settings, config, inputs)
    if not settings.dry_run:
        problems += start_problems(settings, inputs)
    if problems:
        raise ConfigError(problems)
    return settings, make_plan(settings, config, inputs)


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    register_resolvers()
    composed: list[DictConfig] = []
    app = hydra.main(version_base="1.3", config_path=str(CONFIG_DIR), config_name=CONFIG_NAME)(composed.append)
    if {"-m", "--multirun"} & set(sys.argv[1:]):
        return refuse(
            ["--multirun: one process trains one run; python -m launch.submit --multirun submits a job for each point"],
            END,
        )
    try:
        with hydra_raises():
            app()
        if not composed:  # --cfg, --info and the like have printed what they had to
            return 0
        config = composed[0]
        settings, plan = prepare(config)
    except (HydraException, OmegaConfBaseException) as error:
        return refuse([explain(error)], END)
    except ConfigError as error:
        return refuse(error.problems, END)
    plan.print(Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH))
    if settings.dry_run:
        return 0

    from trainer.run import run_training

    return run_training(config)


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


if __name__ == "__main__":
    sys.exit(main())
