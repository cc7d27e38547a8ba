"""The summary of a finished or interrupted run, again: `python -m trainer.summary RUN_FOLDER`."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console

from foundation.runs.run_folder import RunFolder
from foundation.runs.summary import summarise
from foundation.settings.terminal import refuse


def main(arguments: Sequence[str] | None = None) -> int:
    """Summarise the run folder of the command line; returns the exit code: 2 when there is nothing that it can read."""
    parser = argparse.ArgumentParser(
        prog="python -m trainer.summary", description="Summarise a run folder: tables, summary.json, curves.png."
    )
    parser.add_argument("run_folder", type=Path, help="folder of a run, such as outputs/quickstart")
    path = parser.parse_args(sys.argv[1:] if arguments is None else list(arguments)).run_folder
    if not (path / "config.yaml").exists():
        parser.error(f"{path} is not a run folder: it has no config.yaml")
    try:
        summarise(RunFolder(path.absolute()), Console(highlight=False, soft_wrap=True))
    except ValueError as error:
        return refuse([str(error)])
    return 0


if __name__ == "__main__":
    sys.exit(main())
