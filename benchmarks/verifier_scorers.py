r"""The scorers that `benchmarks.verifier` compares, each run in a child process of its own.

    python -m benchmarks.verifier_scorers SCORER CASES.jsonl FIRST CPU

scores the rows of a file from row FIRST on, pinned to one CPU with everything that it starts, and writes one line of
JSON a row: [index, 1 | 0 | null, seconds]. The seconds are wall time around the one call; nothing else is in them.

Left out of verl's scorers: `prime_math` and `geo3k` (their graders evaluate model text as code; `geo3k` also needs a
package that verl does not install), `math_batch` (is `math_reward`), `search_r1_like_qa_em` (reads <answer> tags and a
dictionary of targets, so that it calls every boxed answer wrong), `rlla` (tool calls), `prime_code` and
`sandbox_fusion` (programs).
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import psutil

from benchmarks.verifier_cases import Case, load

Score = Callable[[Case], int | None]
Batch = Callable[[Sequence[Case]], list[int | None]]

BATCH_SIZE = 64
"""Rollouts that an async reward worker scores at the same time."""

WARM_UP = (
    Case("warm-up-1", "warm-up", r"So \boxed{42}.", "42", "integer", None, 1, 1),
    Case("warm-up-2", "warm-up", r"So \boxed{\frac{1}{3}}.", r"\frac{2}{6}", "fraction", None, 1, 1),
    Case("warm-up-3", "warm-up", r"So \boxed{(x+2)^2}.", "x^2+4x+4", "expression", None, 1, 1),
)
"""Scored before the first measured row: imports, regular expressions and child processes are then there."""


def rules() -> Score:
    """Ours without the symbolic stage."""
    from reward_workers.verifier import verify_rules

    def score(case: Case) -> int | None:
        return verify_rules(case.response, case.reference, case.answer_type, case.options).value

    return score


def ours() -> Score:
    """Ours with the symbolic stage, one row after the other."""
    from reward_workers.verifier import Verifier

    verifier = Verifier()

    def score(case: Case) -> int | None:
        return verifier.verify_blocking(case.response, case.reference, case.answer_type, case.options).value

    return score


def ours_async() -> Batch:
    """Ours as a reward worker calls it: many rows at the same time."""
    from reward_workers.verifier import Verifier

    verifier, runner = Verifier(), asyncio.Runner()

    async def score_all(cases: Sequence[Case]) -> list[int | None]:
        verdicts = await asyncio.gather(
            *(verifier.verify(case.response, case.reference, case.answer_type, case.options) for case in cases)
        )
        return [verdict.value for verdict in verdicts]

    return lambda cases: runner.run(score_all(cases))


def _math_verify(answer_of: Callable[[Case], str]) -> Score:
    """math-verify in the configuration that gets most public cases right: both sides as LaTeX, boxes first.

    Of 54 combinations (reference bare, in dollars or boxed; LaTeX, expression and string targets on either side) this
    one was best. Gold is parsed first, and its timeouts (SIGALRM, 5 s each) are on.
    """
    from math_verify import ExprExtractionConfig, LatexExtractionConfig, parse, verify

    boxed_first = LatexExtractionConfig(boxed_match_priority=0)
    gold_targets, targets = [boxed_first, ExprExtractionConfig()], [boxed_first]

    def score(case: Case) -> int | None:
        gold = parse(f"${case.reference}$", gold_targets)
        return int(verify(gold, parse(answer_of(case), targets)))

    return score


def math_verify() -> Score:
    """math-verify on the whole response."""
    return _math_verify(lambda case: case.response)


def math_verify_box() -> Score:
    """math-verify on the box that our extraction found, which is faster and better than its own search."""
    from reward_workers.verifier import extract_boxed

    def box(case: Case) -> str:
        content = extract_boxed(case.response).content
        return "" if content is None else rf"\boxed{{{content}}}"

    return _math_verify(box)


def verl_math_verify() -> Score:
    """verl's wrapper around math-verify: a pool of four processes with a timeout of 30 s."""
    from verl.utils.reward_score.math_verify import compute_score

    return lambda case: int(compute_score(case.response, case.reference) >= 1)


def verl_math_reward() -> Score:
    """verl's scorer of MATH: the last box, compared as a normalised string."""
    from verl.utils.reward_score.math_reward import compute_score

    return lambda case: int(compute_score(case.response, case.reference) >= 1)


def verl_math_dapo() -> Score:
    """verl's scorer of DAPO and AIME: 'Answer:' first, then the box within the last 100 characters."""
    from verl.utils.reward_score.math_dapo import compute_score

    return lambda case: int(compute_score(case.response, case.reference)["score"] >= 1)


def verl_gsm8k() -> Score:
    """verl's scorer of GSM8K, flexible: the last number of the last 300 characters (strict needs '#### 42')."""
    from verl.utils.reward_score.gsm8k import compute_score

    return lambda case: int(compute_score(case.response, case.reference, method="flexible") >= 1)


SCORERS: dict[str, Callable[[], Any]] = {
    "rules": rules,
    "ours": ours,
    "ours-async": ours_async,
    "math-verify": math_verify,
    "math-verify-box": math_verify_box,
    "verl-math_verify": verl_math_verify,
    "verl-math_reward": verl_math_reward,
    "verl-math_dapo": verl_math_dapo,
    "verl-gsm8k": verl_gsm8k,
}
BATCHED = ("ours-async",)
READ_MATHEMATICS = ("rules", "ours", "math-verify", "math-verify-box", "verl-math_verify")
"""Shown by answer type too; the others compare strings, and their speed does not depend on the type."""


def run_child(name: str, path: Path, first: int, cpu: int) -> None:
    """Score rows and write the lines; whatever a scorer prints goes to stderr."""
    os.sched_setaffinity(0, {cpu})
    out = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)
    cases = load(path)
    scorer = SCORERS[name]()
    one = (lambda case: scorer([case])[0]) if name in BATCHED else scorer
    for case in WARM_UP:
        one(case)
    _wait_for_idle_children()
    out.write("ready\n")
    size = BATCH_SIZE if name in BATCHED else 1
    for start in range(first, len(cases), size):
        rows = cases[start : start + size]
        begun = time.perf_counter()
        try:
            values = scorer(rows) if name in BATCHED else [scorer(rows[0])]
        except Exception as error:  # noqa: BLE001 - an upstream scorer that raises gives no reward
            print(f"{name}: {rows[0].id}: {type(error).__name__}", file=sys.stderr)
            values = [0] * len(rows)
        seconds = (time.perf_counter() - begun) / len(rows)
        out.write("".join(json.dumps([start + i, value, seconds]) + "\n" for i, value in enumerate(values)))
    out.flush()
    os._exit(0)  # a worker of an upstream pool that still hangs must not hold this process


def _wait_for_idle_children(quiet_s: float = 1.0) -> None:
    """A scorer's own processes may still be starting; they share its core."""
    children = psutil.Process().children(recursive=True)
    used, quiet_since = -1.0, time.monotonic()
    while children and time.monotonic() - quiet_since < quiet_s:
        now = sum(sum(child.cpu_times()[:2]) for child in children if child.is_running())
        if now != used:
            used, quiet_since = now, time.monotonic()
        time.sleep(0.05)
        children = psutil.Process().children(recursive=True)


if __name__ == "__main__":
    run_child(sys.argv[1], Path(sys.argv[2]), int(sys.argv[3]), int(sys.argv[4]))
