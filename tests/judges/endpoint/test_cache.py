"""Results on disk: they survive, they are bounded, and no fault of the disk reaches a verdict."""

from __future__ import annotations

import asyncio
import errno
import json
import logging
import pickle
import shutil
import socket
import sqlite3
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path
from typing import Any

import diskcache
import pytest

from foundation.labels import LABELS as NAMES
from foundation.runs.records import Labels, Unlabelled
from reward_workers.judges.answer_judge import AnswerJudge
from reward_workers.judges.endpoint import cache as cache_module
from reward_workers.judges.endpoint.cache import JudgeCache, cache_key, reading_version
from reward_workers.judges.endpoint.calls import collect_calls
from reward_workers.judges.pattern_rm import PatternRM
from reward_workers.judges.serving.health import CacheHealth

MakeSettings = Callable[..., Any]
LABELS = "CoT: 1\nRep: 0\nCon: 0\nPR: 1"


def table_of(folder: Path) -> Path:
    return folder / socket.gethostname() / "cache.db"


def test_a_row_survives_the_process_that_wrote_it(tmp_path: Path) -> None:
    async def scenario() -> None:
        first = JudgeCache(tmp_path, 0.1)
        assert await first.read("k") is None
        await first.write("k", {"value": 1, "text": "二\n"})
        first.close()
        assert await JudgeCache(tmp_path, 0.1).read("k") == {"value": 1, "text": "二\n"}
        assert table_of(tmp_path).exists()

    asyncio.run(scenario())


async def verdicts(settings: Any, folder: Path, *answers: str) -> list[tuple[int | None, str, bool]]:
    """Value, who answered, and whether the cache was off, for each answer, by a judge that starts with empty memory."""
    judge = AnswerJudge(settings, JudgeCache(folder, 0.1))
    with collect_calls() as calls:
        values = [(await judge.judge("How many?", "2", answer)).value for answer in answers]
    await judge.aclose()
    return [(value, call.answered_by, call.cache_off) for value, call in zip(values, calls, strict=True)]


