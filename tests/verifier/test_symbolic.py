"""The symbolic stage in its child processes: right verdicts, bounded time, and life after a killed child."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from reward_workers.verifier import SymbolicPool, Verifier
from reward_workers.verifier.rules.outcome import Question

pytestmark = pytest.mark.integration

DATA = Path(__file__).parents[1] / "data" / "verifier"
ROOT = Path(__file__).parents[2]


def rows(name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (DATA / name).read_text().splitlines()]


def is_alive(pid: int) -> bool:
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except FileNotFoundError:
        return False
    return state != "Z"


@pytest.fixture(scope="module")
def verifier() -> Iterator[Verifier]:
    verifier = Verifier(symbolic_timeout_s=10.0)
    yield verifier
    verifier.close()


@pytest.fixture(scope="module")
def pool(verifier: Verifier) -> SymbolicPool:
    assert verifier.pool is not None
    return verifier.pool


def test_public_cases(verifier: Verifier) -> None:
    """No false positive, no false negative, no deferral on the public cases."""

    async def run() -> list[tuple[str, object, object]]:
        wrong = []
        for case in rows("cases_public.jsonl"):
            verdict = await verifier.verify(case["response"], case["reference"], case["answer_type"])
            allowed = {None, case["truth"]} if case["expected"] == "unresolved" else {case["expected"]}
            if verdict.value not in allowed:
                wrong.append((case["id"], verdict, case["expected"]))
        return wrong

    assert asyncio.run(run()) == []


def test_policy_cases(verifier: Verifier) -> None:
    async def run() -> list[tuple[str, object]]:
        wrong = []
        for case in rows("policy_cases.jsonl"):
            response = case["response"] if "response" in case else rf"\boxed{{{case['answer']}}}"
            verdict = await verifier.verify(response, case["reference"], case["answer_type"])
            if ("unresolved" if verdict.value is None else verdict.value) not in case["allowed"]:
                wrong.append((case["id"], verdict))
        return wrong

    assert asyncio.run(run()) == []


def test_hostile_items_are_bounded_and_never_right() -> None:
    verifier = Verifier(symbolic_timeout_s=3.0)

    async def run() -> None:
        await verifier.verify(r"\boxed{x+1}", "1+x+0")  # starts the child
        for item in rows("hostile.jsonl"):
            started = time.perf_counter()
            verdict = await verifier.verify(item["response"], item["reference"])
            assert verdict.value != 1, item["id"]
            assert time.perf_counter() - started < 3.5, item["id"]
            honest = await verifier.verify(r"\boxed{\frac{1}{\sqrt{3}}}", r"\frac{\sqrt{3}}{3}", "expression")
            assert honest.value == 1, item["id"]

    try:
        asyncio.run(run())
    finally:
        verifier.close()


@pytest.mark.parametrize(
    ("answer", "reference", "expected"),
    [
        ("(x-1)(x+4)", "x^2+3x-4", 1),
        ("(x-1)(x+5)", "x^2+3x-4", 0),
        (r"\sqrt{x^2}", "x", None),
        ("2X+3", "2x+3", None),
        (r"\sqrt{2}", "1.41", 1),
        (r"\sqrt{2}", "1.42", 0),
        ("2x-y+1=0", "y=2x+1", 1),
        ("-4x+2y-2=0", "y=2x+1", 1),
        ("2x-y+2=0", "y=2x+1", 0),
        ("x^2=4", "x=2", 0),
        ("xy=1", r"y=\frac{1}{x}", None),
    ],
)
def test_equivalence(pool: SymbolicPool, answer: str, reference: str, expected: int | None) -> None:
    verdict = asyncio.run(pool.equivalent(answer, reference))
    assert verdict.value == expected, verdict
    assert verdict.stage == "symbolic"


def test_guard_costs_no_child() -> None:
    pool = SymbolicPool()
    try:
        assert asyncio.run(pool.equivalent("9^{9^{9^{9}}}", "5")).reason == "guard_tower"
        assert pool.child_pids() == []
    finally:
        pool.close()


def test_stuck_child_is_killed_at_the_deadline_and_replaced() -> None:
    pool = SymbolicPool(timeout_s=4.0)
    try:
        pool.submit(Question("x+1", "x+1+0")).result(60)
        working, spare = pool.child_pids()
        pool.submit(Question("x+5", "x+4+1")).result(60)
        os.kill(working, signal.SIGSTOP)  # a child that never answers
        started = time.perf_counter()
        stuck = pool.submit(Question("x+2", "x+1+1")).result(60)
        assert stuck.reason == "symbolic_timeout"
        assert 3.9 < time.perf_counter() - started < 8.0
        assert not is_alive(working)
        assert pool.submit(Question("x+3", "x+2+1")).result(60).value == 1
        assert spare in pool.child_pids()
        assert pool.submit(Question("x+2", "x+1+1")).result(60).reason == "symbolic_timeout"  # not tried again
        assert pool.counts.timeouts == 1
    finally:
        pool.close()


def test_killed_child_is_replaced() -> None:
    pool = SymbolicPool()
    try:
        pool.submit(Question("x+1", "x+1+0")).result(60)
        os.kill(pool.child_pids()[0], signal.SIGKILL)
        pool.submit(Question("x+2", "x+1+1")).result(60)  # may be lost with the child
        assert pool.submit(Question("x+3", "x+2+1")).result(60).value == 1
    finally:
        pool.close()


def test_close_leaves_no_child_and_ends_waiting_questions() -> None:
    pool = SymbolicPool()
    pool.submit(Question("x+1", "x+1+0")).result(60)
    pids = pool.child_pids()
    pool.close()
    assert len(pids) == 2
    assert not any(is_alive(pid) for pid in pids)
    with pytest.raises(RuntimeError, match="closed"):
        pool.submit(Question("x+2", "x+1+1"))


def test_works_from_threads_with_their_own_loops(pool: SymbolicPool) -> None:
    values: list[int | None] = []

    def work(index: int) -> None:
        values.append(asyncio.run(pool.equivalent(f"(x+{index})(x-{index})", f"x^2-{index * index}")).value)

    threads = [threading.Thread(target=work, args=(index,)) for index in range(2, 8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert values == [1] * 6


def test_children_die_with_a_killed_parent() -> None:
    code = (
        "from reward_workers.verifier import SymbolicPool\n"
        "from reward_workers.verifier.rules.outcome import Question\n"
        "import time\n"
        "pool = SymbolicPool()\n"
        "pool.submit(Question('x+1', 'x+1+0')).result(60)\n"
        "print(*pool.child_pids(), flush=True)\n"
        "time.sleep(60)\n"
    )
    parent = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True, cwd=ROOT)
    assert parent.stdout is not None
    pids = [int(pid) for pid in parent.stdout.readline().split()]
    assert len(pids) == 2
    parent.kill()
    parent.wait()
    deadline = time.monotonic() + 10
    while any(is_alive(pid) for pid in pids) and time.monotonic() < deadline:
        time.sleep(0.05)
    assert not any(is_alive(pid) for pid in pids)


@pytest.mark.parametrize("settings", [{"workers": 0}, {"timeout_s": 0.0}])
def test_wrong_settings(settings: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match="must be"):
        SymbolicPool(**settings)


def test_rules_import_no_heavy_library() -> None:
    code = (
        "import sys, reward_workers.verifier\n"
        "print(sorted({'torch', 'ray', 'verl', 'sympy', 'math_verify', 'mpmath'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
    assert done.stdout.strip() == "[]"
