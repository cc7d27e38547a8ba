"""The reward service side by side in one run: rollouts a second, calls a step, and what rewards add to a step.

    python -m benchmarks.reward_service [--seconds 6] [--out service.json]

The judge is `benchmarks.local_judge`, a server of the right form without a model, in a process of its own: what is
measured is the service around the judges, not a judge. Three tables:

1. Scored rollouts a second against judges of 0, 50 and 200 ms: ours; a new HTTP session a call, as verl's examples do;
   one rollout after the other. Every rollout is different and asks PatternRM, one in four asks the fallback judge too.
   CPU ms: of this process, which is what one reward worker can do; more workers do more.
2. Calls that the judges get for a step of 1,024 rollouts, as each way of saving calls is added. The server counts them.
3. Seconds of a step whose generation is simulated: BaseRL and PatternRL, each with streamed rewards (a rollout is
   scored while others are generated) and with rewards that wait for the whole batch. Here the judge answers so many
   requests at once (--slots).

For the real step on real models: `python -m benchmarks.step --arms pattern_rl base_rl`.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import random
import tempfile
import time
from collections.abc import AsyncIterator, Sequence
from contextlib import asynccontextmanager
from itertools import count
from pathlib import Path
from statistics import mean
from typing import Any

from rich.console import Console
from rich.table import Table

from benchmarks.local_judge import local_judge, requests_since_last_look
from benchmarks.service_arms import scorer, session_per_call
from benchmarks.simulated_rollouts import one_step
from reward_workers.reward_manager import judge_clients
from reward_workers.scoring import RolloutScorer
from reward_workers.terms.term import Rollout

CONCURRENCY = (32, 256, 1024)
LATENCIES_S = (0.0, 0.05, 0.2)
ACCURACIES = (0.3, 0.5, 0.7)
WORDS = 0.25
DUPLICATES = 0.12
"""Recorded quickstart runs: 22 to 28 % of rollouts reach the fallback judge, 9 to 16 % repeat a sibling's text."""
STEP = 1024
console = Console(highlight=False, width=110)


@asynccontextmanager
async def opened(made: RolloutScorer) -> AsyncIterator[RolloutScorer]:
    """A scorer whose connections are closed afterwards."""
    clients = judge_clients(made)
    try:
        yield made
    finally:
        for client in clients.values():
            await client.aclose()


# ---- 1. throughput ----


async def throughput(made: RolloutScorer, concurrency: int, seconds: float) -> dict[str, float]:
    """Rollouts a second with so many in flight, CPU time of each here, and how many stayed unscored or raised.

    Counted are `seconds` after as many more, in which the connections are opened that a worker then keeps for days.
    """
    rollouts = (
        rollout
        for seed in count()
        for rollout in one_step(STEP, accuracy=1.0, words=WORDS, duplicates=0.0, seed=seed, distinct=True)
    )
    scored = failed = 0
    over = False

    async def lane() -> None:
        nonlocal scored, failed
        while not over:
            try:
                record = await made.score(next(rollouts))
            except Exception:  # noqa: BLE001 - the stock arm has no other answer to a broken connection
                failed += 1
                continue
            failed += record.reward is None
            scored += record.reward is not None

    lanes = [asyncio.create_task(lane()) for _ in range(concurrency)]
    await asyncio.sleep(seconds)
    begun, cpu_begun, scored_before = time.monotonic(), time.process_time(), scored
    await asyncio.sleep(seconds)
    wall_s, cpu_s, counted = time.monotonic() - begun, time.process_time() - cpu_begun, scored - scored_before
    over = True
    await asyncio.gather(*lanes)
    return {"per_s": counted / wall_s, "cpu_ms": cpu_s * 1e3 / counted if counted else float("nan"), "failed": failed}


