"""CPU time of the agent loop per rollout: this project's against stock verl's, in one process.

    python -m benchmarks.agent_loop [--policy assets/toy/policy] [--prompts 16] [--n 8] [--side 64]

Both workers get the same prompts. The rollout server answers at once, the reward worker takes pickled batches (their
unpickling counts too), and TransferQueue is a dict: what is measured is the worker's own work (render, preprocess,
positions, reward call, rows). Left out, because it needs the services: image transfer to the rollout server, and the
queue's round trips (one write per group here, one per rollout in stock verl).
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import sys
import time
from pathlib import Path
from types import ModuleType

ROOT = Path(__file__).resolve().parents[1]
N_TOKENS = 32
EOS = 2


def load_in_process() -> ModuleType:
    """The harness that the tests use; test folders are no packages."""
    path = ROOT / "tests" / "rollout" / "in_process.py"
    spec = importlib.util.spec_from_file_location("rollout_in_process", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module  # its dataclasses look it up
    spec.loader.exec_module(module)
    return module


def measure(kind: str, policy: Path, prompts: int, n: int, side: int) -> tuple[float, float]:
    """CPU milliseconds per rollout and bytes sent to reward workers per rollout, after one prompt of warm-up."""
    harness = load_in_process()
    config = harness.compose(policy, n, 4096)
    agent = {"stock": "single_turn_agent", "pattern": "pattern_single_turn"}[kind]
    with harness.worker(kind, config, lambda _: [*range(100, 100 + N_TOKENS - 1), EOS]) as (worker, queue, _, rewards):
        rows = [harness.prompt_row(str(i), agent, f"question {i}", [(side, side)], index=i) for i in range(prompts + 1)]

        async def run() -> tuple[float, int]:
            await harness.run_prompts_async(worker, rows[:1])
            before = sum(reward.n_bytes for reward in rewards)
            start = time.process_time()
            await harness.run_prompts_async(worker, rows[1:])
            return time.process_time() - start, sum(reward.n_bytes for reward in rewards) - before

        seconds, sent = asyncio.run(run())
        if len(queue.rows) != (prompts + 1) * n:
            raise RuntimeError(f"{kind}: {len(queue.rows)} rows for {(prompts + 1) * n} rollouts; see the errors above")
    return seconds / (prompts * n) * 1e3, sent / (prompts * n)


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--policy", type=Path, default=ROOT / "assets" / "toy" / "policy")
    parser.add_argument("--prompts", type=int, default=16)
    parser.add_argument("--n", type=int, default=8, help="rollouts per prompt")
    parser.add_argument("--side", type=int, default=64, help="width and height of the image in pixels")
    args = parser.parse_args()
    for kind in ("stock", "pattern"):
        milliseconds, sent = measure(kind, args.policy, args.prompts, args.n, args.side)
        print(
            f"{kind:8} {milliseconds:7.2f} ms CPU/rollout  {sent / 1e3:9.1f} kB to the reward worker/rollout",
            flush=True,
        )


if __name__ == "__main__":
    main()
