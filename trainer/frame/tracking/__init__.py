"""Where metrics go: always into the run folder, and to W&B or TensorBoard as `tracking.kind` says.

A tracker that fails is reported once and dropped: no tracking service can stop a run.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

from foundation.runs.run_folder import RunFolder, append_jsonl

logger = logging.getLogger(__name__)


class Tracker(Protocol):
    def log(self, metrics: Mapping[str, float], step: int) -> None: ...
    def log_rollouts(self, rows: Sequence[Mapping[str, Any]], step: int) -> None: ...
    def finish(self, exit_code: int) -> None: ...


class FileTracker:
    """One JSON line a step in `metrics.jsonl`; `attempt` counts the starts of this run."""

    def __init__(self, folder: RunFolder, attempt: int):
        self._path, self._attempt = folder.metrics, attempt

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        append_jsonl(self._path, [{"step": step, "attempt": self._attempt, **metrics}])

    def log_rollouts(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        """The records hold every rollout already."""

    def finish(self, exit_code: int) -> None:
        """Nothing is buffered."""


class Trackers:
    """All trackers of a run behind one interface; it stands where verl expects its `Tracking` object."""

    def __init__(self, required: Tracker, optional: Sequence[Tracker] = ()):
        self._required = required
        self._optional = list(optional)

    def log(self, data: Mapping[str, Any], step: int) -> None:
        metrics = {key: float(value) for key, value in data.items() if _is_number(value)}
        self._required.log(metrics, step)
        self._each(lambda tracker: tracker.log(metrics, step))

    def log_rollouts(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        self._each(lambda tracker: tracker.log_rollouts(rows, step))

    def finish(self, exit_code: int = 0) -> None:
        self._each(lambda tracker: tracker.finish(exit_code))
        self._optional = []

    def _each(self, action: Any) -> None:
        for tracker in list(self._optional):
            try:
                action(tracker)
            except Exception:  # a tracking service may fail in any way, and training goes on without it
                self._optional.remove(tracker)
                logger.exception("%s failed and is switched off for the rest of this run", type(tracker).__name__)


def build_trackers(config: Mapping[str, Any], folder: RunFolder, state: Mapping[str, Any]) -> Trackers:
    """Trackers of a run from its resolved configuration and the state of its run folder."""
    settings = config["tracking"]
    optional: list[Tracker] = []
    try:
        if settings["kind"] == "wandb":
            from trainer.frame.tracking.wandb_tracker import WandbTracker

            optional.append(WandbTracker(config, folder, run_id=state["wandb_id"]))
        elif settings["kind"] == "tensorboard":
            from trainer.frame.tracking.tensorboard_tracker import TensorboardTracker

            optional.append(TensorboardTracker(folder))
    except Exception:  # see the module's docstring
        logger.exception("tracking.kind=%s could not be started; this run goes on without it", settings["kind"])
    return Trackers(FileTracker(folder, attempt=len(state["starts"]) - 1), optional)


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return False
    return True
