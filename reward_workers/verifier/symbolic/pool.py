"""The symbolic stage: a pool of killable child processes, used from threads, async code or a Ray actor.

One thread drives one child. Nothing here uses signals of the parent, forks the parent, or imports the symbolic library.
"""

from __future__ import annotations

import asyncio
import queue
import threading
import time
from collections import OrderedDict
from concurrent.futures import Future
from dataclasses import dataclass

from foundation.runs.records import Verdict
from reward_workers.verifier.rules import guard
from reward_workers.verifier.rules.normalize import canonical
from reward_workers.verifier.rules.notation.equation import sides
from reward_workers.verifier.rules.outcome import Outcome, Question
from reward_workers.verifier.symbolic.child_handle import ChildLost, SymbolicChild

MEMORY_BYTES = 2 << 30
START_TIMEOUT_S = 120.0
MAX_QUEUE = 4096
RECYCLE_AFTER = 5000
MAX_KNOWN = 8192
"""Outcomes remembered in one process."""


@dataclass(slots=True)
class PoolCounts:
    """What the pool did since it started.

    Attributes:
        asked: questions that reached the pool.
        blocked: stopped by the static guard.
        known: answered from an earlier outcome.
        timeouts, deaths: children killed at the deadline, children that died by themselves.
    """

    asked: int = 0
    blocked: int = 0
    known: int = 0
    timeouts: int = 0
    deaths: int = 0


