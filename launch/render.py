"""A cluster for one run, written out: a KubeRay RayJob or a Slurm script, to standard output.

    python -m launch.render kuberay experiment=pattern_rl_qwen3_vl_4b cluster=two_nodes_16gpu > rayjob.yaml
    python -m launch.render slurm experiment=pattern_rl_qwen3_vl_4b cluster=split_three_nodes_24gpu > run.sbatch

The run is checked as `launch.submit` checks it; nodes and GPUs come from its `cluster`. Contains no keys.
"""

from __future__ import annotations

import argparse
import json
import re
import shlex
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import ray
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from foundation.settings.compose import ConfigError
from foundation.settings.terminal import refuse
from launch.prepare import Prepared, prepare_run
from launch.settings import LaunchSettings, read_launch_settings, split_overrides
from trainer.checks.placement import JUDGE_NODE

TEMPLATES = {"kuberay": "rayjob.yaml.jinja", "slurm": "slurm.sh.jinja"}
LONGEST_NAME = 47
"""KubeRay makes names of pods and services out of a RayJob's, which Kubernetes bounds at 63 characters."""


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m launch.render", description="Write a cluster for one run.")
    parser.add_argument("target", choices=sorted(TEMPLATES))
    parser.add_argument("overrides", nargs="*", help="as for launch.submit; render.key=value for the manifest")
    parsed = parser.parse_args(sys.argv[1:] if arguments is None else list(arguments))
    ours, run = split_overrides(parsed.overrides)
    try:
        settings = read_launch_settings(ours)
        print(render(parsed.target, run, settings), end="")
    except ConfigError as error:
        return refuse(error.problems)
    return 0


def render(target: str, overrides: Sequence[str], settings: LaunchSettings) -> str:
    """The text of a manifest or script.

    Raises:
        ConfigError: the run is wrong, or its cluster has no GPUs.
    """
    where = settings.render
    launch = settings.launch.model_copy(update={"runs_dir": f"{where.storage_path}/runs", "secrets": "nodes"})
    prepared = prepare_run(overrides, launch)
    cluster = prepared.settings.cluster
    if cluster.device != "gpu":
        raise ConfigError([f"cluster={cluster.name} has no GPUs: choose one that has (configs/cluster/)"])
    command = ["python", "-m", "launch.job_start", f"{launch.gpu_wait_s:g}", *prepared.spec.overrides]
    environment = {
        "PATTERNRL_DATA": f"{where.storage_path}/data",
        "PATTERNRL_MODELS": f"{where.storage_path}/models",
        "HF_HOME": f"{where.storage_path}/huggingface",
        **launch.env,
    }
    if target == "slurm":
        environment = {key: shlex.quote(value) for key, value in environment.items()}
    templates = Environment(
        loader=FileSystemLoader(Path(__file__).parent / "templates"),
        undefined=StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - YAML and shell, not HTML; values are quoted as JSON or by shlex
    )
    templates.policies["json.dumps_kwargs"] = {"ensure_ascii": False}
    return templates.get_template(TEMPLATES[target]).render(
        run=prepared.spec.run,
        name=object_name(prepared.spec.run),
        cluster=cluster.name,
        command=f"python -m launch.render {target} {shlex.join(overrides)}".replace("\n", " "),
        entrypoint=shlex.join(command),
        environment=environment,
        render=where,
        venv=shlex.quote(where.venv),
        checkout=shlex.quote(where.checkout),
        max_restarts=launch.max_restarts,
        stop_wait_s=launch.stop_wait_s,
        ray_version=ray.__version__,
        nodes=cluster.nodes,
        judge_nodes=cluster.judge_nodes,
        gpus_per_node=cluster.gpus_per_node,
        groups=worker_groups(prepared),
    )


def worker_groups(prepared: Prepared) -> list[dict[str, Any]]:
    """Groups of equal nodes: those of the policy, and those kept for judges, where there are such."""
    cluster = prepared.settings.cluster
    gpus = {"num-gpus": str(cluster.gpus_per_node)}
    groups = [{"name": "gpu", "nodes": cluster.nodes - cluster.judge_nodes, "ray_start_params": gpus}]
    if cluster.judge_nodes:
        # KubeRay puts the value into a shell command: JSON in a quoted JSON string, as its documentation writes it.
        # Without CPU slots nothing but judges runs there.
        kept = {**gpus, "num-cpus": "0", "resources": json.dumps(json.dumps({JUDGE_NODE: cluster.gpus_per_node}))}
        groups.append({"name": "judges", "nodes": cluster.judge_nodes, "ray_start_params": kept})
    return groups


def object_name(run: str) -> str:
    """A run's name as Kubernetes and Slurm take it.

    >>> object_name("Pattern_RL.4B")
    'pattern-rl-4b'
    """
    return re.sub(r"[^a-z0-9]+", "-", run.lower()).strip("-")[:LONGEST_NAME].rstrip("-") or "run"


if __name__ == "__main__":
    sys.exit(main())
