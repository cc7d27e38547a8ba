"""The folder of one run: where everything goes, whose it is, and how often it was started.

run.json          configuration fingerprint, schema of the records, W&B run id, one entry per start
config.yaml       the resolved configuration of the last start
metrics.jsonl     one line a step; records/{train,heldout,pattern_eval}.jsonl  one line a rollout
checkpoints/      verl's checkpoints, each with its Hugging Face export; judges/  logs and request counts
summary.json, curves.png; error.txt after a failure; worker_logs: link to what Ray keeps of the last start
"""

from __future__ import annotations

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from foundation.runs.records import RECORD_SCHEMA

CHECKOUT = Path(__file__).resolve().parents[2]
FINGERPRINTED = ("policy", "corpus", "reward_mix", "seed")
"""Sections that make a run the same run: points that differ here must not resume from each other."""


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def checkpoints(self) -> Path:
        return self.path / "checkpoints"

    @property
    def records(self) -> Path:
        return self.path / "records"

    @property
    def paired_records(self) -> Path:
        return self.records / "pattern_eval.jsonl"

    @property
    def judges(self) -> Path:
        return self.path / "judges"

    @property
    def metrics(self) -> Path:
        return self.path / "metrics.jsonl"

    @property
    def summary(self) -> Path:
        return self.path / "summary.json"

    @property
    def curves(self) -> Path:
        return self.path / "curves.png"

    @property
    def error(self) -> Path:
        return self.path / "error.txt"

    @property
    def worker_logs(self) -> Path:
        return self.path / "worker_logs"

    @property
    def state(self) -> Path:
        return self.path / "run.json"

    def last_checkpoint(self) -> int | None:
        """Step of the newest complete checkpoint (verl writes this file last)."""
        marker = self.checkpoints / "latest_checkpointed_iteration.txt"
        return int(marker.read_text()) if marker.exists() else None

    def hugging_face_export(self) -> Path | None:
        step = self.last_checkpoint()
        if step is None:
            return None
        export = self.checkpoints / f"global_step_{step}" / "actor" / "huggingface"
        return export if export.exists() else None

    def read_state(self) -> dict[str, Any] | None:
        return json.loads(self.state.read_text()) if self.state.exists() else None


def fingerprint(config: Mapping[str, Any]) -> str:
    """Hash of the sections that define the experiment.

    Where the checkout lies does not count: a job gets a copy of its own on the cluster, and may get another one when
    it goes on.
    """
    relevant = json.dumps({section: config[section] for section in FINGERPRINTED}, sort_keys=True, ensure_ascii=False)
    return hashlib.sha256(relevant.replace(f"{CHECKOUT}/", "").encode()).hexdigest()[:16]


def open_run_folder(path: Path, config: Mapping[str, Any]) -> tuple[RunFolder, dict[str, Any]]:
    """Create the run folder, or take up an existing one of the same configuration.

    Returns:
        The folder and its state: ``wandb_id`` (kept over restarts) and ``starts``, the last entry being this start.

    Raises:
        ValueError: the folder belongs to a run with other settings, or of a version with other records.
    """
    folder = RunFolder(path)
    state = folder.read_state()
    mine = fingerprint(config)
    if state is None:
        wandb_id = secrets.token_hex(4)
        state = {"fingerprint": mine, "record_schema": RECORD_SCHEMA, "wandb_id": wandb_id, "starts": []}
    elif (schema := state.get("record_schema", 1)) != RECORD_SCHEMA:
        raise ValueError(
            f"run.dir={path} holds a run whose records have schema {schema}, and this version writes and reads schema "
            f"{RECORD_SCHEMA}: go on with the version of the code that started it, or set run.name=<new name>"
        )
    elif state["fingerprint"] != mine:
        raise ValueError(
            f"run.dir={path} holds a run with other settings of {', '.join(FINGERPRINTED)}; this run would resume from "
            f"its checkpoints. Set run.name=<new name>, or delete the folder"
        )
    for part in (folder.checkpoints, folder.records, folder.judges):
        part.mkdir(parents=True, exist_ok=True)
    started = datetime.now(UTC).isoformat(timespec="seconds")
    state["starts"].append({"at": started, "resumed_from": folder.last_checkpoint()})
    write_json(folder.state, state)
    folder.error.unlink(missing_ok=True)
    return folder, state


def write_whole(path: Path, content: str | bytes) -> None:
    """Write a file, text as UTF-8, so that a kill leaves the old file or the new one, never half of one."""
    partial = path.with_name(f"{path.name}.partial")
    partial.write_bytes(content.encode() if isinstance(content, str) else content)
    partial.replace(path)


def write_json(path: Path, content: Any) -> None:
    """Write JSON for people to read too, with :func:`write_whole`."""
    write_whole(path, json.dumps(content, indent=2, ensure_ascii=False) + "\n")


def append_jsonl(path: Path, rows: list[dict[str, Any]]) -> None:
    """Append rows as JSON, with :func:`append_lines`."""
    append_lines(path, [json.dumps(row, ensure_ascii=False) for row in rows])


def append_lines(path: Path, lines: Sequence[str]) -> None:
    """Append lines in one write, so that a kill cuts at most the last one."""
    with path.open("a", encoding="utf-8") as file:
        file.write("".join(f"{line}\n" for line in lines))


def read_jsonl(path: Path) -> list[dict[str, Any]]:
    """Rows of a JSONL file; a last line cut by a kill is left out, a broken line elsewhere is an error."""
    # Not splitlines: it also splits at U+2028 and the like, which a JSON text may hold.
    lines = path.read_text(encoding="utf-8").removesuffix("\n").split("\n") if path.exists() else []
    rows = []
    for number, line in enumerate(lines, start=1):
        try:
            rows.append(json.loads(line))
        except json.JSONDecodeError as error:
            if number == len(lines):
                break
            raise ValueError(f"{path}:{number}: not JSON ({error}); delete the line to go on") from error
    return rows


def last_attempt(rows: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Rows of the newest start for each step: a step that a resume repeated counts once."""
    newest: dict[int, int] = {}
    for row in rows:
        newest[row["step"]] = max(row["attempt"], newest.get(row["step"], 0))
    return [row for row in rows if row["attempt"] == newest[row["step"]]]
