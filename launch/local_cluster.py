"""A Ray cluster with a job server on this machine, for one command: `ray start --head`, ended afterwards.

    python -m launch.local_cluster python -m launch.submit experiment=quickstart cluster=ray_cpu

Its ports, token and folder are its own, so it disturbs no other Ray and nobody else can use it. The command finds it
through RAY_API_SERVER_ADDRESS. Run folders outlive it; the cluster's logs do not.
"""

from __future__ import annotations

import json
import os
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from types import TracebackType

import psutil
import requests

from foundation.settings.terminal import EXIT_WRONG_INPUT

START_S = 120.0
END_S = 10.0
POLL_S = 0.5
PORTS = range(7000, 9900)
"""Below those that Ray gives to its workers (10002 on) and the kernel to clients."""
OBJECT_STORE_BYTES = 500_000_000


class LocalCluster:
    """Context manager. The head node offers CPU and GPU slots, which are places for actors, not devices.

    Args:
        cpus, gpus: slots of the head node; the defaults hold one run of `cluster=ray_cpu`.
        resources: further Ray resources of the head node.

    Raises:
        RuntimeError: Ray did not start; the message holds the end of its output.
    """

    def __init__(self, cpus: int = 16, gpus: int = 1, resources: Mapping[str, float] | None = None) -> None:
        self._slots = (cpus, gpus, resources or {})
        self._token = secrets.token_hex(32)
        self._nodes: list[subprocess.Popen[bytes]] = []

    def __enter__(self) -> LocalCluster:
        # Ray's sockets lie in it, and the path of a socket has 107 characters at most.
        self._folder = tempfile.TemporaryDirectory(prefix="ray", dir="/tmp", ignore_cleanup_errors=True)
        self._port, self._dashboard, agent, client = free_ports(4)
        head = ["--head", f"--port={self._port}", f"--dashboard-port={self._dashboard}"]
        head += [f"--dashboard-agent-listen-port={agent}", f"--ray-client-server-port={client}"]
        self._start([*head, f"--temp-dir={self._folder.name}/r"], *self._slots)
        self._wait_until_it_takes_jobs()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for node in reversed(self._nodes):
            end_tree(node)
        self._folder.cleanup()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self._dashboard}"

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use this cluster; `python` is that of this environment."""
        return {
            **{name: value for name, value in os.environ.items() if not name.startswith("RAY_")},
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "RAY_API_SERVER_ADDRESS": self.address,
            "RAY_AUTH_MODE": "token",
            "RAY_AUTH_TOKEN": self._token,
            "RAY_USAGE_STATS_ENABLED": "0",
        }

    def add_node(self, cpus: int, gpus: int) -> subprocess.Popen[bytes]:
        """A further node, a second raylet on this machine, once it has joined.

        Returns:
            Its process; `end_tree` makes the node fail.

        Raises:
            RuntimeError: it did not join in time.
        """
        before = self.living()
        # A folder of its own: a node that makes a job's environment there deletes what another node has at this place.
        folder = f"{self._folder.name}/r{len(self._nodes)}"
        process = self._start([f"--address=127.0.0.1:{self._port}", f"--temp-dir={folder}"], cpus, gpus, {})
        deadline = time.monotonic() + START_S
        while not self.living() - before:
            if time.monotonic() > deadline:
                raise RuntimeError("the further node did not join the cluster")
            time.sleep(POLL_S)
        return process

    def living(self) -> set[str]:
        """Ids of the nodes that are alive."""
        nodes = [node["raylet"] for node in self.get("/nodes?view=summary").json()["data"]["summary"]]
        return {node["nodeId"] for node in nodes if node.get("state") == "ALIVE"}

    def get(self, path: str) -> requests.Response:
        """An answer of the dashboard, such as that of ``/api/jobs/``."""
        return requests.get(f"{self.address}{path}", headers={"Authorization": f"Bearer {self._token}"}, timeout=END_S)

    def _start(
        self, arguments: Sequence[str], cpus: int, gpus: int, resources: Mapping[str, float]
    ) -> subprocess.Popen[bytes]:
        command = [str(Path(sys.executable).parent / "ray"), "start", *arguments, "--block", "--disable-usage-stats"]
        command += [f"--resources={json.dumps(dict(resources))}"]
        command += [f"--num-cpus={cpus}", f"--num-gpus={gpus}", f"--object-store-memory={OBJECT_STORE_BYTES}"]
        # `ray start` would join the cluster that this variable names, and it is not up yet.
        environment = {name: value for name, value in self.environment.items() if name != "RAY_API_SERVER_ADDRESS"}
        with (Path(self._folder.name) / f"node-{len(self._nodes)}.log").open("w") as log:
            process = subprocess.Popen(
                command,
                env=environment,
                cwd=self._folder.name,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
        self._nodes.append(process)
        return process

    def _wait_until_it_takes_jobs(self) -> None:
        deadline = time.monotonic() + START_S
        while time.monotonic() < deadline and self._nodes[0].poll() is None:
            with suppress(requests.exceptions.ConnectionError):  # not up yet
                if self.get("/api/jobs/").ok and self.living():
                    return
            time.sleep(POLL_S)
        log = (Path(self._folder.name) / "node-0.log").read_text(errors="replace")
        self.__exit__(None, None, None)
        raise RuntimeError(f"Ray did not start on this machine:\n{log[-3000:]}")


def free_ports(n: int) -> list[int]:
    """Ports of this machine that nobody uses now."""
    found: list[int] = []
    for port in PORTS:
        with socket.socket() as probe:
            try:
                probe.bind(("0.0.0.0", port))  # noqa: S104 - closed at once
            except OSError:
                continue
        found.append(port)
        if len(found) == n:
            return found
    raise RuntimeError(f"fewer than {n} free ports between {PORTS.start} and {PORTS.stop}")


def end_tree(process: subprocess.Popen[bytes]) -> None:
    """End a process and all that it started."""
    try:
        head = psutil.Process(process.pid)
        family = [head, *head.children(recursive=True)]
    except psutil.NoSuchProcess:
        family = []
    for member in family:
        try:
            member.kill()
        except psutil.NoSuchProcess:
            continue
    psutil.wait_procs(family, timeout=END_S)
    process.wait()


def main() -> int:
    """Run a command with a cluster; returns the command's exit code."""
    command = sys.argv[1:]
    if not command:
        print("give a command: python -m launch.local_cluster COMMAND [ARGUMENT ...]", file=sys.stderr)
        return EXIT_WRONG_INPUT
    with LocalCluster() as cluster:
        done = subprocess.run(command, env=cluster.environment, check=False)
    return done.returncode


if __name__ == "__main__":
    sys.exit(main())
