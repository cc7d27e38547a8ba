"""The files of a run: one JSONL a stage, appended as results arrive, so that a run goes on where it was stopped.

    generations.jsonl             every generation, failed ones too
    correctness.jsonl             one verdict a response
    labels-<judge>.jsonl          one label vector a response, of each pattern judge
    run.json                      what the run is; another run cannot go on in its folder

A later row of the same key replaces an earlier one: what failed is asked for again at the next start. Results depend on
the rows by key and never on their order.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Generic, TypeVar

from foundation.runs.run_folder import write_json

Record = TypeVar("Record")


class Journal(Generic[Record]):
    """One JSONL file of records, by key.

    A last line that a kill has cut is taken off when the file is opened; a broken line elsewhere is an error.

    Args:
        encode: a record as JSON; decode: its inverse.
        key: what makes two rows the same.

    Raises:
        ValueError: a line is no record; it names file and line.
    """

    def __init__(
        self,
        path: Path,
        encode: Callable[[Record], Mapping[str, Any]],
        decode: Callable[[Mapping[str, Any]], Record],
        key: Callable[[Record], tuple[str, ...]],
    ) -> None:
        self.path = path
        self._encode = encode
        self._key = key
        self.records: dict[tuple[str, ...], Record] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        _drop_cut_line(path)
        if path.exists():
            with path.open(encoding="utf-8") as file:
                for number, line in enumerate(file, start=1):
                    try:
                        record = decode(json.loads(line))
                    except (ValueError, TypeError, KeyError) as error:
                        raise ValueError(
                            f"{path}:{number}: no record of this stage ({type(error).__name__}: {error}); delete the "
                            "line, and its question is asked again"
                        ) from error
                    self.records[key(record)] = record
        self._file = path.open("a", encoding="utf-8")

    def add(self, record: Record) -> None:
        """Append a record; it is in the file when this returns. ASCII, so that half a surrogate pair survives too."""
        self.records[self._key(record)] = record
        self._file.write(json.dumps(self._encode(record)) + "\n")
        self._file.flush()

    def close(self) -> None:
        self._file.close()


def _drop_cut_line(path: Path) -> None:
    """Take off what stands behind the last line feed: the line that a kill has cut."""
    if not path.exists():
        return
    with path.open("rb+") as file:
        size = end = file.seek(0, 2)
        while end and _byte_at(file, end - 1) != b"\n":
            end -= 1
        if end < size:
            file.truncate(end)


def _byte_at(file: Any, position: int) -> bytes:
    file.seek(position)
    return bytes(file.read(1))


def claim_folder(folder: Path, identity: Mapping[str, Any]) -> None:
    """Make the folder of a run, or take up the one of the same run.

    Args:
        identity: what the kept results depend on: model, decoding, prompts, judges.

    Raises:
        ValueError: the folder holds another run; it names what differs.
    """
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / "run.json"
    wanted = json.loads(json.dumps(identity, sort_keys=True))
    if path.exists():
        kept = json.loads(path.read_text(encoding="utf-8"))
        differs = sorted(key for key in kept.keys() | wanted.keys() if kept.get(key) != wanted.get(key))
        if differs:
            raise ValueError(
                f"run.dir={folder} holds a run with another {', '.join(differs)}: set run.name to a new name, or "
                "delete the folder"
            )
        return
    write_json(path, wanted)
