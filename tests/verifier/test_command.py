"""The command on files of cases: order, exit codes, malformed and hostile rows, kills and second starts."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from functools import partial
from pathlib import Path
from typing import Any

import psutil
import pytest

from reward_workers.verifier import Verifier
from reward_workers.verifier.__main__ import main
from reward_workers.verifier.batch import case_file, child_handle
from reward_workers.verifier.batch.child_handle import RulesChild
from reward_workers.verifier.batch.verdict_file import VerdictFile

pytestmark = pytest.mark.integration

ROOT = Path(__file__).parents[2]
DATA = ROOT / "tests" / "data" / "verifier"
SYMBOLIC = {"response": r"\boxed{(x-1)(x+4)n!}", "reference": "(x^2+3x-4)n!"}


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A symbolic deadline that a busy machine does not reach."""
    monkeypatch.setattr(case_file, "Verifier", partial(Verifier, symbolic_timeout_s=20.0))


def write(path: Path, cases: list[Any]) -> Path:
    path.write_text("".join((c if isinstance(c, str) else json.dumps(c)) + "\n" for c in cases))
    return path


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def plain(number: int) -> dict[str, Any]:
    """A case that the rules decide: right when the number is even."""
    return {"id": number, "response": rf"So \boxed{{{number}}}.", "reference": str(number + number % 2)}


def command(*arguments: object) -> list[str]:
    return [sys.executable, "-m", "reward_workers.verifier", *map(str, arguments)]


def children_of(process: subprocess.Popen[str]) -> list[psutil.Process]:
    return psutil.Process(process.pid).children(recursive=True)


