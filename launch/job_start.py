"""What a submitted job runs first, on the cluster: checks that only the cluster can answer, then the training.

    python -m launch.job_start GPU_WAIT_S OVERRIDE...

Every node that can get a part of the run must see the models, the prompts and the run folder, and have the keys. A run
that asks for more GPUs than are free waits, and says so; so does one while another job trains on the cluster. Ends as
`trainer.main`, or with 2 when the run cannot start.
"""

from __future__ import annotations

import logging
import math
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import ray
from ray.autoscaler.sdk import request_resources
from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

from foundation.settings.compose import ConfigError, compose_config, is_hub_id
from foundation.settings.run_settings import Settings
from foundation.settings.terminal import EXIT_WRONG_INPUT
from launch.secrets import missing, secrets_of
from trainer.checks.preflight import gpu_roles
from trainer.frame.queue_owner import queue_in_use
from trainer.main import prepare

PROBE_S = 120.0
POLL_S = 5.0


@dataclass(frozen=True, slots=True)
class Needs:
    """What a node must see: paths of models (only where a model runs), paths of files, the marker in the run folder,
    and names of variables."""

    models: dict[str, str]
    files: dict[str, str]
    marker: str
    variables: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Seen:
    """What a node lacks: keys of `Needs.models` and `Needs.files`, whether it sees the marker, and absent variables."""

    node: str
    gpus: float
    models: tuple[str, ...]
    files: tuple[str, ...]
    sees_marker: bool
    variables: tuple[str, ...]


def needs_of(settings: Settings, marker: str) -> Needs:
    """What the nodes must see for a run; models named by hub id are not looked for."""
    models = {"policy.path": settings.policy.path}
    for name, judge in settings.judges.items():
        if judge.serve is not None:
            models[f"judges.{name}.serve.model_path"] = judge.serve.model_path
    files = {f"corpus.train_files[{i}]": path for i, path in enumerate(settings.corpus.train_files)}
    files |= {f"corpus.val_files[{i}]": path for i, path in enumerate(settings.corpus.val_files)}
    local = {key: path for key, path in models.items() if not is_hub_id(path)}
    return Needs(local, files, marker, tuple(secret.name for secret in secrets_of(settings)))


def inspect_here(needs: Needs, node: str, gpus: float) -> Seen:
    """What this node lacks."""
    return Seen(
        node,
        gpus,
        models=tuple(key for key, path in needs.models.items() if not (Path(path) / "config.json").is_file()),
        files=tuple(key for key, path in needs.files.items() if not Path(path).is_file()),
        sees_marker=Path(needs.marker).is_file(),
        variables=tuple(name for name in needs.variables if not os.environ.get(name)),
    )


def problems_of(seen: Sequence[Seen], needs: Needs, settings: Settings) -> tuple[list[str], list[str]]:
    """Problems and notes about all nodes. Models matter on nodes with GPUs, or on all where the cluster has none."""
    problems, notes = [], []
    any_gpu = any(node.gpus for node in seen)
    paths = {**needs.models, **needs.files}
    for key, path in paths.items():
        without = [n.node for n in seen if key in n.files or (key in n.models and (n.gpus > 0 or not any_gpu))]
        if without:
            problems.append(
                f"{key}: {path} is not on {', '.join(without)}: put it on storage that all nodes see, at the same path"
            )
    blind = [node.node for node in seen if not node.sees_marker]
    if blind:
        problems.append(
            f"run.dir={settings.run.dir}: {', '.join(blind)} cannot see what the head node writes there: set "
            "launch.runs_dir to storage that every node shares"
        )
    for node in seen:
        present = {name: "set" for name in needs.variables if name not in node.variables}
        lacks, offline = missing(secrets_of(settings), present)
        problems += [
            f"{line} on {node.node}: give it to the nodes (Kubernetes Secret, or export it before ray start), or send "
            "it with the job: launch.secrets=runtime_env"
            for line in lacks
        ]
        notes += [f"{line} ({node.node})" for line in offline]
    return problems, notes


def inspect_nodes(needs: Needs) -> list[Seen]:
    """Ask every living node; the worker that answers has the job's working directory and environment.

    Raises:
        ConfigError: a node did not answer within `PROBE_S`.
    """
    probe = ray.remote(num_cpus=0)(inspect_here)
    asked = {}
    for node in ray.nodes():
        if node["Alive"]:
            place = NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
            address = node["NodeManagerAddress"]
            name = f"{address} ({node['NodeID'][:6]})"
            task = probe.options(scheduling_strategy=place)
            asked[task.remote(needs, name, node["Resources"].get("GPU", 0.0))] = name
    done, waiting = ray.wait(list(asked), num_returns=len(asked), timeout=PROBE_S)
    if waiting:
        silent = ", ".join(asked[reference] for reference in waiting)
        raise ConfigError([f"no answer from {silent} within {PROBE_S:g} s: look at ray status and at its raylet.out"])
    return list(ray.get(done))


