"""The one optimiser loop of all toy models: AdamW, warm-up and cosine, clipped gradients, progress lines."""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import dataclass

import torch

from corpora.toy.training.fast import FastModel

MAX_GRAD_NORM = 1.0
PROGRESS_EVERY = 50


@dataclass(frozen=True, slots=True)
class Budget:
    """How long and how fast one stage trains.

    Attributes:
        steps: optimiser steps.
        batch: examples a step (what an example is depends on the stage).
        lr: peak learning rate.
        warmup: steps of linear warm-up; cosine to 5 % of the peak after that.
    """

    steps: int
    batch: int
    lr: float
    warmup: int = 50

    def lr_at(self, step: int) -> float:
        """Learning rate of step 1..steps."""
        cosine = 0.5 * (1 + math.cos(math.pi * step / self.steps))
        return self.lr * min(1.0, step / self.warmup) * (0.05 + 0.95 * cosine)


def optimize(name: str, fast: FastModel, budget: Budget, accumulate: Callable[[], float]) -> float:
    """Train ``fast`` in place.

    Args:
        name: shown in the progress lines.
        accumulate: draws a batch, calls backward on its loss (in as many parts as it likes) and returns that loss.

    Returns:
        The mean loss of the last PROGRESS_EVERY steps.
    """
    parameters = list(fast.model.parameters())
    optimizer = torch.optim.AdamW(parameters, lr=budget.lr, betas=(0.9, 0.98), weight_decay=0.01)
    losses: list[float] = []
    start = time.monotonic()
    for step in range(1, budget.steps + 1):
        for group in optimizer.param_groups:
            group["lr"] = budget.lr_at(step)
        losses.append(accumulate())
        torch.nn.utils.clip_grad_norm_(parameters, MAX_GRAD_NORM)
        optimizer.step()
        optimizer.zero_grad()
        if step % PROGRESS_EVERY == 0 or step == budget.steps:
            recent = losses[-PROGRESS_EVERY:]
            print(
                f"{name}: step {step}/{budget.steps} loss {sum(recent) / len(recent):.4f} "
                f"{time.monotonic() - start:.0f} s",
                flush=True,
            )
    recent = losses[-PROGRESS_EVERY:]
    return sum(recent) / len(recent)
