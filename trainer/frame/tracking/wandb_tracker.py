"""Weights & Biases: online when a key is set, offline otherwise, the same run id after a resume."""

from __future__ import annotations

import io
import logging
import os
from collections.abc import Mapping, Sequence
from typing import Any

from foundation.responses.families import MODES
from foundation.runs.run_folder import RunFolder

logger = logging.getLogger(__name__)
INIT_TIMEOUT_S = 60.0

TRADE_OFFS = {"heldout_by_trigger/accuracy": ("heldout/accuracy", "heldout/trigger")} | {
    f"pattern_eval_by_trigger/{mode}/accuracy": (f"pattern_eval/{mode}/accuracy", f"pattern_eval/{mode}/trigger")
    for mode in MODES
}
"""Accuracy over Trigger instead of over steps, a point a validation: name, its value, its other axis."""


class WandbTracker:
    """Args:
    config: resolved configuration, sent as the run's config (it holds no secrets: keys travel by environment).
    run_id: id kept in `run.json`, so that a restarted job continues its own W&B run.
    """

    def __init__(self, config: Mapping[str, Any], folder: RunFolder, run_id: str):
        import wandb

        settings = config["tracking"]
        arguments: dict[str, Any] = {
            "project": settings["project"],
            "entity": settings["entity"],
            "group": settings["group"],
            "tags": list(settings["tags"]),
            "name": config["run"]["name"],
            "id": run_id,
            "resume": "allow",
            "dir": str(folder.path),
            "config": dict(config),
        }
        quiet = wandb.Settings(silent=True, init_timeout=INIT_TIMEOUT_S, console="off")
        mode: Any = os.environ.get("WANDB_MODE") or ("online" if has_key() else "offline")
        try:
            self._run = wandb.init(mode=mode, settings=quiet, **arguments)
        except Exception:  # W&B raises many types for network, key and quota; offline needs none of them
            if mode != "online":
                raise
            logger.exception("W&B cannot be reached: recording offline; `wandb sync %s/wandb` uploads it", folder.path)
            self._run = wandb.init(mode="offline", settings=quiet, **arguments)
        for name, (_, trigger) in TRADE_OFFS.items():
            self._run.define_metric(name, step_metric=trigger)
        self._table = wandb.Table
        self._image = wandb.Image

    def log(self, metrics: Mapping[str, float], step: int) -> None:
        shown = dict(metrics)
        for name, (accuracy, trigger) in TRADE_OFFS.items():
            if accuracy in metrics and trigger in metrics:
                shown[name] = metrics[accuracy]
        self._run.log(shown, step=step)

    def log_rollouts(self, rows: Sequence[Mapping[str, Any]], step: int) -> None:
        if not rows:
            return
        columns = list(rows[0])
        table = self._table(columns=columns)
        for row in rows:
            table.add_data(*(self._cell(row[column]) for column in columns))
        self._run.log({"rollouts": table}, step=step)

    def finish(self, exit_code: int) -> None:
        self._run.finish(exit_code=exit_code)

    def _cell(self, value: Any) -> Any:
        if isinstance(value, bytes):
            from PIL import Image

            return self._image(Image.open(io.BytesIO(value)))
        return value


def has_key() -> bool:
    """Whether a key for W&B is set: WANDB_API_KEY, or what `wandb login` left in ~/.netrc."""
    if os.environ.get("WANDB_API_KEY"):
        return True
    import netrc

    try:
        return netrc.netrc().authenticators("api.wandb.ai") is not None
    except (FileNotFoundError, netrc.NetrcParseError):
        return False