def wait_for_gpus(asked: float, gpu_wait_s: float, say: Any = print) -> list[str]:
    """Wait until as many GPUs are free; returns the problem when they are not in time.

    Nodes may still be joining. An autoscaler, where there is one, is told what is wanted; the job's own demand would
    come too late for verl, which looks once and gives up.
    """
    told = False

    def ask_for_them() -> None:
        nonlocal told
        told = True
        request_resources(bundles=[{"GPU": 1.0}] * math.ceil(asked))
        free, total = _gpus()
        say(f"waiting for GPUs: {asked:g} asked, {free:g} free of {total:g}; at most {gpu_wait_s:g} s", flush=True)

    if _wait_until(lambda: _gpus()[0] >= asked, gpu_wait_s, ask_for_them):
        if told:
            request_resources(bundles=[])  # from here on the job's own demand keeps the nodes
        return []
    free, total = _gpus()
    return [
        f"{asked:g} GPUs asked, {free:g} free of {total:g} on the cluster for {gpu_wait_s:g} s "
        "(launch.gpu_wait_s): choose a smaller cluster=, wait longer, or stop what uses them (ray status)"
    ]


def wait_for_queue(wait_s: float, say: Any = print) -> list[str]:
    """Wait until no other job trains on this cluster; returns the problem when one still does after that time."""
    notice = f"waiting for another job that trains on this cluster; at most {wait_s:g} s"
    if _wait_until(lambda: not queue_in_use(), wait_s, lambda: say(notice, flush=True)):
        return []
    return [
        f"another job trained on this cluster for {wait_s:g} s (launch.gpu_wait_s), and jobs of a Ray cluster "
        "take turns: set sweep.max_concurrent=1 in a sweep, wait longer, stop the other one (ray job list), or "
        "use another cluster"
    ]


def _wait_until(condition: Callable[[], bool], wait_s: float, on_wait: Callable[[], None]) -> bool:
    """Whether a condition holds in time; `on_wait` is called once, where there is something to wait for."""
    deadline = time.monotonic() + wait_s
    told = False
    while not condition():
        if time.monotonic() >= deadline:
            return False
        if not told:
            on_wait()
            told = True
        time.sleep(min(POLL_S, max(0.0, deadline - time.monotonic())))
    return True


def _gpus() -> tuple[float, float]:
    """GPUs of the cluster: free, in all."""
    return _sum(ray.available_resources(), "GPU"), _sum(ray.cluster_resources(), "GPU")


def _sum(resources: Mapping[str, float], name: str) -> float:
    return float(resources.get(name, 0.0))


def check_cluster(overrides: Sequence[str], gpu_wait_s: float) -> tuple[list[str], list[str]]:
    """Problems and notes of a run on this cluster."""
    config = compose_config([*overrides, "dry_run=true"])
    settings, _ = prepare(config)
    run_dir = Path(settings.run.dir)
    run_dir.mkdir(parents=True, exist_ok=True)
    marker = run_dir / f".seen-{os.getpid()}"
    marker.touch()
    ray.init(address="auto", logging_level=logging.ERROR, log_to_driver=False)
    try:
        asked = sum(role.total for role in gpu_roles(settings, config))
        problems = wait_for_gpus(asked, gpu_wait_s) or wait_for_queue(gpu_wait_s)
        if problems:
            return problems, []
        needs = needs_of(settings, str(marker))
        return problems_of(inspect_nodes(needs), needs, settings)
    finally:
        ray.shutdown()
        marker.unlink()


def train(overrides: Sequence[str]) -> NoReturn:
    """Become the training: its signals and its exit code are those of the job."""
    sys.stdout.flush()
    os.execv(sys.executable, [sys.executable, "-m", "trainer.main", *overrides])  # noqa: S606 - no shell is meant


def main() -> int:
    """Check, then become the training."""
    gpu_wait_s, overrides = float(sys.argv[1]), sys.argv[2:]
    try:
        problems, notes = check_cluster(overrides, gpu_wait_s)
    except ConfigError as error:
        problems, notes = list(error.problems), []
    for note in notes:
        print(f"note: {note}", flush=True)
    if problems:
        for problem in problems:
            print(f"error: {problem}", flush=True)
        print("nothing was started", flush=True)
        return EXIT_WRONG_INPUT
    train(overrides)


if __name__ == "__main__":
    sys.exit(main())
