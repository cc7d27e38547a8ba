"""A child process of the command as its parent sees it: rules on chunks of rows, replaced when it is lost."""

from __future__ import annotations

import asyncio
import json
import sys
from typing import Any, TypeVar

from reward_workers.verifier.symbolic.child_handle import child_environment
from reward_workers.verifier.symbolic.frames import HEAD_BYTES, body_bytes, frame
from reward_workers.verifier.symbolic.pool import START_TIMEOUT_S

CHUNK_DEADLINE_S = 60.0
"""The rules need microseconds a row; a chunk that takes this long holds a row that does not end."""
ROW_DEADLINE_S = 10.0

_LOST = (TimeoutError, asyncio.IncompleteReadError, ConnectionError)
_Stream = TypeVar("_Stream")


class RulesChild:
    """One child process. Used by one coroutine at a time."""

    def __init__(self, with_explanation: bool) -> None:
        self._with_explanation = with_explanation
        self._process: asyncio.subprocess.Process | None = None

    async def decide(self, lines: list[bytes]) -> list[dict[str, Any]]:
        """Replies of `child_program.decide_lines` that together answer the lines in order.

        One reply, unless the process was lost: then the lines are asked for one by one by its successor, and a line
        that loses that one too is answered by {"lost": reason code}.
        """
        reply = await self._ask(lines, CHUNK_DEADLINE_S if len(lines) > 1 else ROW_DEADLINE_S)
        if "lost" not in reply or len(lines) == 1:
            return [reply]
        return [each for line in lines for each in await self.decide([line])]

    async def _ask(self, lines: list[bytes], deadline_s: float) -> dict[str, Any]:
        if self._process is None:
            self._process = await self._start()
        try:
            async with asyncio.timeout(deadline_s):
                stdin = _pipe(self._process.stdin)
                stdin.write(frame(b"\n".join(lines)))
                await stdin.drain()
                return await _read(self._process)
        except _LOST as error:
            await self.close()
            return {"lost": "rules_timeout" if isinstance(error, TimeoutError) else "rules_died"}

    async def _start(self) -> asyncio.subprocess.Process:
        process = await asyncio.create_subprocess_exec(
            sys.executable,
            "-m",
            "reward_workers.verifier.batch.child_program",
            str(int(self._with_explanation)),
            stdin=asyncio.subprocess.PIPE,
            stdout=asyncio.subprocess.PIPE,
            env=child_environment(),
            start_new_session=True,  # Ctrl-C belongs to the command, which then ends this process
        )
        try:
            async with asyncio.timeout(START_TIMEOUT_S):
                await _read(process)
        except _LOST as error:
            raise RuntimeError("a process for the rules does not start: see its message above") from error
        return process

    async def close(self) -> None:
        """Kill the process and wait for its end; safe to call twice."""
        if self._process is None:
            return
        process, self._process = self._process, None
        if process.returncode is None:
            process.kill()
        await process.wait()


def _pipe(stream: _Stream | None) -> _Stream:
    if stream is None:
        raise AssertionError("the worker has pipes as stdin and stdout")
    return stream


async def _read(process: asyncio.subprocess.Process) -> dict[str, Any]:
    stdout = _pipe(process.stdout)
    size = body_bytes(await stdout.readexactly(HEAD_BYTES))
    message: dict[str, Any] = json.loads(await stdout.readexactly(size))
    return message
