"""The verifier in an async Ray actor: throughput, latency and verdicts when one item in a hundred is hostile.

    python -m benchmarks.verifier_ray [--items 1000] [--hostile-every 100] [--concurrency 64] [--symbolic-every 10]

Honest items are known to be right or wrong by how they are made; those at every `--symbolic-every`-th place need the
symbolic stage and are all different, so that no answer is remembered. Hostile items come from
tests/data/verifier/hostile.jsonl, evenly spread. Latency is what the caller waits, its wait in the actor's queue not
counted (a semaphore of `--concurrency` holds calls back). Exit code 1 when an honest item came out wrong or was lost,
or a hostile one came out right.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import random
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import ray
from rich.console import Console
from rich.table import Table

from foundation.runs.records import SymbolicLosses, Verdict
from reward_workers.verifier import Verifier

ROOT = Path(__file__).resolve().parents[1]
HOSTILE = ROOT / "tests" / "data" / "verifier" / "hostile.jsonl"
KINDS = ("short", "symbolic", "hostile")


@dataclass(frozen=True, slots=True)
class Item:
    """One question to the actor; `truth` is None for a hostile item, which must only not come out right."""

    kind: str
    response: str
    reference: str
    truth: int | None


@dataclass(frozen=True, slots=True)
class Answered:
    item: Item
    verdict: Verdict | None
    seconds: float


class VerifierActor:
    """A Ray actor with one verifier; its calls run side by side in one event loop."""

    def __init__(self, symbolic_workers: int, symbolic_timeout_s: float) -> None:
        self._verifier = Verifier(symbolic_workers=symbolic_workers, symbolic_timeout_s=symbolic_timeout_s)

    async def verify(self, response: str, reference: str) -> Verdict:
        return await self._verifier.verify(response, reference)

    async def children(self) -> list[int]:
        return self._verifier.pool.child_pids() if self._verifier.pool else []

    async def losses(self) -> SymbolicLosses:
        return self._verifier.take_losses()

    async def close(self) -> None:
        self._verifier.close()


def make_items(n: int, hostile_every: int, symbolic_every: int, seed: int = 0) -> list[Item]:
    """Honest items with hostile ones at even distances, the same for the same arguments."""
    stream = random.Random(seed)
    hostile = [json.loads(line) for line in HOSTILE.read_text().splitlines()]
    items = []
    for index in range(n):
        if index % hostile_every == hostile_every - 1:
            row = hostile[index // hostile_every % len(hostile)]
            items.append(Item("hostile", row["response"], row["reference"], None))
        elif index % symbolic_every == 0:
            items.append(_expansion(index + 2, right=stream.random() < 0.5))
        else:
            items.append(_short(stream, right=stream.random() < 0.5))
    return items


def _expansion(a: int, right: bool) -> Item:
    """(x + a)(x - 1) n! against its expansion, whose constant is off by one when the answer is to be wrong.

    The factorial of a variable is what keeps the rules from deciding it.
    """
    constant = a if right else a + 1
    return Item("symbolic", rf"So \boxed{{(x+{a})(x-1)n!}}.", f"(x^2+{a - 1}x-{constant})n!", int(right))


def _short(stream: random.Random, right: bool) -> Item:
    top, bottom = stream.randint(1, 999), stream.randint(2, 99)
    given = top if right else top + 5 * bottom + 1  # far enough to be no rounding
    forms = (
        (str(given), str(top)),
        (rf"\frac{{{given * 3}}}{{{bottom * 3}}}", f"{top}/{bottom}"),
        (r"\text{(A)}" if right else r"\text{(B)}", "A"),
        (f"-1, {given}", rf"\{{{top}, -1\}}"),
    )
    answer, reference = stream.choice(forms)
    return Item("short", rf"We find \boxed{{{answer}}}.", reference, int(right))


async def ask_all(actor: Any, items: list[Item], concurrency: int, deadline_s: float) -> list[Answered]:
    """Every item once, `concurrency` at a time; an item without an answer by the deadline is lost."""
    slots = asyncio.Semaphore(concurrency)

    async def ask(item: Item) -> Answered:
        async with slots:
            started = time.perf_counter()
            try:
                verdict = await asyncio.wait_for(actor.verify.remote(item.response, item.reference), deadline_s)
            except (ray.exceptions.RayError, TimeoutError):
                verdict = None
            return Answered(item, verdict, time.perf_counter() - started)

    return list(await asyncio.gather(*(ask(item) for item in items)))


def faults(answered: list[Answered]) -> list[str]:
    """A line for each item that was lost or has a verdict that it must not have."""
    found = []
    for each in answered:
        if each.verdict is None:
            found.append(f"lost: {each.item}")
        elif each.item.truth is None:
            if each.verdict.value == 1:
                found.append(f"hostile item came out right: {each.item}")
        elif each.verdict.value != each.item.truth:
            found.append(f"wrong: {each.item} {each.verdict}")
    return found


def start_ray() -> None:
    """A Ray of its own, whose workers find this checkout's packages."""
    ray.init(
        address="local",
        include_dashboard=False,
        log_to_driver=False,
        runtime_env={"env_vars": {"PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}},
    )


def start_actor(concurrency: int, symbolic_workers: int, symbolic_timeout_s: float) -> Any:
    actor_class = ray.remote(VerifierActor).options(max_concurrency=concurrency + 4, num_cpus=1)
    return actor_class.remote(symbolic_workers, symbolic_timeout_s)


def table(answered: list[Answered], wall_s: float) -> Table:
    shown = Table(title=f"{len(answered):,} items in {wall_s:.2f} s: {len(answered) / wall_s:,.0f} items a second")
    for column in ("kind", "items", "right", "wrong", "unresolved", "p50 ms", "p99 ms", "slowest s"):
        shown.add_column(column, justify="left" if column == "kind" else "right")
    for kind in (*KINDS, "honest"):
        rows = [a for a in answered if a.item.kind == kind or (kind == "honest" and a.item.truth is not None)]
        if not rows:
            continue
        values = [a.verdict.value if a.verdict else None for a in rows]
        p50, p99, slowest = np.percentile([a.seconds for a in rows], [50, 99, 100])
        counts = (f"{values.count(value):,}" for value in (1, 0, None))
        shown.add_row(kind, f"{len(rows):,}", *counts, f"{1e3 * p50:.1f}", f"{1e3 * p99:.1f}", f"{slowest:.2f}")
    return shown


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--items", type=int, default=1000)
    parser.add_argument("--hostile-every", type=int, default=100, help="one item in so many is hostile")
    parser.add_argument("--symbolic-every", type=int, default=10, help="one item in so many needs the symbolic stage")
    parser.add_argument("--concurrency", type=int, default=64, help="calls at the same time")
    parser.add_argument("--symbolic-workers", type=int, default=1, help="as reward_mix.verifier.symbolic_workers")
    parser.add_argument("--symbolic-timeout", type=float, default=3.0, help="seconds of one symbolic question")
    options = parser.parse_args()
    items = make_items(options.items, options.hostile_every, options.symbolic_every)
    start_ray()
    try:
        actor = start_actor(options.concurrency, options.symbolic_workers, options.symbolic_timeout)
        ray.get(actor.verify.remote(r"\boxed{x+1}", "1+x+0"))  # starts the symbolic children
        started = time.perf_counter()
        answered = asyncio.run(ask_all(actor, items, options.concurrency, deadline_s=120.0))
        wall_s = time.perf_counter() - started
        losses = ray.get(actor.losses.remote())
        ray.get(actor.close.remote())
    finally:
        ray.shutdown()
    console = Console(highlight=False, soft_wrap=True, width=120)
    console.print(table(answered, wall_s))
    console.print(f"symbolic children: {losses.killed} killed at the deadline, {losses.died} died")
    wrong = faults(answered)
    for line in wrong:
        console.print(line, markup=False)
    console.print(f"honest items lost or wrong, hostile items right: {len(wrong)}")
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
