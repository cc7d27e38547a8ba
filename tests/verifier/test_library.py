"""`verify` as other programs use it: from threads, after a fork, and with nothing left behind at the end."""

import subprocess
import sys
import textwrap
import threading
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from reward_workers.verifier import Verifier, library, verify

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """A deadline that a busy machine does not reach."""
    verifier = Verifier(symbolic_timeout_s=60.0)
    monkeypatch.setattr(library, "_shared", verifier)
    yield
    verifier.close()


PATIENT = "from reward_workers.verifier import library, Verifier; library._shared = Verifier(symbolic_timeout_s=60.0)\n"


def program(code: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", PATIENT + textwrap.dedent(code)], capture_output=True, text=True, cwd=ROOT, timeout=100
    )


def test_whole_responses_types_and_options() -> None:
    assert verify("<think>\\boxed{1}</think> It is \\boxed{2}.", "2").value == 1
    assert verify(r"\boxed{blue}", "B", "choice", ["red", "blue"]).value == 1
    assert verify(r"\boxed{blue}", "B", "choice").value is None
    assert verify(r"\boxed{96}", "100", "chart_numeric").value == 1
    with pytest.raises(ValueError, match="answer_type='colour'"):
        verify(r"\boxed{blue}", "blue", "colour")
    with pytest.raises(ValueError, match="reference=7 must be a string"):
        verify(r"\boxed{7}", 7)  # type: ignore[arg-type]


def test_threads_share_the_symbolic_children() -> None:
    values: list[int | None] = []

    def work(n: int) -> None:
        values.append(verify(rf"\boxed{{(x+{n})(x-{n})m!}}", f"(x^2-{n * n})m!").value)
        values.append(verify(rf"\boxed{{(x+{n})(x-{n})m!}}", f"(x^2-{n * n + 1})m!").value)

    before = len(psutil.Process().children())
    threads = [threading.Thread(target=work, args=(n,)) for n in range(2, 10)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(values, key=str) == [0] * 8 + [1] * 8
    assert len(psutil.Process().children()) - before <= 2  # one at work, one spare


def test_rules_alone_start_no_process() -> None:
    done = program(
        """
        import psutil
        from reward_workers.verifier import verify
        assert verify(r"\\boxed{3/4}", "0.75").value == 1
        print(len(psutil.Process().children()), len(__import__("threading").enumerate()))
        """
    )
    assert done.stdout.split() == ["0", "1"], done.stderr


@pytest.mark.parametrize("ending", ["", "raise SystemExit(0)", "import os; os.kill(os.getpid(), 9)"])
def test_no_child_is_left_at_the_end(ending: str) -> None:
    done = program(
        f"""
        import psutil
        from reward_workers.verifier import verify
        assert verify(r"\\boxed{{(x-1)(x+4)n!}}", "(x^2+3x-4)n!").value == 1
        print(*[child.pid for child in psutil.Process().children()], flush=True)
        {ending}
        """
    )
    pids = [int(pid) for pid in done.stdout.split()]
    assert pids, done.stderr
    left = [psutil.Process(pid) for pid in pids if psutil.pid_exists(pid)]
    _, alive = psutil.wait_procs(left, timeout=10)
    assert alive == []
    assert done.stderr == "" or "kill" in ending  # a spare that was starting may still say that its pipe is gone


def test_a_forked_process_has_children_of_its_own() -> None:
    done = program(
        """
        import multiprocessing
        from reward_workers.verifier import verify

        def work(n):
            if library._shared is None:
                library._shared = Verifier(symbolic_timeout_s=60.0)
            return verify(rf"\\boxed{(x+{n})(x-{n})}".replace("{n}", str(n)), f"x^2-{n * n}").value

        print(work(2))
        with multiprocessing.get_context("fork").Pool(2) as pool:
            print(pool.map(work, [3, 4, 5]))
        print(work(6))
        """.replace("rf", "r")
    )
    assert done.stdout.splitlines() == ["1", "[1, 1, 1]", "1"], done.stderr
