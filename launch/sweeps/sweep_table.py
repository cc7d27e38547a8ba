"""A sweep on the terminal: a table that is drawn again after every look, or a line for each change in a log file."""

from __future__ import annotations

import json
from pathlib import Path
from types import TracebackType

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from foundation.runs.run_folder import RunFolder
from launch.sweeps.manifest import Manifest, Point

TAIL_BYTES = 65_536
STYLES = {"finished": "green", "running": "cyan", "failed": "red", "stopped": "yellow", "waiting": "dim"}


class SweepView:
    """Context manager; `say` gets lines, `refresh` draws the state of the manifest."""

    def __init__(self, manifest: Manifest, max_concurrent: int, console: Console) -> None:
        self._manifest = manifest
        self._title = f"sweep {manifest.sweep}, at most {max_concurrent} at once"
        self._console = console
        self._live = Live(console=console, auto_refresh=False) if console.is_terminal else None

    def __enter__(self) -> SweepView:
        if self._live is not None:
            self._live.start()
            self.refresh()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._live is not None:
            self._live.stop()

    def say(self, line: str) -> None:
        self._console.print(f"launch: {line}", markup=False)

    def refresh(self) -> None:
        if self._live is not None:
            self._live.update(Group(sweep_table(self._manifest, self._title)), refresh=True)


def sweep_table(manifest: Manifest, title: str) -> Table:
    """All points of a sweep: state, last step, job, exit code."""
    table = Table(title=title)
    for column in ("point", "state", "last step", "job", "starts", "exit code"):
        table.add_column(column, overflow="fold")
    for point in manifest.points.values():
        table.add_row(
            point.name,
            Text(point.state, style=STYLES[point.state]),
            _step(point),
            point.submissions[-1] if point.submissions else "",
            str(len(point.submissions) or ""),
            "" if point.exit_code is None else str(point.exit_code),
        )
    return table


def _step(point: Point) -> str:
    step = last_step(Path(point.run_dir))
    return "" if step is None else str(step)


def last_step(run_dir: Path) -> int | None:
    """The last step of a run by its metrics; None where the run folder is elsewhere or has none yet."""
    path = RunFolder(run_dir).metrics
    if not path.exists():
        return None
    with path.open("rb") as file:
        file.seek(max(0, path.stat().st_size - TAIL_BYTES))
        lines = file.read().splitlines()
    for line in reversed(lines):
        try:
            return int(json.loads(line)["step"])
        except ValueError:
            continue  # a line that is being written, or the cut first one
    return None
