"""A cluster as its dashboard tells: whether it takes jobs, which Ray it runs, and whether a run fits on its nodes."""

from __future__ import annotations

import os
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import ray
import requests
from omegaconf import DictConfig
from ray._private.authentication.http_token_authentication import get_auth_headers_if_auth_enabled
from ray.job_submission import JobSubmissionClient
from ray.util.state import list_nodes

from foundation.settings.compose import ConfigError
from foundation.settings.run_settings import Settings
from launch.settings import Launch
from trainer.checks.placement import first_unplaced
from trainer.checks.preflight import gpu_roles

ANSWER_S = 10.0
POLL_S = 0.5
CPU_SLOTS = 16
"""What a run on a cluster without GPUs asks of Ray: a slot for each of its actors, most of which wait (laptop_cpu)."""


@dataclass(frozen=True, slots=True)
class Node:
    """A living node: address, and its GPUs and CPU slots in all, used or not."""

    address: str
    gpus: float
    cpus: float


def connect(launch: Launch) -> JobSubmissionClient:
    """A client of the cluster's job server.

    Raises:
        ConfigError: nobody answers, something else than a job server answers, or it runs another Ray.
    """
    for variable in ("RAY_API_SERVER_ADDRESS", "RAY_ADDRESS"):
        value = os.environ.get(variable)
        if value and value.rstrip("/") != launch.address.rstrip("/"):
            raise ConfigError(
                [
                    f"launch.address={launch.address}: Ray's client would go to {variable}={value} instead; unset "
                    "the variable or set launch.address to the same"
                ]
            )
    version = _server_version(launch.address)
    if version != ray.__version__:
        raise ConfigError(
            [
                f"launch.address={launch.address}: the cluster runs Ray {version}, this environment {ray.__version__}; "
                "a job needs one version everywhere: start the cluster from the image or environment of this checkout"
            ]
        )
    return JobSubmissionClient(launch.address)


def _server_version(address: str) -> str:
    where = f"launch.address={address}"
    try:
        headers = get_auth_headers_if_auth_enabled({})
        answer = requests.get(f"{address.rstrip('/')}/api/version", timeout=ANSWER_S, headers=headers)
    except requests.exceptions.RequestException as error:
        raise ConfigError(
            [
                f"{where}: no answer ({_reason(error)}). Is the cluster up (ray status on its head node), is this the "
                "port of its dashboard (8265 unless --dashboard-port says otherwise; not 6379 or 10001), and does a "
                "tunnel to it stand (kubectl port-forward service/<name>-head-svc 8265, ssh -L 8265:localhost:8265)?"
            ]
        ) from error
    if answer.status_code in (401, 403):
        raise ConfigError(
            [
                f"{where}: refused with status {answer.status_code}: the cluster wants its token: export "
                "RAY_AUTH_MODE=token, with the token in ~/.ray/auth_token or in the file that RAY_AUTH_TOKEN_PATH names"
            ]
        )
    try:
        return str(answer.json()["ray_version"])
    except (ValueError, KeyError, TypeError) as error:
        raise ConfigError(
            [
                f"{where}: something answers (status {answer.status_code}) that is not Ray's job server. The dashboard "
                "takes jobs only where ray[default] is installed on the head node; check the port too"
            ]
        ) from error


def _reason(error: requests.exceptions.RequestException) -> str:
    if isinstance(error, requests.exceptions.Timeout):
        return f"nothing within {ANSWER_S:g} s"
    text = str(error)
    for known in ("Connection refused", "Name or service not known", "No route to host", "Connection reset"):
        if known.lower() in text.lower():
            return known.lower()
    return type(error).__name__


def living_nodes(launch: Launch) -> list[Node]:
    """The nodes of the cluster that are alive.

    Raises:
        ConfigError: the cluster tells of none; right after its start it may take seconds before it does.
    """
    deadline = time.monotonic() + ANSWER_S
    while True:
        states: Sequence[Any] = list_nodes(address=launch.address, limit=1000, filters=[("state", "=", "ALIVE")])
        nodes = [
            Node(state.node_ip, state.resources_total.get("GPU", 0.0), state.resources_total.get("CPU", 0.0))
            for state in states
            if state.resources_total
        ]
        if nodes:
            return nodes
        if time.monotonic() > deadline:
            raise ConfigError([f"launch.address={launch.address}: the cluster tells of no living node: ray status"])
        time.sleep(POLL_S)


def capacity_problems(settings: Settings, config: DictConfig, nodes: Sequence[Node]) -> list[str]:
    """Why a run would wait forever on these nodes; empty when it fits."""
    taken = gpu_roles(settings, config)
    asked, given = sum(role.total for role in taken), sum(node.gpus for node in nodes)
    arithmetic = f"{' + '.join(str(role) for role in taken if role.total)}: {asked:g} GPUs asked"
    offer = f"{given:g} on the cluster ({len(nodes)} nodes: {', '.join(f'{node.gpus:g}' for node in nodes)})"
    if settings.cluster.device == "cpu":
        slots = sum(node.cpus for node in nodes)
        if given < asked or slots < CPU_SLOTS:
            return [
                f"cluster={settings.cluster.name}: the cluster offers {slots:g} CPU slots and {given:g} GPU slots; a "
                f"run without GPUs needs {CPU_SLOTS} and {asked:g}, which are names for places, not devices: "
                f"ray start --head --num-cpus={CPU_SLOTS} --num-gpus={asked:g}"
            ]
        return []
    if asked > given:
        return [f"{arithmetic}, {offer}: choose a smaller cluster=, or launch.cluster_grows=true with an autoscaler"]
    unplaced = first_unplaced(taken, [node.gpus for node in nodes])
    if unplaced is not None:
        return [f"{arithmetic}, {offer}: no node has {unplaced.gpus:g} GPUs left for a block of {unplaced.name}"]
    return []