def test_public_cases_in_order_and_as_the_policy_says(tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    assert main([str(DATA / "cases_public.jsonl"), "--out", str(out), "--workers", "2", "--explain"]) == 0
    cases, rows = read(DATA / "cases_public.jsonl"), read(out)
    assert [row["id"] for row in rows] == [case["id"] for case in cases]
    for case, row in zip(cases, rows, strict=True):
        allowed = ["unresolved", case["truth"]] if case["expected"] == "unresolved" else [case["expected"]]
        assert row["verdict"] in allowed, row
        assert ("anls" in row) == (case["answer_type"] == "doc_text")
        assert row["explanation"].split(":")[0] == {1: "Right", 0: "Wrong", "unresolved": "Unresolved"}[row["verdict"]]
    assert list(rows[0]) == ["id", "verdict", "stage", "reason", "extracted", "seconds", "explanation"]
    assert not (tmp_path / "verdicts.jsonl.partial").exists()


def test_malformed_rows_are_named_and_the_rest_goes_on(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases = [plain(2), "{", "", plain(4) | {"answer_type": "colour"}, "[1]", {"id": 5}, plain(6), {"id": 7, **SYMBOLIC}]
    out = tmp_path / "verdicts.jsonl"
    assert main([str(write(tmp_path / "cases.jsonl", cases)), "--out", str(out), "--workers", "1"]) == 1
    assert [(row["id"], row["verdict"], row["stage"]) for row in read(out)] == [
        (2, 1, "exact"),
        (6, 1, "exact"),
        (7, 1, "symbolic"),
    ]
    stdout, stderr = capfd.readouterr()
    named = [text for text in stderr.splitlines() if " line " in text]
    assert [text.split(" line ")[1].split(":")[0] for text in named] == ["2", "4", "5", "6"]
    assert "answer_type='colour' is not known" in named[1] and "no key response, reference" in named[3]
    assert "4 malformed rows" in stdout
    assert "rows a second" in stdout and "symbolic" in stdout


def test_an_empty_output_that_is_older_than_the_cases_is_no_earlier_start(tmp_path: Path) -> None:
    out = tmp_path / "verdicts.jsonl"
    out.touch()
    os.utime(out, ns=(0, 0))
    assert main([str(write(tmp_path / "cases.jsonl", [plain(4)])), "--out", str(out), "--workers", "1"]) == 0
    assert [row["verdict"] for row in read(out)] == [1]


def test_hostile_rows_neither_stop_it_nor_come_out_right(tmp_path: Path) -> None:
    hostile = read(DATA / "hostile.jsonl")
    cases = [each for item in hostile for each in (item, {"id": f"after {item['id']}", **SYMBOLIC})]
    out = tmp_path / "verdicts.jsonl"
    assert main([str(write(tmp_path / "cases.jsonl", cases)), "--out", str(out), "--workers", "2"]) == 0
    rows = read(out)
    assert [row["id"] for row in rows] == [case["id"] for case in cases]
    assert all(row["verdict"] != 1 for row in rows[::2])
    assert all(row["verdict"] == 1 for row in rows[1::2])


@pytest.mark.parametrize(
    ("cases", "out", "message"),
    [
        ("absent.jsonl", "out.jsonl", "absent.jsonl: No such file"),
        (".", "out.jsonl", "Is a directory"),
        ("cases.jsonl", "absent/out.jsonl", "absent/out.jsonl.partial: No such file"),
        ("cases.jsonl", ".", "is no regular file"),
        ("cases.jsonl", "cases.jsonl", "is the file of cases itself"),
        ("cases.jsonl", "/dev/null", "is no regular file"),
    ],
)
def test_wrong_paths_are_one_line_and_exit_code_2(
    tmp_path: Path, cases: str, out: str, message: str, capfd: pytest.CaptureFixture[str], monkeypatch: Any
) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "cases.jsonl", [plain(2)])
    assert main([cases, "--out", out]) == 2
    lines = [line for line in capfd.readouterr().err.splitlines() if line.startswith("error: ")]
    assert len(lines) == 1 and message in lines[0]
    assert read(tmp_path / "cases.jsonl") == [plain(2)]


def test_wrong_number_of_workers(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main([str(write(tmp_path / "cases.jsonl", [plain(2)])), "--out", str(tmp_path / "o"), "--workers", "0"])
    assert stop.value.code == 2
    assert "--workers 0" in capfd.readouterr().err


def stopped_in_the_middle(tmp_path: Path, cases: Path, number: int) -> int:
    """Start the command, send it a signal once rows are there, and return its exit code; no child may stay."""
    process = subprocess.Popen(
        command(cases, "--out", tmp_path / "out.jsonl", "--workers", 1), cwd=ROOT, stderr=subprocess.PIPE, text=True
    )
    partial = tmp_path / "out.jsonl.partial"
    deadline = time.monotonic() + 60
    while not (partial.exists() and partial.stat().st_size):
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.002)
    children = children_of(process)
    process.send_signal(number)
    process.communicate(timeout=30)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert alive == []
    return process.returncode


@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 130), (signal.SIGKILL, -9)])
def test_a_stop_keeps_the_rows_and_a_second_start_goes_on(
    tmp_path: Path, number: int, code: int, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = write(tmp_path / "cases.jsonl", [plain(i) for i in range(30_000)])
    assert stopped_in_the_middle(tmp_path, cases, number) == code
    partial = tmp_path / "out.jsonl.partial"
    kept = partial.read_bytes()
    assert 0 < kept.count(b"\n") < 30_000
    partial.write_bytes(kept + b'{"id": "cut o')  # a row that a kill cut off
    capfd.readouterr()
    assert main([str(cases), "--out", str(tmp_path / "out.jsonl")]) == 0
    assert (tmp_path / "out.jsonl").read_bytes().startswith(kept)
    rows = read(tmp_path / "out.jsonl")
    assert [(row["id"], row["verdict"]) for row in rows] == [(i, 1 - i % 2) for i in range(30_000)]
    assert f"{kept.count(10):,} rows were there from an earlier start" in capfd.readouterr().out


def test_a_complete_output_is_left_alone_and_malformed_rows_are_named_again(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    cases = write(tmp_path / "cases.jsonl", [plain(2), "{", plain(3)])
    arguments = [str(cases), "--out", str(tmp_path / "out.jsonl"), "--workers", "1"]
    assert main(arguments) == 1
    before = (tmp_path / "out.jsonl").read_bytes()
    capfd.readouterr()
    assert main(arguments) == 1
    stdout, stderr = capfd.readouterr()
    assert (tmp_path / "out.jsonl").read_bytes() == before
    assert "2 rows were there" in stdout and "cases.jsonl line 2: not JSON" in stderr


def test_rows_of_other_cases_are_refused_until_overwritten(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases, out = tmp_path / "cases.jsonl", tmp_path / "out.jsonl"
    arguments = [str(cases), "--out", str(out), "--workers", "1"]
    write(cases, [plain(2), plain(4)])
    main(arguments)
    first = out.read_bytes()
    wrong = {
        "in the place of": [plain(2), plain(6)],  # another id
        "its answer was another": [plain(2), plain(4) | {"response": r"\boxed{5}"}],
        "more rows than": [plain(2)],
    }
    for message, other in wrong.items():
        write(cases, other)
        os.utime(cases, (0, 0))  # older than the output, so that only the rows tell
        assert main(arguments) == 2
        assert message in capfd.readouterr().err
    write(cases, [plain(2), plain(4)])
    os.utime(cases, (0, 0))
    assert main([*arguments, "--explain"]) == 2
    assert "was written without --explain" in capfd.readouterr().err
    later = time.time() + 60
    os.utime(cases, (later, later))
    assert main(arguments) == 2
    assert "was changed after" in capfd.readouterr().err
    assert out.read_bytes() == first
    write(cases, [plain(8)])
    assert main([*arguments, "--overwrite"]) == 0
    assert [row["id"] for row in read(out)] == [8]


def test_two_starts_do_not_write_the_same_output(tmp_path: Path) -> None:
    cases = write(tmp_path / "cases.jsonl", [plain(2)])

    def output() -> VerdictFile:
        return VerdictFile(tmp_path / "out.jsonl", cases, overwrite=True, with_explanation=False)

    first = output()
    first.begin()
    first.write([b'{"id": 2}\n'])
    with pytest.raises(ValueError, match="is being written by another process"):
        output().begin()
    first.finish()
    assert read(tmp_path / "out.jsonl") == [{"id": 2}]


def test_ctrl_c_of_a_terminal_while_a_child_works(tmp_path: Path) -> None:
    """A terminal sends the signal to the command and to its children alike."""
    squares = [
        {"response": rf"\boxed{{(x+{n})^2m!}}", "reference": f"(x^2+{2 * n}x+{n * n})m!"} for n in range(2, 2000)
    ]
    cases = write(tmp_path / "cases.jsonl", [{"id": n, **case} for n, case in enumerate(squares)])
    process = subprocess.Popen(
        command(cases, "--out", tmp_path / "out.jsonl", "--workers", 1),
        cwd=ROOT,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )
    deadline = time.monotonic() + 60
    while len(children_of(process)) < 3:  # one for the rules, one at work, one spare
        assert process.poll() is None and time.monotonic() < deadline
        time.sleep(0.01)
    children = children_of(process)
    os.killpg(process.pid, signal.SIGINT)
    _, stderr = process.communicate(timeout=30)
    _, alive = psutil.wait_procs(children, timeout=10)
    assert (process.returncode, alive) == (130, [])
    assert "the same command goes on" in stderr


def test_an_output_that_is_no_file_of_verdicts_is_refused(tmp_path: Path, capfd: pytest.CaptureFixture[str]) -> None:
    cases = write(tmp_path / "cases.jsonl", [plain(2)])
    out = tmp_path / "notes.txt"
    out.write_text("my notes\n")
    assert main([str(cases), "--out", str(out)]) == 2
    assert "line 1 is no row of verdicts" in capfd.readouterr().err
    assert out.read_text() == "my notes\n"


def test_a_worker_that_is_lost_costs_no_row(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(child_handle, "CHUNK_DEADLINE_S", 1.0)
    lines = [json.dumps(plain(i)).encode() for i in range(5)]

    async def run() -> tuple[list[Any], list[Any]]:
        worker = RulesChild(with_explanation=False)
        try:
            await worker.decide(lines)
            replies = []
            for number in (signal.SIGKILL, signal.SIGSTOP):  # dies, hangs
                assert worker._process is not None
                os.kill(worker._process.pid, number)
                replies.append(await worker.decide(lines))
            monkeypatch.setattr(child_handle, "ROW_DEADLINE_S", 0.0)
            return replies, await worker.decide(lines[:1])
        finally:
            await worker.close()

    replies, hopeless = asyncio.run(run())
    for reply in replies:
        rows = [json.loads(row) for each in reply for row in each["rows"]]
        assert [row["id"] for row in rows] == [0, 1, 2, 3, 4]
    assert hopeless == [{"lost": "rules_timeout"}]


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    """Peak memory of the command on 2,000 and on 60,000 rows of 1 KB."""
    peaks = []
    for n in (2_000, 60_000):
        rows = [plain(i) | {"response": "step " * 200 + rf"\boxed{{{i}}}"} for i in range(n)]
        cases = write(tmp_path / f"cases{n}.jsonl", rows)
        code = (
            "import re\nfrom reward_workers.verifier.__main__ import main\n"
            f"assert main([{str(cases)!r}, '--out', {str(tmp_path / f'out{n}')!r}, '--workers', '1']) == 0\n"
            "print(re.search(r'VmHWM:\\s+(\\d+)', open('/proc/self/status').read()).group(1))\n"
        )
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=ROOT)
        peaks.append(int(done.stdout.split()[-1]))
    assert peaks[1] < peaks[0] + 20_000  # kB; the larger file has 60 MB