def test_a_verdict_is_asked_for_once_in_two_runs(fake_server: Any, settings: MakeSettings, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with fake_server("CORRECT", "INCORRECT") as server:
            judge = settings(base_urls=[server.base_url])
            assert await verdicts(judge, tmp_path, "two", "3") == [(1, "server", False), (0, "server", False)]
            assert await verdicts(judge, tmp_path, "3", "two", "two") == [
                (0, "disk", False),
                (1, "disk", False),
                (1, "memory", False),
            ]
            assert len(server.requests) == 2

    asyncio.run(scenario())


def test_labels_are_kept_as_read_so_that_another_threshold_can_use_them(
    fake_server: Any, settings: MakeSettings, make_completion: Any, tmp_path: Path
) -> None:
    def token(text: str, other: str) -> dict[str, Any]:
        top = [{"token": text, "logprob": -0.5}, {"token": other, "logprob": -1.0}]
        return {"token": text, "logprob": -0.5, "top_logprobs": top}

    pairs = (("CoT: 1", "CoT: 0"), ("\nRep: 0", "\nRep: 1"), ("\nCon: 0", "\nCon: 1"), ("\nPR: 1", "\nPR: 0"))
    tokens = [token(*pair) for pair in pairs]

    async def scenario() -> None:
        async with fake_server(make_completion(LABELS, logprobs={"content": tokens})) as server:
            judge = settings(base_urls=[server.base_url], prompt="pattern_rm")
            seen = []
            for threshold in (0.5, 0.7):
                pattern_rm = PatternRM(judge, dict.fromkeys(NAMES, threshold), JudgeCache(tmp_path, 0.1))
                labels = await pattern_rm.label("q", "r")
                assert isinstance(labels, Labels)
                seen.append((labels.decided["cot"], labels.decided["rep"], labels.p["cot"], labels.p["rep"]))
                await pattern_rm.aclose()
            p = 0.6224593312018546  # e^-0.5 / (e^-0.5 + e^-1)
            assert seen[0] == (True, False, pytest.approx(p), pytest.approx(1 - p))
            assert seen[1] == (False, False, pytest.approx(p), pytest.approx(1 - p))
            assert len(server.requests) == 1

    asyncio.run(scenario())


@pytest.mark.parametrize(
    "changes", [{"model": "other"}, {"language": "zh"}, {"prompt": "answer_equivalence_compact"}], ids=str
)
def test_another_judge_or_prompt_is_asked_anew(
    fake_server: Any, settings: MakeSettings, tmp_path: Path, changes: dict[str, str]
) -> None:
    async def scenario() -> None:
        async with fake_server("CORRECT") as server:
            await verdicts(settings(base_urls=[server.base_url]), tmp_path, "two")
            await verdicts(settings(base_urls=[server.base_url], **changes), tmp_path, "two")
            assert len(server.requests) == 2

    asyncio.run(scenario())


def test_a_failure_is_not_kept(fake_server: Any, settings: MakeSettings, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with fake_server("Hm.", "Hm.", 400, "CORRECT") as server:
            judge = settings(base_urls=[server.base_url])
            seen = [(await verdicts(judge, tmp_path, "two"))[0] for _ in range(4)]
            assert [value for value, _, _ in seen] == [None, None, 1, 1]
            assert [source for _, source, _ in seen] == ["server", "server", "server", "disk"]

    asyncio.run(scenario())


def test_labels_that_could_not_be_read_are_not_kept(fake_server: Any, settings: MakeSettings, tmp_path: Path) -> None:
    async def scenario() -> None:
        async with fake_server("?", "?", LABELS) as server:
            judge = settings(base_urls=[server.base_url], prompt="pattern_rm")
            for kind in (Unlabelled, Labels):
                pattern_rm = PatternRM(judge, dict.fromkeys(NAMES, 0.5), JudgeCache(tmp_path, 0.1))
                assert isinstance(await pattern_rm.label("q", "r"), kind)
                await pattern_rm.aclose()

    asyncio.run(scenario())


def _corrupt_table(folder: Path) -> None:
    table_of(folder).parent.mkdir(parents=True)
    table_of(folder).write_bytes(b"this is no database" * 500)


def _file_in_the_way(folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    folder.write_text("a file")


@pytest.mark.parametrize("damage", [_corrupt_table, _file_in_the_way])
def test_a_folder_that_cannot_be_used_costs_no_verdict(
    fake_server: Any,
    settings: MakeSettings,
    tmp_path: Path,
    damage: Callable[[Path], None],
    caplog: pytest.LogCaptureFixture,
) -> None:
    folder = tmp_path / "cache"
    damage(folder)

    async def scenario() -> None:
        async with fake_server("CORRECT") as server:
            seen = await verdicts(settings(base_urls=[server.base_url]), folder, "two", "2.0", "two")
            assert seen == [(1, "server", True), (1, "server", True), (1, "memory", True)]

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    told = [record for record in caplog.records if "judge cache" in record.message]
    assert len(told) == 1 and str(folder) in told[0].message and "judge_cache.folder" in told[0].message


@pytest.mark.parametrize(
    "error",
    [
        sqlite3.OperationalError("database or disk is full"),
        OSError(errno.ENOSPC, "No space left on device"),
        diskcache.Timeout("locked"),
        sqlite3.DatabaseError("database disk image is malformed"),
    ],
    ids=repr,
)
@pytest.mark.parametrize("method", ["get", "set"])
def test_a_disk_that_fails_in_the_middle_costs_no_verdict(
    fake_server: Any,
    settings: MakeSettings,
    tmp_path: Path,
    error: Exception,
    method: str,
    monkeypatch: pytest.MonkeyPatch,
    caplog: pytest.LogCaptureFixture,
) -> None:
    async def scenario() -> None:
        async with fake_server("CORRECT") as server:
            judge = settings(base_urls=[server.base_url])
            assert await verdicts(judge, tmp_path, "two") == [(1, "server", False)]

            tried = []

            def fails(*_: Any, **__: Any) -> None:
                tried.append(method)
                raise error

            monkeypatch.setattr(diskcache.Cache, method, fails)
            seen = await verdicts(judge, tmp_path, "3", "4", "3")
            assert [value for value, _, _ in seen] == [1, 1, 1] and seen[-1] == (1, "memory", True)
            assert len(server.requests) == 3 and len(tried) == 1  # the disk is left alone from then on

    with caplog.at_level(logging.WARNING):
        asyncio.run(scenario())
    assert len([record for record in caplog.records if "out of use" in record.message]) == 1


def test_a_disk_that_hangs_is_given_up(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import threading

    freed = threading.Event()
    monkeypatch.setattr(cache_module, "_LONGEST_WAIT_S", 0.1)
    monkeypatch.setattr(diskcache.Cache, "get", lambda *_, **__: freed.wait(10))

    async def scenario() -> None:
        cache = JudgeCache(tmp_path, 0.1)
        assert await cache.read("k") is None
        assert cache.is_off
        assert await cache.read("k") is None

    try:
        asyncio.run(scenario())
    finally:
        freed.set()


@pytest.mark.parametrize(
    "text",
    ["", "{", "[1]", '{"value": 2}', '{"value": true}', '{"value": null}', '{"value": "1"}', "{}", "[" * 100_000],
    ids=lambda text: text[:20],
)
def test_a_row_that_is_no_verdict_is_asked_for_again(
    fake_server: Any, settings: MakeSettings, tmp_path: Path, text: str
) -> None:
    async def scenario() -> None:
        async with fake_server("INCORRECT") as server:
            judge = settings(base_urls=[server.base_url])
            await verdicts(judge, tmp_path, "two")
            with sqlite3.connect(table_of(tmp_path)) as table:
                table.execute("UPDATE Cache SET value = ?", (text,))
            assert await verdicts(judge, tmp_path, "two") == [(0, "server", False)]
            assert await verdicts(judge, tmp_path, "two") == [(0, "disk", False)]  # it was replaced

    asyncio.run(scenario())


class Bomb:
    def __reduce__(self) -> tuple[Any, ...]:
        return (Path.touch, (Path("unpickled"),))


def test_a_pickle_in_the_table_is_never_loaded(
    fake_server: Any, settings: MakeSettings, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    async def scenario() -> None:
        async with fake_server("CORRECT") as server:
            judge = settings(base_urls=[server.base_url])
            await verdicts(judge, tmp_path / "c", "two")
            with sqlite3.connect(table_of(tmp_path / "c")) as table:
                table.execute("UPDATE Cache SET mode = 4, value = ?", (pickle.dumps(Bomb()),))
            seen = await verdicts(judge, tmp_path / "c", "two")
            assert [value for value, _, _ in seen] == [1] and not Path("unpickled").exists()

    asyncio.run(scenario())


def test_the_folder_is_bounded_and_keeps_the_newest(tmp_path: Path) -> None:
    async def scenario() -> None:
        cache = JudgeCache(tmp_path, 0.001)  # 1 MB
        for index in range(1500):
            await cache.write(cache_key(str(index)), {"text": "x" * 2000})
        cache.close()
        size = sum(file.stat().st_size for file in tmp_path.rglob("cache.db"))
        assert size < 1_500_000, size
        assert await cache.read(cache_key("1499")) is not None
        assert await cache.read(cache_key("0")) is None

    asyncio.run(scenario())


def test_the_health_of_a_cache_is_the_size_of_its_files(tmp_path: Path) -> None:
    cache = JudgeCache(tmp_path, size_limit_gb=1)
    assert cache.health() == CacheHealth(str(cache.folder), size_bytes=0, is_off=False)  # not opened yet

    async def fill() -> None:
        for number in range(100):
            await cache.write(f"key {number}", {"text": "x" * 1000})

    asyncio.run(fill())
    assert 100_000 < cache.health().size_bytes < 10_000_000
    cache.close()


def test_keys_tell_questions_apart() -> None:
    assert cache_key("a", "b") == cache_key("a", "b")
    assert len({cache_key("a", "b"), cache_key("ab", ""), cache_key("a", "", "b"), cache_key('a", "b')}) == 4
    assert cache_key("\ud800") != cache_key("?")  # half a character from a model is text too


def test_a_changed_parser_leaves_no_old_result() -> None:
    assert len(reading_version()) == 12
    read = cache_module.reading_files()
    readers = {"parse_verdict.py", "parse_labels.py", "reply_text.py", "pattern_rm.py", "labels.py"}
    assert readers <= {file.name for file in read}
    assert all(file.exists() for file in read)


WRITER = """
    import asyncio, sys
    from pathlib import Path
    from reward_workers.judges.endpoint.cache import JudgeCache

    async def main() -> None:
        cache = JudgeCache(Path(sys.argv[1]), 0.1)
        for index in range(150):
            await cache.write(f"{sys.argv[2]}-{index}", {"value": index})
            assert await cache.read(f"{sys.argv[2]}-{index}") == {"value": index}
        print("off" if cache.is_off else "on")

    asyncio.run(main())
"""


def _child(code: str, *arguments: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


@pytest.mark.integration
def test_many_writers_share_a_folder(tmp_path: Path) -> None:
    writers = [_child(WRITER, str(tmp_path), str(number)) for number in range(4)]
    assert [(writer.communicate(timeout=90), writer.returncode) for writer in writers] == [(("on\n", ""), 0)] * 4
    with sqlite3.connect(table_of(tmp_path)) as table:
        rows = table.execute("SELECT key, value FROM Cache").fetchall()
    assert len(rows) == 600
    assert all(json.loads(value)["value"] == int(key.split("-")[1]) for key, value in rows)


FULL_DISK = """
    import asyncio, resource, signal, sys
    from pathlib import Path
    from reward_workers.judges.endpoint.cache import JudgeCache

    async def main() -> None:
        cache = JudgeCache(Path(sys.argv[1]), 1.0)
        await cache.write("first", {"value": 1})
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)  # writes beyond the limit then fail as on a full disk
        resource.setrlimit(resource.RLIMIT_FSIZE, (200_000, 200_000))
        for index in range(200):
            await cache.write(str(index), {"text": "x" * 4000})
        print("off" if cache.is_off else "on")

    asyncio.run(main())
"""


@pytest.mark.integration
def test_a_disk_that_takes_no_more_is_left_alone_and_keeps_what_it_has(tmp_path: Path) -> None:
    child = _child(FULL_DISK, str(tmp_path))
    out, err = child.communicate(timeout=90)
    assert child.returncode == 0 and out == "off\n", err
    assert err.count("out of use") == 1
    assert asyncio.run(JudgeCache(tmp_path, 1.0).read("first")) == {"value": 1}


FULL_TMPFS = """
    import asyncio, sys
    from pathlib import Path
    from reward_workers.judges.endpoint.cache import JudgeCache

    disk = Path(sys.argv[1])
    filler = disk / "somebody_elses_file"

    async def main() -> None:
        cache = JudgeCache(disk / "cache", 1.0)
        await cache.write("first", {"value": 1})
        with filler.open("wb", buffering=0) as file:
            try:
                while True:
                    file.write(bytes(4096))
            except OSError as error:
                print(error.strerror)
        for index in range(20):
            await cache.write(str(index), {"text": "x" * 4000})
        print("off" if cache.is_off else "on", await cache.read("first"))
        filler.unlink()
        print(await JudgeCache(disk / "cache", 1.0).read("first"))

    asyncio.run(main())
"""
ON_TMPFS = ("unshare", "--user", "--map-root-user", "--mount", "sh", "-c")
"""A shell in a mount namespace of its own, in which anybody may mount; what it mounts ends with it."""


def _may_mount(folder: Path) -> bool:
    command = [*ON_TMPFS, 'mount -t tmpfs -o size=1m tmpfs "$0"', str(folder)]
    return shutil.which("unshare") is not None and subprocess.run(command, capture_output=True).returncode == 0


@pytest.mark.integration
def test_a_file_system_that_is_full_costs_the_cache_only(tmp_path: Path) -> None:
    if not _may_mount(tmp_path):
        pytest.skip("this machine lets nobody mount a tmpfs in a namespace of its own")
    mount_and_run = 'mount -t tmpfs -o size=1m tmpfs "$0" && exec "$1" -c "$2" "$0"'
    child = subprocess.run(
        [*ON_TMPFS, mount_and_run, str(tmp_path), sys.executable, textwrap.dedent(FULL_TMPFS)],
        capture_output=True,
        text=True,
        timeout=90,
    )
    assert child.returncode == 0, child.stderr
    full, after, next_start = child.stdout.splitlines()
    assert full == "No space left on device"
    assert after == "off None"
    assert child.stderr.count("out of use") == 1 and "disk is full" in child.stderr
    assert next_start == "{'value': 1}"
