"""Results of judges on disk, so that a resumed run, or another run with the same folder, asks no question twice.

The cache never decides anything: a folder that is corrupt, full, locked or slow is left out of use for the rest of the
process, said once and counted, and the judges are asked as without it. Only JSON text is written and read: no pickle.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import logging
import re
import socket
import sqlite3
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path
from typing import Any, Generic, TypeVar

import diskcache

from foundation import labels
from reward_workers.judges.serving.health import CacheHealth

logger = logging.getLogger(__name__)

Result = TypeVar("Result")
Json = dict[str, Any]

_BYTES_PER_GB = 1_000_000_000
_LOCK_WAIT_S = 3.0
_LONGEST_WAIT_S = 10.0
"""A disk that needs longer than this for one row is left out of use: a verdict must not wait for it."""


_CACHED_PAGES = 1024
"""Of 4 kB, in the memory of each process; the kernel's cache serves the rest. The library would take up to 32 MB."""


class _TextDisk(diskcache.Disk):
    """Keys and values are text. What a row says to be something else, such as a pickle, reads as a text of nothing."""

    def put(self, key: Any) -> tuple[str, bool]:
        return str(key), True

    def get(self, key: Any, raw: bool) -> str:
        return str(key)

    def store(self, value: Any, read: bool, key: Any = None) -> tuple[int, int, None, str]:
        return 0, diskcache.core.MODE_RAW, None, str(value)

    def fetch(self, mode: int, filename: str | None, value: Any, read: bool) -> str:
        ours = mode == diskcache.core.MODE_RAW and filename is None and isinstance(value, str)
        return value if ours else ""


class JudgeCache:
    """A bounded table of texts in a folder of its own for each node, written by any number of processes there.

    Args:
        folder: shared by all nodes or not; each uses the folder below it that has its host name, because SQLite's locks
            do not reach over network storage.
        size_limit_gb: the oldest results go when the folder of a node is larger, in GB (10^9 bytes).
    """

    def __init__(self, folder: Path, size_limit_gb: float) -> None:
        self.folder = folder / re.sub(r"[^A-Za-z0-9.-]", "_", socket.gethostname())
        self._limit = int(size_limit_gb * _BYTES_PER_GB)
        # One thread: SQLite then has one connection a process, and a locked table blocks no event loop.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="judge-cache")
        self._table: Any = None
        self.is_off = False

    async def read(self, key: str) -> Json | None:
        """The stored object; None for an unknown key, one that cannot be read, and a cache out of use."""
        text = await self._in_thread(lambda: self._open().get(key))
        if text is None:
            return None
        try:
            found = json.loads(text)
        except (ValueError, RecursionError) as error:
            logger.warning("judge cache %s: a row is no JSON and is asked for again (%s)", self.folder, error)
            return None
        return found if isinstance(found, dict) else None

    async def write(self, key: str, result: Json) -> None:
        """Store an object; what fails is said once."""
        text = json.dumps(result, ensure_ascii=False, separators=(",", ":"))
        await self._in_thread(lambda: self._open().set(key, text))

    def health(self) -> CacheHealth:
        """Size and state at this moment; a file that cannot be looked at has no size."""
        size = 0
        for name in ("cache.db", "cache.db-wal"):
            with contextlib.suppress(OSError):
                size += (self.folder / name).stat().st_size
        return CacheHealth(str(self.folder), size, self.is_off)

    def close(self) -> None:
        """Close the table; results written later open it again."""
        if self._table is not None:
            self._thread.submit(self._table.close).result(_LONGEST_WAIT_S)

    async def _in_thread(self, work: Callable[[], Any]) -> Any:
        if self.is_off:
            return None
        try:
            running = asyncio.get_running_loop().run_in_executor(self._thread, work)
            return await asyncio.wait_for(running, _LONGEST_WAIT_S)
        except (OSError, sqlite3.Error, diskcache.Timeout) as error:  # TimeoutError is an OSError
            if not self.is_off:
                self.is_off = True
                logger.warning(
                    "judge cache %s is out of use for the rest of this process (%s: %s): results are kept in memory "
                    "only; delete the folder or set judge_cache.folder elsewhere before the next start",
                    self.folder,
                    type(error).__name__,
                    error,
                )
            return None

    def _open(self) -> Any:
        if self._table is None:
            self._table = diskcache.Cache(
                str(self.folder),
                timeout=_LOCK_WAIT_S,
                disk=_TextDisk,
                size_limit=self._limit,
                eviction_policy="least-recently-stored",  # a read then writes nothing
                sqlite_cache_size=_CACHED_PAGES,
                sqlite_mmap_size=0,
            )
        return self._table


class CacheShelf(Generic[Result]):
    """Results of one type in the cache.

    Args:
        encode: a result as JSON.
        decode: its inverse; ValueError, KeyError or TypeError for what `encode` does not write.
    """

    def __init__(self, cache: JudgeCache, encode: Callable[[Result], Json], decode: Callable[[Json], Result]) -> None:
        self.cache = cache
        self._encode = encode
        self._decode = decode

    @property
    def is_off(self) -> bool:
        return self.cache.is_off

    async def read(self, key: str) -> Result | None:
        found = await self.cache.read(key)
        if found is None:
            return None
        try:
            return self._decode(found)
        except (ValueError, KeyError, TypeError) as error:
            logger.warning("judge cache %s: a row is asked for again (%r)", self.cache.folder, error)
            return None

    async def write(self, key: str, result: Result) -> None:
        await self.cache.write(key, self._encode(result))


def cache_key(*parts: str) -> str:
    """A hash of the parts of a question, the same in every process; no two lists of parts run together."""
    return hashlib.blake2b(json.dumps(parts).encode(), digest_size=20).hexdigest()


@cache
def reading_version() -> str:
    """Hash of the code that turns a reply into a result: none survives a parser that reads it otherwise."""
    return hashlib.sha256(b"".join(file.read_bytes() for file in reading_files())).hexdigest()[:12]


def reading_files() -> list[Path]:
    """The files with that code."""
    judges = Path(__file__).parents[1]
    readers = ("answer_judge", "pattern_rm", "questions", "endpoint/completion", "prompts/render")
    return sorted([*judges.glob("replies/*.py"), *(judges / f"{name}.py" for name in readers), Path(labels.__file__)])
