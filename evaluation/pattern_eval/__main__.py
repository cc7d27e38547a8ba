"""The command: compose, check, ask what is missing, write the page.

    python -m evaluation.pattern_eval experiment=toy
    python -m evaluation.pattern_eval model=qwen3_vl_8b prompts.files=[prompts.jsonl]
    python -m evaluation.pattern_eval published=true

Exit codes: 0 done, 1 a server failed, 2 a setting or an input is wrong and nothing was asked, 130 stopped (the same
command goes on).
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Sequence
from pathlib import Path

from hydra.utils import get_object
from omegaconf import DictConfig, OmegaConf
from rich.console import Console

from evaluation.pattern_eval.assemble import Finished, build_report
from evaluation.pattern_eval.prompt_file import PromptFileError, read_prompts
from evaluation.pattern_eval.responses import RESPONSES, Oracle, read_responses, write_responses
from evaluation.pattern_eval.run import RunFolder, run_stages
from evaluation.pattern_eval.series import checkpoint_runs, training_responses
from evaluation.pattern_eval.settings import EvalSettings, PageSettings, read_settings
from evaluation.report.files import write_report
from evaluation.report.terminal import print_report
from evaluation.stopping import stop_on_signals
from foundation.runs.evaluation_records import Prompt
from foundation.settings.compose import CONFIG_DIR, ConfigError, compose_command_line
from foundation.settings.terminal import FILE_WIDTH, refuse

EXIT_SERVER_FAILED = 1
EXIT_STOPPED = 130
CONFIG_NAME = "pattern_eval"
END = "nothing was asked; all settings: python -m evaluation.pattern_eval --help"


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    try:
        config = compose_command_line(CONFIG_DIR / "evaluation", CONFIG_NAME)
        if config is None:
            return 0
        stop_on_signals()
        return evaluate(config, console)
    except (ConfigError, PromptFileError) as error:
        return refuse(error.problems, END)
    except ValueError as error:
        return refuse(str(error).splitlines(), END)
    except RuntimeError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"error: {error}", markup=False)
        return EXIT_SERVER_FAILED
    except (KeyboardInterrupt, asyncio.CancelledError):
        console.print("stopped: everything that was answered is kept; start the same command to go on")
        return EXIT_STOPPED


def evaluate(config: DictConfig, console: Console) -> int:
    """One run of a composed tree: its stages and its page.

    Raises:
        ConfigError, PromptFileError, ValueError: a setting or an input is wrong.
        RuntimeError: a server did not come up.
    """
    settings = read_settings(config)
    oracle = _oracle(settings)
    others = [response for folder in settings.compare for response in read_responses(Path(folder))]
    prompts: Sequence[Prompt] = ()
    if isinstance(settings, EvalSettings) or settings.training_run is not None:
        limit = settings.limit if isinstance(settings, EvalSettings) else None
        prompts = read_prompts([Path(file) for file in settings.prompts.files], settings.prompts.taxonomy, limit)
    if settings.training_run is not None:
        others += training_responses(Path(settings.training_run), prompts)
    runs: list[EvalSettings] = []
    if isinstance(settings, EvalSettings):
        runs = [settings] if settings.checkpoints is None else checkpoint_runs(settings, Path(settings.checkpoints))
    if settings.dry_run:
        console.print(OmegaConf.to_yaml(config, resolve=True), markup=False)
        names = ", ".join(run.model.name for run in runs)
        console.print(f"{len(prompts):,} prompts; would ask {names or 'nobody'}; nothing was asked (dry_run)")
        return 0
    finished = [Finished(run, run_stages(run, prompts, console)) for run in runs]
    report, own = build_report(settings, prompts, finished, others, oracle)
    for run, responses in zip(runs, own, strict=True):
        write_responses(Path(run.run.dir) / RESPONSES, responses)
    folder = RunFolder(Path(settings.run.dir))
    page = write_report(
        report,
        folder.report,
        examples_per_label=settings.report.examples_per_label,
        text_budget_mb=settings.report.text_budget_mb,
    )
    print_report(console, report, page)
    return 0


def _oracle(settings: PageSettings) -> Oracle | None:
    if settings.prompts.oracle is None:
        return None
    found: Oracle = get_object(settings.prompts.oracle)
    return found


if __name__ == "__main__":
    sys.exit(main())
