"""Decides a file of cases: rules spread over processes, symbolic questions over one pool, rows out in the order in.

What is held in memory at a time is bounded: a chunk of lines for each process, and the rows that wait for a slower row
before them.
"""

from __future__ import annotations

import asyncio
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any

from foundation.runs.records import Verdict
from reward_workers.verifier.batch.case import Case, encode_row, read_case, verdict_row
from reward_workers.verifier.batch.case_lines import MAX_LINE_BYTES, Line, in_chunks, read_lines
from reward_workers.verifier.batch.child_handle import ROW_DEADLINE_S, RulesChild
from reward_workers.verifier.batch.tally import Tally
from reward_workers.verifier.batch.verdict_file import START_ANEW, VerdictFile
from reward_workers.verifier.cascade import Verifier
from reward_workers.verifier.rules.extract import extract_boxed

MAX_WAITING_CHUNKS = 512
MAX_WAITING_BYTES = 64 << 20
"""Decided rows that wait for a slower row before them."""


class Stopped(Exception):
    """Ctrl-C or SIGTERM; what was decided is kept."""


@dataclass(slots=True)
class _Decided:
    """A chunk of lines, decided."""

    end: int
    rows: list[bytes] = field(default_factory=list)
    malformed: list[tuple[int, str]] = field(default_factory=list)
    tally: Tally = field(default_factory=Tally)


