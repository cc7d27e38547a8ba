"""Verdicts counted by stage, and the table that a command ends with."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from typing import Any

from rich.table import Table

from foundation.runs.records import STAGES

_COLUMNS = (("right", "1"), ("wrong", "0"), ("unresolved", "unresolved"))


class Tally:
    """Counts of (stage, verdict), and the sum of the ANLS of document texts."""

    def __init__(self) -> None:
        self.counts: Counter[tuple[str, str]] = Counter()
        self.anls_sum = 0.0
        self.anls_rows = 0

    @property
    def rows(self) -> int:
        return self.counts.total()

    def add(self, row: Mapping[str, Any]) -> None:
        """Count one row of output."""
        self.counts[row["stage"], str(row["verdict"])] += 1
        if "anls" in row:
            self.anls_sum += row["anls"]
            self.anls_rows += 1

    def as_dict(self) -> dict[str, Any]:
        """For a message to another process; `add_dict` is the other side."""
        counts = [[stage, verdict, n] for (stage, verdict), n in self.counts.items()]
        return {"counts": counts, "anls": [self.anls_sum, self.anls_rows]}

    def add_dict(self, other: Mapping[str, Any]) -> None:
        for stage, verdict, n in other["counts"]:
            self.counts[stage, verdict] += n
        self.anls_sum += other["anls"][0]
        self.anls_rows += other["anls"][1]

    def table(self) -> Table:
        """Stages down, verdicts across; a stage that decided nothing stands with zeros."""
        table = Table(title="verdicts by the stage that decided, or that tried last")
        table.add_column("stage")
        for name in (*(name for name, _ in _COLUMNS), "rows", "share"):
            table.add_column(name, justify="right")
        for stage in STAGES[:-1]:
            table.add_row(stage, *self._cells((stage,)))
        table.add_section()
        table.add_row("all", *self._cells(STAGES))
        return table

    def _cells(self, stages: tuple[str, ...]) -> list[str]:
        numbers = [sum(self.counts[stage, verdict] for stage in stages) for _, verdict in _COLUMNS]
        share = sum(numbers) / self.rows if self.rows else 0.0
        return [*(f"{number:,}" for number in (*numbers, sum(numbers))), f"{share:.1%}"]
