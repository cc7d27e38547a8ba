"""lmms-eval as a child process: its command line for one benchmark, and its result file.

Written against lmms-eval 0.7.2: chat model ``async_openai``, files ``*_results.json`` below ``--output_path`` with
``results.<task>."<metric>,<filter>"``.
"""

from __future__ import annotations

import json
import math
import os
import subprocess
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

CHAT_MODEL = "async_openai"


@dataclass(frozen=True, slots=True)
class Benchmark:
    """One of the ten.

    Attributes:
        name: as it is shown; group: of the averages.
        task: name in lmms-eval; metric: which of its figures is the accuracy.
        scale: what that figure is multiplied by to be in per cent.
    """

    name: str
    group: str
    task: str
    metric: str
    scale: float


def command(
    python: str, benchmark: Benchmark, *, model: str, base_url: str, concurrency: int, limit: int | None, out: Path
) -> list[str]:
    """The command line that runs one benchmark."""
    arguments = f"model_version={model},base_url={base_url},num_cpus={concurrency}"
    bounded = [] if limit is None else ["--limit", str(limit)]
    return [
        *(python, "-m", "lmms_eval", "--model", CHAT_MODEL, "--model_args", arguments),
        *("--tasks", benchmark.task, "--batch_size", "1", "--output_path", str(out), *bounded),
    ]


def run(line: list[str], log: Path, api_key: str) -> None:
    """Run a benchmark to its end; its output goes to the log.

    Raises:
        RuntimeError: the engine is missing or failed; the text has the end of its log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    with log.open("w") as file:
        try:
            ended = subprocess.run(
                line,
                stdin=subprocess.DEVNULL,
                stdout=file,
                stderr=subprocess.STDOUT,
                env={**os.environ, "OPENAI_API_KEY": api_key},
                check=False,
            )
        except OSError as error:
            raise RuntimeError(
                f"engine.python={line[0]} cannot be run ({error}): make an environment with lmms-eval and name its "
                "python"
            ) from error
    if ended.returncode:
        tail = "\n".join(log.read_text(errors="replace").splitlines()[-15:])
        raise RuntimeError(f"lmms-eval ended with code {ended.returncode}; last lines of {log}:\n{tail}")


def read_score(benchmark: Benchmark, out: Path) -> float | None:
    """The score in per cent from the newest result file; None when there is none yet.

    Raises:
        ValueError: the file has no such metric; it names those that it has.
    """
    files = sorted(out.rglob("*_results.json"), key=lambda path: path.name)
    if not files:
        return None
    found: Mapping[str, Any] = json.loads(files[-1].read_text())["results"].get(benchmark.task, {})
    by_metric = {key.partition(",")[0]: value for key, value in found.items()}
    value = by_metric.get(benchmark.metric)
    if not isinstance(value, int | float) or not math.isfinite(value):
        raise ValueError(
            f"{files[-1]}: task {benchmark.task} has no figure {benchmark.metric!r} but "
            f"{', '.join(sorted(by_metric))}: set benchmarks.{benchmark.name}.metric"
        )
    return float(value) * benchmark.scale
