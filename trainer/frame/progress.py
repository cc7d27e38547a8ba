"""Lines that tell a person how the run goes.

The task runner writes them, wherever in the cluster it runs; the driver fetches and prints them.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping

from foundation.labels import LABELS


class Progress:
    """Thread-safe list of lines with their age since the start of the run."""

    def __init__(self) -> None:
        self._lines: list[str] = []
        self._started = time.monotonic()
        self._lock = threading.Lock()

    def say(self, text: str) -> None:
        with self._lock:
            self._lines.append(f"[{time.monotonic() - self._started:6.1f} s] {text}")

    def since(self, first: int) -> list[str]:
        """Lines from index `first` on."""
        with self._lock:
            return self._lines[first:]

    def step(self, step: int, total: int, metrics: Mapping[str, float], timing_s: Mapping[str, float]) -> None:
        phases = " ".join(
            f"{short} {timing_s[phase]:.1f}"
            for short, phase in (("gen", "gen"), ("update", "update_actor"), ("sync", "update_weights"))
            if phase in timing_s
        )
        self.say(
            f"step {step:>{len(str(total))}}/{total}  {_headline(metrics)}  "
            f"calls pattern_rm {metrics['calls/pattern_rm']:.0f} fallback {metrics['calls/fallback']:.0f}  "
            f"{timing_s['step']:.1f} s ({phases})"
        )

    def heldout(self, step: int, metrics: Mapping[str, float]) -> None:
        self.say(f"held-out at step {step}: {_headline(metrics)}")


def _headline(metrics: Mapping[str, float]) -> str:
    parts = [f"accuracy {metrics['accuracy']:.3f}"]
    if "reward/mean" in metrics:
        parts.insert(0, f"reward {metrics['reward/mean']:.3f}")
    if "trigger" in metrics:
        labels = " ".join(f"{label} {metrics[f'label/{label}']:.2f}" for label in LABELS)
        parts.append(f"Trigger {metrics['trigger']:.3f} ({labels})")
    elif "rules/trigger" in metrics:
        parts.append(f"Trigger by rules {metrics['rules/trigger']:.3f}")
    parts.append(f"tokens {metrics['n_tokens/mean']:.0f}")
    if metrics["unscored"]:
        parts.append(f"UNSCORED {metrics['unscored']:.1%}")
    return "  ".join(parts)