class SymbolicPool:
    """Decides questions in child processes that are killed and replaced at the deadline.

    Args:
        workers: child processes that work at the same time; one more is kept warm as a replacement.
        timeout_s: deadline of one question, from its dispatch to a child.

    Raises:
        ValueError: workers below 1 or a timeout that is not positive.

    >>> pool = SymbolicPool(workers=1, timeout_s=30.0)
    >>> pool.submit(Question("(x-1)(x+4)", "x^2+3x-4")).result()  # in async code: `await pool.decide(...)`
    Outcome(value=1, reason='symbolic_equal')
    >>> asyncio.run(pool.equivalent(r"$2x - y + 1 = 0$", "y = 2x + 1")).reason
    'same_curve'
    >>> pool.close()
    """

    def __init__(self, workers: int = 1, timeout_s: float = 3.0, memory_bytes: int = MEMORY_BYTES) -> None:
        if workers < 1:
            raise ValueError(f"symbolic_workers={workers} must be 1 or more")
        if timeout_s <= 0:
            raise ValueError(f"symbolic_timeout_s={timeout_s} must be above 0")
        self.counts = PoolCounts()
        self._timeout_s = timeout_s
        self._memory_bytes = memory_bytes
        self._queue: queue.Queue[tuple[Question, Future[Outcome]] | None] = queue.Queue()
        self._lock = threading.Lock()
        self._known: OrderedDict[Question, Outcome] = OrderedDict()
        self._spare: SymbolicChild | None = None
        self._children: set[SymbolicChild] = set()
        self._closed = False
        self._workers = workers
        self._threads: list[threading.Thread] = []

    async def equivalent(self, answer: str, reference: str) -> Verdict:
        """Whether two answers, as written, are the same expression or equation."""
        started = time.perf_counter()
        a, r = canonical(answer), canonical(reference)
        relation = "equation" if sides(a) is not None and sides(r) is not None else "expression"
        outcome = await self.decide(Question(a, r, relation))  # type: ignore[arg-type]
        return Verdict(outcome.value, "symbolic", outcome.reason, answer, time.perf_counter() - started)

    async def decide(self, question: Question) -> Outcome:
        """Outcome of one question in canonical form; an unresolved outcome says why."""
        return await asyncio.wrap_future(self.submit(question))

    def submit(self, question: Question) -> Future[Outcome]:
        """The same as a future, for threads without an event loop."""
        future: Future[Outcome] = Future()
        early = self._early(question)
        if early is not None:
            future.set_result(early)
            return future
        with self._lock:
            if self._closed:
                raise RuntimeError("the symbolic pool is closed")
            if not self._threads:
                self._threads = [
                    threading.Thread(target=self._serve, name=f"symbolic-{index}", daemon=True)
                    for index in range(self._workers)
                ]
                for thread in self._threads:
                    thread.start()
        self._queue.put((question, future))
        return future

    def _early(self, question: Question) -> Outcome | None:
        """Outcomes that need no child: known before, stopped by the guard, or too many waiting."""
        with self._lock:
            self.counts.asked += 1
            known = self._known.get(question)
            if known is not None:
                self._known.move_to_end(question)
                self.counts.known += 1
                return known
        stopped = _stopped(question)
        if stopped is not None:
            self.counts.blocked += 1
            return Outcome(None, stopped)
        return Outcome(None, "symbolic_queue_full") if self._queue.qsize() >= MAX_QUEUE else None

    def close(self) -> None:
        """Kill every child and end the threads; waiting questions end as unresolved."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
            children = [*self._children, *([self._spare] if self._spare else [])]
            self._spare = None
        for _ in self._threads:
            self._queue.put(None)
        for child in children:
            child.kill()
        for thread in self._threads:
            thread.join(timeout=10.0)
        while not self._queue.empty():
            waiting = self._queue.get_nowait()
            if waiting is not None and not waiting[1].cancelled():
                waiting[1].set_result(Outcome(None, "symbolic_closed"))

    def child_pids(self) -> list[int]:
        """Process ids of the working children and the spare."""
        with self._lock:
            return [child.pid for child in (*self._children, *([self._spare] if self._spare else []))]

    def _serve(self) -> None:
        child: SymbolicChild | None = None
        while (waiting := self._queue.get()) is not None:
            question, future = waiting
            if not future.set_running_or_notify_cancel():
                continue
            outcome, child = self._answer(question, child)
            future.set_result(outcome)
        if child is not None:
            self._drop(child)

    def _answer(self, question: Question, child: SymbolicChild | None) -> tuple[Outcome, SymbolicChild | None]:
        with self._lock:
            known = self._known.get(question)
        if known is not None:
            return known, child
        try:
            if child is None or child.n_questions >= RECYCLE_AFTER:
                if child is not None:
                    self._drop(child)
                child = self._new_child()
            child.wait_ready(START_TIMEOUT_S)
            self._warm_spare()
            outcome = child.ask(question, self._timeout_s)
        except ChildLost as lost:
            if child is not None:
                self._drop(child)
            with self._lock:
                self.counts.timeouts += lost.reason == "symbolic_timeout"
                self.counts.deaths += lost.reason == "symbolic_died"
            self._remember(question, Outcome(None, lost.reason))
            return Outcome(None, lost.reason), None
        self._remember(question, outcome)
        return outcome, child

    def _remember(self, question: Question, outcome: Outcome) -> None:
        """A question that a child died of is remembered too, so that it is not tried again."""
        with self._lock:
            self._known[question] = outcome
            if len(self._known) > MAX_KNOWN:
                self._known.popitem(last=False)

    def _new_child(self) -> SymbolicChild:
        """Take the warm spare, or start a child when there is none yet."""
        with self._lock:
            if self._closed:
                raise ChildLost("symbolic_closed")
            child = self._spare or SymbolicChild(self._memory_bytes)
            self._spare = None
            self._children.add(child)
            return child

    def _warm_spare(self) -> None:
        """Start the next replacement once the working child is ready, so that the two do not share its start."""
        with self._lock:
            if self._spare is None and not self._closed:
                self._spare = SymbolicChild(self._memory_bytes)

    def _drop(self, child: SymbolicChild) -> None:
        with self._lock:
            self._children.discard(child)
        child.kill()


def _stopped(question: Question) -> str | None:
    texts = [question.answer, question.reference]
    if question.relation == "equation":
        pairs = [sides(text) for text in texts]
        if any(pair is None for pair in pairs):
            return "not_one_equation"
        texts = [side for pair in pairs if pair is not None for side in pair]
    return next((reason for reason in map(guard.blocked, texts) if reason is not None), None)
