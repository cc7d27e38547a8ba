"""Stage checkpoints: a training run that was stopped continues after its last finished stage."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from corpora.toy.training.optimize import Budget


def run_stage(model: Any, folder: Path, name: str, seed: int, budget: Budget, train: Callable[[], float]) -> float:
    """Load the finished stage ``name`` into ``model``, or train it and save it. Returns its final loss.

    Raises:
        ValueError: the folder holds this stage with another seed or budget.
    """
    path = folder / (name.replace(":", "_") + ".pt")
    made_with = {"seed": seed, **asdict(budget)}
    if path.exists():
        saved = torch.load(path, weights_only=True)
        if saved["made_with"] != made_with:
            raise ValueError(
                f"{path} was made with {saved['made_with']}, this run asks for {made_with}: "
                "delete it or give another folder with --stages"
            )
        model.load_state_dict(saved["weights"])
        print(f"{name}: finished before, loaded from {path}", flush=True)
        return float(saved["loss"])
    loss = train()
    folder.mkdir(parents=True, exist_ok=True)
    partial = path.with_suffix(".partial")
    torch.save({"weights": model.state_dict(), "loss": loss, "made_with": made_with}, partial)
    partial.rename(path)
    return loss
