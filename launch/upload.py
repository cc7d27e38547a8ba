"""What a job's working directory holds, by Ray's own rules of packaging.

Ray zips the checkout without what .gitignore, .rayignore and the job's `excludes` name. The walk is Ray's
(ray 2.60.0, _private/runtime_env/packaging.py:118), so that the size shown is that of what is sent.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

MB = 1_000_000
SHOWN = 10
quiet = logging.getLogger(f"{__name__}.ray")
quiet.setLevel(logging.WARNING)


@dataclass(frozen=True, slots=True)
class Upload:
    """Files of a working directory that are sent: (path below it, bytes), the largest first."""

    root: Path
    files: tuple[tuple[str, int], ...]

    @property
    def size(self) -> int:
        """Bytes before compression."""
        return sum(size for _, size in self.files)

    def __str__(self) -> str:
        return f"{self.root}: {len(self.files):,} files, {self.size / MB:.1f} MB before compression"

    def problems(self, limit_mb: float) -> list[str]:
        """One line when the size is above a limit, with the largest files; else nothing."""
        if self.size <= limit_mb * MB:
            return []
        largest = "".join(f"\n  {size / MB:8.1f} MB  {path}" for path, size in self.files[:SHOWN])
        return [
            f"launch.upload_limit_mb={limit_mb:g}: the working directory is larger: {self}. Move large files out of "
            f"the checkout, name them in .rayignore or launch.excludes, or raise the limit. The largest:{largest}"
        ]


def measure(root: Path, excludes: Sequence[str]) -> Upload:
    """Look at what Ray would send of a folder.

    Args:
        excludes: patterns of the job's runtime environment, as in .gitignore.
    """
    from ray._private.ray_constants import RAY_RUNTIME_ENV_IGNORE_GITIGNORE, get_runtime_env_default_excludes
    from ray._private.runtime_env.packaging import _dir_travel, _get_excludes

    files: list[tuple[str, int]] = []

    def note(path: Path) -> None:
        if path.is_file():
            files.append((str(path.relative_to(root)), path.stat().st_size))

    patterns: list[Any] = [_get_excludes(root, [*get_runtime_env_default_excludes(), *excludes])]
    gitignore = os.environ.get(RAY_RUNTIME_ENV_IGNORE_GITIGNORE, "0") != "1"
    _dir_travel(root, patterns, note, include_gitignore=gitignore, logger=quiet)
    return Upload(root, tuple(sorted(files, key=lambda file: (-file[1], file[0]))))
