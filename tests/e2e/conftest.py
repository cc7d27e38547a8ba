"""Jobs of one test module, ended with it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from quickstart_job import Job


@pytest.fixture(scope="module")
def jobs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    """Starts jobs in folders of this module and ends what still runs afterwards."""
    base = tmp_path_factory.mktemp("runs")
    started: list[Job] = []

    def start(name: str, *overrides: str) -> Job:
        started.append(Job(base / name, overrides))
        return started[-1]

    yield start
    for job in started:
        job.kill()
