"""The summary of a finished or interrupted run, again: `python -m trainer.summary RUN_FOLDER`."""

from __future__ import annotations

import argparse
from pathlib import Path

from rich.console import Console

from foundation.runs.run_folder import RunFolder
from foundation.runs.summary import summarise


def main() -> None:
    parser = argparse.ArgumentParser(description="Summarise a run folder: tables, summary.json, curves.png.")
    parser.add_argument("run_folder", type=Path, help="folder of a run, such as outputs/quickstart")
    path = parser.parse_args().run_folder
    if not (path / "config.yaml").exists():
        parser.error(f"{path} is not a run folder: it has no config.yaml")
    summarise(RunFolder(path.absolute()), Console(highlight=False, soft_wrap=True))


if __name__ == "__main__":
    main()
