"""The output of the command: rows are kept as they come, and a second start goes on after them.

While rows come they stand in OUT.partial, which becomes OUT at the end. A row that a kill cut off is decided again.
"""

from __future__ import annotations

import fcntl
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from reward_workers.verifier.batch.case import Case
from reward_workers.verifier.cascade import shortened
from reward_workers.verifier.rules.extract import extract_boxed

START_ANEW = "give another --out, or --overwrite to decide every row anew"


class VerdictFile:
    """The verdicts of one file of cases.

    Args:
        out: where the verdicts stand at the end.
        cases: the file that they belong to.
        overwrite: do not go on after rows that are there; `out` is replaced when all rows are decided.
        with_explanation: rows hold an explanation.

    Raises:
        ValueError: `out` cannot be that file, or holds what does not belong to `cases`; the message says what to do.
    """

    def __init__(self, out: Path, cases: Path, *, overwrite: bool, with_explanation: bool) -> None:
        self.path = out.resolve()
        self.partial = self.path.with_name(f"{self.path.name}.partial")
        self._cases = cases
        self._with_explanation = with_explanation
        if self.path.exists() and not self.path.is_file():
            raise ValueError(f"--out {out} is no regular file: give the path of a file")
        if self.path.exists() and self.path.samefile(cases):
            raise ValueError(f"--out {out} is the file of cases itself: give another path")
        there = [path for path in (self.partial, self.path) if _has_rows(path) and not overwrite]
        self._earlier = there[0] if there else None
        self._kept_bytes = 0
        self._stream: BinaryIO | None = None
        if self._earlier is not None and self._earlier.stat().st_mtime_ns < cases.stat().st_mtime_ns:
            raise ValueError(f"{cases} was changed after the rows in {self._earlier} were written: {START_ANEW}")

    @property
    def earlier(self) -> Path | None:
        """The file with the rows of an earlier start: the output itself when that start came to its end."""
        return self._earlier

    def earlier_rows(self) -> Iterator[dict[str, Any]]:
        """Rows of an earlier start, whole ones only.

        Raises:
            ValueError: a line that is no row of verdicts.
        """
        if self._earlier is None:
            return
        with self._earlier.open("rb") as stream:
            for number, line in enumerate(stream, 1):
                if not line.endswith(b"\n"):
                    return
                try:
                    row = json.loads(line)
                except ValueError:
                    row = None
                if not isinstance(row, dict) or not {"id", "verdict", "stage", "extracted"} <= row.keys():
                    raise ValueError(f"{self._earlier} line {number} is no row of verdicts: {START_ANEW}")
                self._kept_bytes += len(line)
                yield row

    def check(self, row: dict[str, Any], case: Case, line: int) -> None:
        """Whether a row of an earlier start is that of this case.

        Raises:
            ValueError: another case, another answer, or a row with an explanation where none is asked for.
        """
        if row["id"] != case.id or row["extracted"] != extract_boxed(case.response).content:
            raise ValueError(
                f"{self._earlier} has the row of id {shortened(row['id'])} in the place of {self._cases} line {line} "
                f"(id {shortened(case.id)}), or its answer was another then: {START_ANEW}"
            )
        if ("explanation" in row) != self._with_explanation:
            raise ValueError(
                f"{self._earlier} was written {'without' if self._with_explanation else 'with'} --explain: {START_ANEW}"
            )

    def begin(self) -> None:
        """Open the partial file behind the rows that are kept.

        Raises:
            ValueError: another process writes it.
            OSError: it cannot be written.
        """
        if self._earlier == self.path:
            self.path.replace(self.partial)
        self._stream = self.partial.open("ab")
        try:
            fcntl.flock(self._stream, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(f"{self.partial} is being written by another process: wait for its end") from error
        if self._stream.seek(0, 2) < self._kept_bytes:
            raise ValueError(f"{self.partial} was changed by another process meanwhile: start again")
        self._stream.truncate(self._kept_bytes)

    def write(self, lines: list[bytes]) -> None:
        """Append whole rows; they survive a kill of this process from here on."""
        if self._stream is None:
            raise AssertionError("begin comes before write")
        self._stream.writelines(lines)
        self._stream.flush()

    def finish(self) -> None:
        """All rows are there: the partial file becomes the output."""
        self.close()
        if self.partial.exists():
            self.partial.replace(self.path)

    def close(self) -> None:
        """Close the file; what was written stays in the partial file. Safe to call twice."""
        if self._stream is not None:
            self._stream.close()
            self._stream = None


def _has_rows(path: Path) -> bool:
    return path.exists() and path.stat().st_size > 0