def measure_throughput(seconds: float) -> list[dict[str, Any]]:
    rows = []
    for latency_s in LATENCIES_S:
        with local_judge(latency_s) as root:
            for concurrency in (1, *CONCURRENCY):
                for arm in ("serial",) if concurrency == 1 else ("ours", "session a call"):
                    console.print(f"throughput: {latency_s * 1e3:.0f} ms, {concurrency} in flight, {arm}")

                    async def run(arm: str = arm, concurrency: int = concurrency) -> dict[str, float]:
                        ours = scorer(root, concurrency=concurrency, gate__probability=1.0)
                        async with opened(ours):
                            made = session_per_call(ours, root) if arm == "session a call" else ours
                            return await throughput(made, concurrency, seconds)

                    rows.append({"latency_s": latency_s, "in_flight": concurrency, "arm": arm, **asyncio.run(run())})
    return rows


def throughput_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title="scored rollouts a second of one reward worker (local server; 1.25 calls a rollout)")
    for column in ("judge ms", "in flight", "ours", "session a call", "serial", "CPU ms o / s", "failed o / s"):
        table.add_column(column, justify="right")
    cell = {(row["latency_s"], row["in_flight"], row["arm"]): row for row in rows}
    for latency_s in LATENCIES_S:
        serial = cell[latency_s, 1, "serial"]["per_s"]
        for concurrency in CONCURRENCY:
            ours, stock = (cell[latency_s, concurrency, arm] for arm in ("ours", "session a call"))
            table.add_row(
                f"{latency_s * 1e3:.0f}",
                f"{concurrency:,}",
                f"{ours['per_s']:,.0f}",
                f"{stock['per_s']:,.0f}",
                f"{serial:,.1f}",
                f"{ours['cpu_ms']:.2f} / {stock['cpu_ms']:.2f}",
                f"{ours['failed']:.0f} / {stock['failed']:.0f}",
            )
    return table


# ---- 2. calls a step ----


def measure_calls() -> list[dict[str, Any]]:
    """Requests of a step as each way of saving is added; the last row is the same step once more after a restart."""
    rows = []
    with local_judge(0.0) as root:
        for accuracy in ACCURACIES:
            console.print(f"calls: accuracy {accuracy:.0%}")
            with tempfile.TemporaryDirectory() as folder:
                for name, settings, distinct, cached in (
                    ("rules first, every rollout labelled", {"score_incorrect": True, "gate__probability": 1.0}, 1, 0),
                    ("+ wrong ones are not labelled", {"gate__probability": 1.0}, 1, 0),
                    ("+ closed gates are not labelled", {}, 1, 0),
                    ("+ identical calls are made once", {}, 0, 0),
                    ("+ cache on disk, empty", {}, 0, 1),
                    ("the same step again after a restart", {}, 0, 1),
                ):
                    cache = Path(folder) / "cache" if cached else None
                    rollouts = one_step(
                        STEP, accuracy=accuracy, words=WORDS, duplicates=DUPLICATES, seed=1, distinct=bool(distinct)
                    )
                    asyncio.run(_score_all(scorer(root, concurrency=64, cache=cache, **settings), rollouts))
                    asked = requests_since_last_look(root)
                    row = {"pattern_rm": asked.get("pattern-rm", 0), "fallback": asked.get("answer-judge", 0)}
                    rows.append({"accuracy": accuracy, "saving": name, **row})
    return rows


async def _score_all(made: RolloutScorer, rollouts: Sequence[Rollout]) -> None:
    async with opened(made):
        await asyncio.gather(*(made.score(rollout) for rollout in rollouts))


def calls_table(rows: Sequence[dict[str, Any]]) -> Table:
    table = Table(title=f"calls of a step of {STEP:,} rollouts: PatternRM + fallback judge")
    table.add_column("saving")
    for accuracy in ACCURACIES:
        table.add_column(f"{accuracy:.0%} right", justify="right")
    for name in dict.fromkeys(row["saving"] for row in rows):
        cells = [row for row in rows if row["saving"] == name]
        table.add_row(name, *(f"{row['pattern_rm']:,} + {row['fallback']:,}" for row in cells))
    return table


