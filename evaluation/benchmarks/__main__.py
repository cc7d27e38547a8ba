"""The command: serve the model, run what is missing of the ten, write the table.

    python -m evaluation.benchmarks model=qwen3_vl_8b engine.python=/opt/lmms/bin/python

A benchmark that has its result file is not run again. Exit codes: 0 done, 1 the engine or a server failed, 2 a setting
is wrong, 130 stopped (the same command goes on).
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from evaluation.benchmarks.engine import Benchmark, command, read_score, run
from evaluation.benchmarks.table import benchmark_row
from evaluation.pattern_eval.published import BenchmarkRow, benchmark_rows
from evaluation.pattern_eval.serving import serving
from evaluation.pattern_eval.settings import read_model
from evaluation.stopping import stop_on_signals
from foundation.responses.families import Mode, check_mode
from foundation.responses.modes import chat_template_kwargs
from foundation.settings.compose import CONFIG_DIR, ConfigError, compose_command_line, plain_settings
from foundation.settings.judges import ServedModel
from foundation.settings.terminal import FILE_WIDTH, refuse


def main() -> int:
    """Run the command line of this process; returns the exit code."""
    console = Console(highlight=False, width=None if sys.stdout.isatty() else FILE_WIDTH)
    try:
        config = compose_command_line(CONFIG_DIR / "evaluation", "benchmarks")
        if config is not None:
            stop_on_signals()
            measure(config, console)
        return 0
    except ConfigError as error:
        problems: Sequence[str] = error.problems
    except ValueError as error:
        problems = str(error).splitlines()
    except RuntimeError as error:
        Console(stderr=True, highlight=False, soft_wrap=True).print(f"error: {error}", markup=False)
        return 1
    except KeyboardInterrupt:
        console.print("stopped: finished benchmarks are kept; start the same command to go on")
        return 130
    return refuse(problems)


def measure(config: DictConfig, console: Console) -> BenchmarkRow:
    """Run what is missing and write the table; returns the row of the model.

    Raises:
        ConfigError, ValueError: a setting is wrong. RuntimeError: the engine or a server failed.
    """
    plain = plain_settings(config)
    mode = check_mode(plain["mode"])
    model, servers = read_model(plain["model"], (mode,))
    benchmarks = [Benchmark(name, **entry) for name, entry in plain["benchmarks"].items()]
    out = Path(plain["run"]["dir"])
    missing = [benchmark for benchmark in benchmarks if read_score(benchmark, out / benchmark.task) is None]
    if missing:
        console.print(f"to run: {', '.join(benchmark.name for benchmark in missing)}")
        server = _in_mode(servers[mode], model.family, mode, model.template_switch)
        with serving({mode: server}, out / "logs", plain["server_env"], console.print) as served:
            for benchmark in missing:
                _run(plain, benchmark, served[mode], out, console)
    found = {benchmark.name: read_score(benchmark, out / benchmark.task) for benchmark in benchmarks}
    scores = {name: score for name, score in found.items() if score is not None}
    row = benchmark_row(model.name, mode, scores, benchmarks)
    (out / "benchmarks.json").write_text(json.dumps(asdict(row), indent=1) + "\n")
    _print(console, [row, *(benchmark_rows() if plain["published"] else ())])
    console.print(f"table    {out / 'benchmarks.json'}")
    return row


def _run(plain: dict[str, Any], benchmark: Benchmark, server: ServedModel, out: Path, console: Console) -> None:
    engine = plain["engine"]
    line = command(
        engine["python"],
        benchmark,
        model=server.model,
        base_url=server.base_urls[0],
        concurrency=server.concurrency,
        limit=engine["limit"],
        out=out / benchmark.task,
    )
    console.print(f"{benchmark.name}: {' '.join(line)}", markup=False)
    run(line, out / "logs" / f"{benchmark.task}.log", server.api_key())
    score = read_score(benchmark, out / benchmark.task)
    if score is None:
        raise RuntimeError(f"{benchmark.name}: lmms-eval left no result file below {out / benchmark.task}")
    console.print(f"{benchmark.name}: {score:.2f}")


def _in_mode(server: ServedModel, family: str, mode: Mode, template_switch: bool) -> ServedModel:
    """The server with the mode as its default: lmms-eval sends no chat template arguments.

    Raises:
        ValueError: the mode is a switch of the template, and the server is not started by this command.
    """
    switch = chat_template_kwargs(family, mode) if template_switch else {}
    if not switch:
        return server
    if server.serve is None:
        raise ValueError(
            f"model.servers.{mode}.serve is null, but the mode of this model is a chat template argument, which "
            f"lmms-eval does not send: let this command serve the model, or start the server with "
            f"--default-chat-template-kwargs '{json.dumps(switch)}' and set model.template_switch=false"
        )
    arguments = (*server.serve.args, "--default-chat-template-kwargs", json.dumps(switch))
    return server.model_copy(update={"serve": server.serve.model_copy(update={"args": arguments})})


def _print(console: Console, rows: Sequence[BenchmarkRow]) -> None:
    table = Table(title="General benchmarks, accuracy in %")
    for column in ("", *rows[0].benchmarks, *rows[0].averages, "overall"):
        table.add_column(column, justify="right")
    for row in rows:
        figures = (*row.benchmarks.values(), *row.averages.values(), row.overall)
        table.add_row(f"{row.size} {row.policy}", *(f"{figure:.2f}" for figure in figures))
    console.print(table)


if __name__ == "__main__":
    sys.exit(main())
