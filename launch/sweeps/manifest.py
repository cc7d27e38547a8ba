"""What a sweep remembers between two commands: its points, their jobs, and how each of them ended.

`manifest.json` in the folder of the sweep, written anew as a whole at every change. A sweep is one process at a time.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Literal

from foundation.runs.run_folder import write_json
from foundation.settings.compose import ConfigError

State = Literal["waiting", "running", "finished", "failed", "stopped"]
FILE = "manifest.json"


@dataclass(slots=True)
class Point:
    """One run of a sweep.

    Attributes:
        name: unique in the sweep.
        values: what it sets itself, by key.
        overrides: the whole command line of its run.
        run, run_dir: `run.name` and `run.dir`.
        submissions: ids of its jobs, the newest last.
        exit_code: of the last job that ended.
        reason: why it failed.
    """

    name: str
    values: dict[str, str]
    overrides: list[str]
    run: str
    run_dir: str
    state: State = "waiting"
    submissions: list[str] = field(default_factory=list)
    exit_code: int | None = None
    reason: str = ""


@dataclass(slots=True)
class Manifest:
    """The points of a sweep in the order of their first appearance."""

    path: Path
    sweep: str
    points: dict[str, Point]

    @classmethod
    def open(cls, folder: Path, sweep: str) -> Manifest:
        """Read the manifest of a sweep's folder, or begin an empty one."""
        path = folder / FILE
        if not path.exists():
            return cls(path, sweep, {})
        return cls.read(path)

    @classmethod
    def read(cls, path: Path) -> Manifest:
        """Read a manifest.

        Raises:
            ConfigError: it is not there, or no manifest of this version.
        """
        try:
            content = json.loads(path.read_text())
            points = {point["name"]: Point(**point) for point in content["points"]}
            return cls(path, content["sweep"], points)
        except FileNotFoundError as error:
            raise ConfigError([f"{path} does not exist: give the folder of a sweep (sweep.dir)"]) from error
        except (json.JSONDecodeError, KeyError, TypeError) as error:
            raise ConfigError([f"{path} is no manifest of a sweep ({error}): move it away to begin anew"]) from error

    def save(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        write_json(self.path, {"sweep": self.sweep, "points": [asdict(point) for point in self.points.values()]})

    def take_up(self, points: Sequence[Point]) -> list[Point]:
        """The points of a command, as the manifest knows them; new ones are added.

        Raises:
            ConfigError: a point of the same name was run with other settings.
        """
        problems = []
        for point in points:
            known = self.points.setdefault(point.name, point)
            if set(known.overrides) != set(point.overrides):
                changed = sorted(set(known.overrides) ^ set(point.overrides))
                problems.append(
                    f"sweep.name={self.sweep}: point {point.name} was run with other settings ({', '.join(changed)}); "
                    "choose another sweep.name"
                )
        if problems:
            raise ConfigError(problems)
        return [self.points[point.name] for point in points]
