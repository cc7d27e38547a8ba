"""What the commands of this project say at the terminal when a setting or an input is wrong."""

from __future__ import annotations

from collections.abc import Iterable

from rich.console import Console

EXIT_WRONG_INPUT = 2
FILE_WIDTH = 140
"""Columns of tables that go to a file or a pipe."""


def refuse(problems: Iterable[str], end: str = "") -> int:
    """Print what is wrong on stderr, a line a problem, and what that means in the end; returns the exit code."""
    console = Console(stderr=True, highlight=False, soft_wrap=True)
    for problem in problems:
        console.print(f"error: {problem}", markup=False)
    if end:
        console.print(end, markup=False)
    return EXIT_WRONG_INPUT
