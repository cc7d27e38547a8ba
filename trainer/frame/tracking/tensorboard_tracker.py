"""TensorBoard event files in the run folder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from foundation.runs.run_folder import RunFolder


class TensorboardTracker:
    def __init__(self, folder: RunFolder):
        from torch.utils.tensorboard import SummaryWriter

        self._writer = SummaryWriter(log_dir=str(folder.path / "tensorboard"))

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        for name, value in metrics.items():
            self._writer.add_scalar(name, value, step)

    def log_rollouts(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        texts = [
            f"**{row['prompt']}**\n\n{row['visible']}\n\nverdict {row['verdict']}, labels {row['labels']}, "
            f"reward {row['reward']}"
            for row in rows
        ]
        self._writer.add_text("rollouts", "\n\n---\n\n".join(texts), step)

    def finish(self, exit_code: int) -> None:
        self._writer.close()