# ---- 3. step time ----


STEP_ARMS = tuple((reward, when) for when in ("streamed", "after the batch") for reward in ("BaseRL", "PatternRL"))


def measure_steps(slots: int, generation_s: float, repeats: int) -> list[dict[str, Any]]:
    """Seconds from the start of generation to the last reward."""
    draw = random.Random(7)
    lengths = [draw.lognormvariate(0.0, 0.5) for _ in range(STEP)]
    scale = generation_s / max(lengths)
    finished_s = [length * scale for length in lengths]
    rows = []
    for latency_s in LATENCIES_S[1:]:
        with local_judge(latency_s, slots) as root:
            for repeat in range(repeats):
                rollouts = one_step(STEP, accuracy=0.5, words=WORDS, duplicates=DUPLICATES, seed=repeat)
                for reward, when in STEP_ARMS:
                    console.print(f"steps: {latency_s * 1e3:.0f} ms, {reward} {when}, {repeat + 1} of {repeats}")
                    made = scorer(root, concurrency=256, pattern_penalty=reward == "PatternRL")
                    step_s = asyncio.run(_step(made, rollouts, finished_s, streamed=when == "streamed"))
                    rows.append({"latency_s": latency_s, "reward": reward, "when": when, "step_s": step_s})
    return rows


async def _step(made: RolloutScorer, rollouts: Sequence[Rollout], finished_s: Sequence[float], streamed: bool) -> float:
    async def one(rollout: Rollout, after_s: float) -> None:
        await asyncio.sleep(max(0.0, begun + after_s - time.monotonic()))
        await made.score(rollout)

    async with opened(made):
        begun = time.monotonic()
        if not streamed:
            await asyncio.sleep(max(finished_s))
        await asyncio.gather(*(one(rollout, after_s) for rollout, after_s in zip(rollouts, finished_s, strict=True)))
        return time.monotonic() - begun


def steps_table(rows: Sequence[dict[str, Any]], slots: int, generation_s: float) -> Table:
    table = Table(title=f"seconds of a simulated step: generation {generation_s:g} s, judge with {slots} slots")
    for column in ("judge ms", "rewards", "BaseRL s", "PatternRL s", "PatternRL over BaseRL", "in % of the step"):
        table.add_column(column, justify="left" if column == "rewards" else "right")
    for latency_s, when in dict.fromkeys((row["latency_s"], row["when"]) for row in rows):
        base, pattern = (
            [r["step_s"] for r in rows if (r["reward"], r["latency_s"], r["when"]) == (reward, latency_s, when)]
            for reward in ("BaseRL", "PatternRL")
        )
        added = mean(pattern) - mean(base)
        table.add_row(
            f"{latency_s * 1e3:.0f}",
            when,
            *(f"{mean(steps):.2f} ({min(steps):.2f} to {max(steps):.2f})" for steps in (base, pattern)),
            f"{added:+.2f} s",
            f"{added / mean(base):+.1%}",
        )
    return table


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--seconds", type=float, default=6.0, help="of each cell of the first table, after as many to warm up"
    )
    parser.add_argument(
        "--slots", type=int, default=64, help="requests that the judge of the third table answers at once"
    )
    parser.add_argument("--generation-s", type=float, default=10.0, help="until the longest rollout of a step is there")
    parser.add_argument("--repeats", type=int, default=3, help="steps of each arm of the third table")
    parser.add_argument("--out", type=Path, help="also write all rows to this JSON file")
    options = parser.parse_args()
    result = {"throughput": measure_throughput(options.seconds)}
    console.print(throughput_table(result["throughput"]))
    result["calls"] = measure_calls()
    console.print(calls_table(result["calls"]))
    result["steps"] = measure_steps(options.slots, options.generation_s, options.repeats)
    console.print(steps_table(result["steps"], options.slots, options.generation_s))
    if options.out:
        options.out.write_text(json.dumps(result, indent=2) + "\n")


if __name__ == "__main__":
    main()
