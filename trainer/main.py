"""Entry point: compose, check, show the plan, train.

    python -m trainer.main experiment=quickstart
    python -m trainer.main experiment=pattern_rl_qwen3_vl_4b dry_run=true

Exit codes: 0 done, 2 a setting or an input is wrong and nothing was started, otherwise that of the training.
Everything up to the plan runs without torch, Ray or verl. Not here: submission of jobs and sweeps (`launch.submit`; one
process trains one run).
"""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from omegaconf import DictConfig, OmegaConf, open_dict
from omegaconf.errors import OmegaConfBaseException
from rich.console import Console

from foundation.settings.compose import (
    CONFIG_DIR,
    CONFIG_NAME,
    ConfigError,
    anchor_paths,
    compose_command_line,
    explain,
)
from foundation.settings.run_settings import Settings, read_settings
from foundation.settings.terminal import FILE_WIDTH, refuse
from trainer.checks.plan import Plan, make_plan
from trainer.checks.preflight import data_problems, inspect_inputs, start_problems, static_problems

if TYPE_CHECKING:
    from trainer.frame.task_runner import TaskRunner

END = "nothing was started; all settings: python -m trainer.main --help"


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
        with open_dict(config):
            for name in set(config.judges) - set(settings.judges):
                config.judges.pop(name)
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


def grpo() -> type[TaskRunner]:
    """The task runner that trains by GRPO; imports Ray."""
    from trainer.grpo.task_runner import GrpoTaskRunner

    return GrpoTaskRunner


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    if {"-m", "--multirun"} & set(sys.argv[1:]):
        return refuse(
            ["--multirun: one process trains one run; python -m launch.submit --multirun submits a job for each point"],
            END,
        )
    try:
        config = compose_command_line(CONFIG_DIR, CONFIG_NAME)
        if config is None:
            return 0
        settings, plan = prepare(config)
    except ConfigError as error:
        return refuse(error.problems, END)
    plan.print(Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH))
    if settings.dry_run:
        return 0

    from trainer.frame.run import run_training

    return run_training(config, grpo)


if __name__ == "__main__":
    sys.exit(main())
