"""A reward worker's link to the judge directory: the only Ray call on the way of a reward, and off that way."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import ray

from reward_workers.judges.outage import Outages
from reward_workers.judges.serving.directory import Addresses, WorkerReport, host_name
from reward_workers.judges.serving.health import WorkerHealth

ASK_EVERY_S = 2.0

logger = logging.getLogger(__name__)


class DirectoryLink:
    """Asks for addresses as long as its actor lives.

    Args:
        run_dir: ``run.dir``, which names the actor that holds the directory.
        use: called with the addresses whenever they have changed, in the event loop of the worker.
        outages: what this worker knows of silent judges; sent with every question.
        health: what it sees of its judges and its cache; asked and sent with every question.

    Raises:
        RuntimeError: this process is no actor of a PatternRL job.
    """

    def __init__(
        self,
        run_dir: str,
        use: Callable[[Addresses], None],
        outages: Outages,
        health: Callable[[], WorkerHealth],
    ) -> None:
        try:
            self._host = ray.get_actor(host_name(run_dir))
        except ValueError as error:
            raise RuntimeError(
                f"no actor {host_name(run_dir)!r} in this Ray job: start the run with python -m trainer.main, whose "
                "task runner knows where the judges are"
            ) from error
        context = ray.get_runtime_context()
        self._worker = context.get_actor_name() or context.get_actor_id()
        self._restarted = context.was_current_actor_reconstructed
        self._use = use
        self._outages = outages
        self._health = health
        self._version = 0
        self._following: asyncio.Task[None] | None = None
        self._first: asyncio.Future[None] | None = None

    async def known(self) -> None:
        """Return once the addresses of this moment are in use; the first caller starts the questions."""
        if self._first is None:
            self._first = asyncio.get_running_loop().create_future()
            self._following = asyncio.create_task(self._follow(self._first))
        await asyncio.shield(self._first)

    async def _follow(self, first: asyncio.Future[None]) -> None:
        while True:
            try:
                await self._ask()
            except ray.exceptions.RayError as error:
                if not first.done():
                    first.set_exception(error)
                logger.warning("the task runner is gone, the judges' addresses stay as they are: %s", error)
                return
            if not first.done():
                first.set_result(None)
            await asyncio.sleep(ASK_EVERY_S)

    async def _ask(self) -> None:
        report = WorkerReport(self._worker, self._version, self._outages.current(), self._restarted, self._health())
        answer: tuple[int, Any] | None = await self._host.judge_report.remote(report)
        self._restarted = False
        if answer is not None:
            self._version, addresses = answer
            self._use(addresses)
