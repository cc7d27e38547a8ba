"""The pattern weights of each step: constant, linear warm-up, a curriculum, or guarded by accuracy.

The trainer owns the schedule; the weights of a step travel with each of its rollouts to the reward workers. The paper's
weights are constant. Pure: neither torch nor ray nor verl.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from foundation.labels import LABELS
from foundation.runs.run_folder import write_json
from reward_workers.mix import Mix

Weights = dict[str, float]


@dataclass(slots=True)
class WeightSchedule:
    """Constant weights; the base of every other kind.

    Attributes:
        base: weights and cap as `reward_mix` has them. Validation always uses them, so that held-out penalties of
            different steps can be compared.
    """

    base: Mix

    def mix(self, step: int, validate: bool) -> Mix:
        """What travels with the rollouts that are started in a step, 1 or later; in validation the base."""
        return self.base if validate else replace(self.base, weights=self.weights(step))

    def weights(self, step: int) -> Weights:
        """Weights of the rollouts that are started in a step, 1 or later."""
        factors = self.factors(step)
        return {label: self.base.weights[label] * factors[label] for label in LABELS}

    def factors(self, step: int) -> dict[str, float]:
        """Share of its weight that each label has in a step, 0..1."""
        return dict.fromkeys(LABELS, 1.0)

    def observe(self, accuracy: float) -> None:
        """Told after each step: the share of right answers among its scored training rollouts, 0..1."""

    def state(self) -> dict[str, Any]:
        """What a checkpoint must hold, as JSON; empty where the step number says everything."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Go on from the state of a checkpoint."""

    def metrics(self) -> dict[str, float]:
        """What the kind itself knows, for the log."""
        return {}


@dataclass(slots=True)
class LinearWarmup(WeightSchedule):
    """All weights grow evenly: step / steps of their value until `steps`."""

    steps: int

    def factors(self, step: int) -> dict[str, float]:
        return dict.fromkeys(LABELS, min(1.0, step / self.steps))


@dataclass(slots=True)
class Curriculum(WeightSchedule):
    """Each label counts from a step of its own on."""

    from_step: Mapping[str, int]

    def factors(self, step: int) -> dict[str, float]:
        return {label: float(step >= self.from_step[label]) for label in LABELS}


@dataclass(slots=True)
class AccuracyGuard(WeightSchedule):
    """One factor for all weights: cut when accuracy falls below its own past, raised slowly in every other step.

    Accuracy is the mean of the last `average_steps` steps. The reference is of the steps before: the highest such mean
    of the last `window_steps` (`best`), or an exponential average of single steps with alpha = 2 / (window_steps + 1)
    (`ema`; it follows a slow decline, `best` does not). After a cut the next one waits `average_steps` steps, until the
    mean holds only steps that were started after it.
    """

    reference: str
    average_steps: int
    window_steps: int
    margin: float
    lower_by: float
    raise_by: float
    floor: float
    factor: float = 1.0
    _recent: list[float] = field(default_factory=list)
    _means: list[float] = field(default_factory=list)
    _ema: float | None = None
    _pause: int = 0

    def factors(self, step: int) -> dict[str, float]:
        return dict.fromkeys(LABELS, self.factor)

    def observe(self, accuracy: float) -> None:
        reference = self._reference()
        self._recent = [*self._recent, accuracy][-self.average_steps :]
        mean = self._mean()
        self._pause = max(0, self._pause - 1)
        if reference is not None and mean is not None and mean < reference - self.margin:
            if self._pause == 0:
                self.factor = max(self.floor, self.factor * self.lower_by)
                self._pause = self.average_steps
        else:
            self.factor = min(1.0, self.factor * self.raise_by)
        if mean is not None:
            self._means = [*self._means, mean][-self.window_steps :]
        alpha = 2.0 / (self.window_steps + 1)
        self._ema = accuracy if self._ema is None else (1 - alpha) * self._ema + alpha * accuracy

    def state(self) -> dict[str, Any]:
        return {
            "factor": self.factor,
            "recent": self._recent,
            "means": self._means,
            "ema": self._ema,
            "pause": self._pause,
        }

    def restore(self, state: Mapping[str, Any]) -> None:
        self.factor = state["factor"]
        self._recent = list(state["recent"])
        self._means = list(state["means"])
        self._ema = state["ema"]
        self._pause = state["pause"]

    def metrics(self) -> dict[str, float]:
        known = {"factor": self.factor, "accuracy": self._mean(), "reference": self._reference()}
        return {f"accuracy_guard/{name}": value for name, value in known.items() if value is not None}

    def _mean(self) -> float | None:
        """None until there are enough steps."""
        return sum(self._recent) / self.average_steps if len(self._recent) == self.average_steps else None

    def _reference(self) -> float | None:
        if not self._means:
            return None
        return max(self._means) if self.reference == "best" else self._ema


STATE_FILE = "weight_schedule.json"
"""In each checkpoint folder of a run whose schedule has a state."""


def save_state(schedule: WeightSchedule, checkpoint: Path) -> None:
    """Write the state into a checkpoint folder, which may not exist yet; nothing for a schedule without one."""
    state = schedule.state()
    if state:
        checkpoint.mkdir(parents=True, exist_ok=True)
        write_json(checkpoint / STATE_FILE, state)


def restore_state(schedule: WeightSchedule, checkpoint: Path) -> bool:
    """Go on from a checkpoint folder.

    Returns:
        False when the schedule has a state and the checkpoint, which another run wrote, holds none.
    """
    if not schedule.state():
        return True
    file = checkpoint / STATE_FILE
    if not file.exists():
        return False
    schedule.restore(json.loads(file.read_text()))
    return True


def build_schedule(reward_mix: Mapping[str, Any]) -> WeightSchedule:
    """The schedule of a checked section `reward_mix` as a plain mapping."""
    base = Mix({label: float(reward_mix["weights"][label]) for label in LABELS}, float(reward_mix["cap"]))
    settings = {key: value for key, value in reward_mix["schedule"].items() if key != "kind"}
    kinds = {
        "constant": WeightSchedule,
        "linear_warmup": LinearWarmup,
        "curriculum": Curriculum,
        "accuracy_guard": AccuracyGuard,
    }
    return kinds[reward_mix["schedule"]["kind"]](base, **settings)