class CaseFile:
    """One run over a file of cases.

    Args:
        cases: JSON lines, one case a line.
        out: where the rows of verdicts go.
        workers: processes for the rules, and as many symbolic children at most.
        with_explanation: give each row its explanation.
        report: told each malformed line, by number and what is wrong.
        advance: told how many bytes and rows are done.

    Attributes:
        tally: all rows of `out`, those of an earlier start too.
        earlier: rows of an earlier start.
        malformed: lines that are no case.
        seconds: wall time of the rows of this start.
    """

    def __init__(
        self,
        cases: Path,
        out: VerdictFile,
        *,
        workers: int,
        with_explanation: bool,
        report: Callable[[int, str], None],
        advance: Callable[[int, int], None],
    ) -> None:
        self._cases = cases
        self._out = out
        self._workers = workers
        self._with_explanation = with_explanation
        self._report = report
        self._advance = advance
        self.tally = Tally()
        self.earlier = 0
        self.malformed = 0
        self.seconds = 0.0

    def run(self) -> None:
        """Decide what is not decided yet.

        Raises:
            Stopped: the user ended it.
            ValueError: the output belongs to other cases.
            OSError: a file cannot be read or written.
        """
        started = time.perf_counter()
        try:
            with self._cases.open("rb") as stream:
                rest = self._after_earlier(read_lines(stream))
                first = next(rest, None)
                if first is None and self._out.earlier == self._out.path:
                    return
                self._out.begin()
                started = time.perf_counter()
                if first is not None:
                    asyncio.run(self._decide(chain([first], rest)))
                self._out.finish()
        except (KeyboardInterrupt, asyncio.CancelledError) as stop:
            raise Stopped from stop
        except ExceptionGroup as failed:
            raise failed.exceptions[0] from None
        finally:
            self.seconds = time.perf_counter() - started
            self._out.close()

    def _after_earlier(self, lines: Iterator[Line]) -> Iterator[Line]:
        """The lines whose rows an earlier start did not leave."""
        earlier = self._out.earlier_rows()
        row = next(earlier, None)
        for line in lines:
            if row is None:
                return chain([line], lines)
            case = self._case(line)
            if isinstance(case, str):
                self._note_malformed(line.number, case)
                continue
            self._out.check(row, case, line.number)
            self.tally.add(row)
            self.earlier += 1
            row = next(earlier, None)
        if row is not None:
            raise ValueError(f"{self._out.earlier} has more rows than {self._cases}: {START_ANEW}")
        return iter(())

    def _case(self, line: Line) -> Case | str:
        """The case of a line, or what is wrong with it."""
        if line.content is None:
            return f"longer than {MAX_LINE_BYTES >> 20} MiB: split it"
        try:
            return read_case(line.content)
        except ValueError as error:
            return str(error)

    def _note_malformed(self, number: int, why: str) -> None:
        self.malformed += 1
        self._report(number, why)

    async def _decide(self, lines: Iterator[Line]) -> None:
        this = asyncio.current_task()
        if this is None:
            raise AssertionError("runs as a task")
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, this.cancel)
        workers = [RulesChild(self._with_explanation) for _ in range(self._workers)]
        self._verifier = Verifier(symbolic_workers=self._workers)
        self._symbolic_slots = asyncio.Semaphore(2 * self._workers)  # keeps the pool's own queue short
        self._waiting = _Waiting()
        try:
            async with asyncio.TaskGroup() as group:
                await self._dispatch(lines, workers, group)
        finally:
            await asyncio.gather(*(worker.close() for worker in workers))
            self._verifier.close()

    async def _dispatch(self, lines: Iterator[Line], workers: list[RulesChild], group: asyncio.TaskGroup) -> None:
        idle: asyncio.Queue[RulesChild] = asyncio.Queue()
        for worker in workers:
            idle.put_nowait(worker)
        in_order: asyncio.Queue[asyncio.Task[_Decided] | None] = asyncio.Queue()
        group.create_task(self._write(in_order))
        for chunk in in_chunks(lines):
            worker = await idle.get()
            await self._waiting.room()
            in_order.put_nowait(group.create_task(self._decide_chunk(chunk, worker, idle)))
            self._waiting.chunks += 1
        in_order.put_nowait(None)

    async def _write(self, in_order: asyncio.Queue[asyncio.Task[_Decided] | None]) -> None:
        while (task := await in_order.get()) is not None:
            decided = await task
            for number, why in sorted(decided.malformed):
                self._note_malformed(number, why)
            self._out.write(decided.rows)
            self.tally.add_dict(decided.tally.as_dict())
            self._waiting.leave(sum(map(len, decided.rows)))
            self._advance(decided.end, self.tally.rows)

    async def _decide_chunk(self, lines: list[Line], worker: RulesChild, idle: asyncio.Queue[RulesChild]) -> _Decided:
        decided = _Decided(lines[-1].end)
        decided.malformed = [(line.number, str(self._case(line))) for line in lines if line.content is None]
        readable = [line for line in lines if line.content is not None]
        replies = await worker.decide([line.content or b"" for line in readable])
        idle.put_nowait(worker)
        entries: list[Any] = []
        for reply in replies:
            entries += [reply] if "lost" in reply else reply["rows"]
            if "lost" not in reply:
                decided.tally.add_dict(reply)
        left = [self._without_rules(line, entry) for line, entry in zip(readable, entries, strict=True) if _left(entry)]
        rows = iter(await asyncio.gather(*left))
        for line, entry in zip(readable, entries, strict=True):
            if isinstance(entry, str):
                decided.rows.append(entry.encode())
            elif entry is not None and "malformed" in entry:
                decided.malformed.append((line.number, entry["malformed"]))
            else:
                row = next(rows)
                decided.tally.add(row)
                decided.rows.append(encode_row(row))
        self._waiting.n_bytes += sum(map(len, decided.rows))
        return decided

    async def _without_rules(self, line: Line, entry: dict[str, str] | None) -> dict[str, Any]:
        """The row of a case that the rules leave to the symbolic stage, or that cost the process which ran them."""
        case = read_case(line.content or b"")
        if entry is not None:
            content = extract_boxed(case.response).content
            return verdict_row(
                case, Verdict(None, "typed", entry["lost"], content, ROW_DEADLINE_S), self._with_explanation
            )
        async with self._symbolic_slots:
            verdict = await self._verifier.verify(case.response, case.reference, case.answer_type, case.options)
        return verdict_row(case, verdict, self._with_explanation)


def _left(entry: Any) -> bool:
    return entry is None or (isinstance(entry, dict) and "lost" in entry)


class _Waiting:
    """Chunks that are not written yet: in work, or decided and waiting for an earlier one."""

    def __init__(self) -> None:
        self.chunks = 0
        self.n_bytes = 0
        self._left = asyncio.Event()

    async def room(self) -> None:
        """Wait until another chunk may come."""
        while self.chunks >= MAX_WAITING_CHUNKS or self.n_bytes >= MAX_WAITING_BYTES:
            self._left.clear()
            await self._left.wait()

    def leave(self, n_bytes: int) -> None:
        """A chunk was written."""
        self.chunks -= 1
        self.n_bytes -= n_bytes
        self._left.set()
