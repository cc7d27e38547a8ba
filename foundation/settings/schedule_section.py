"""Keys and ranges of `reward_mix.schedule`; each kind has its own (`configs/reward_mix/schedule/*.yaml`)."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from foundation.settings.by_label import by_label

Steps = Annotated[int, Field(ge=1)]


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True)


class Constant(_Section):
    kind: Literal["constant"]


class LinearWarmup(_Section):
    kind: Literal["linear_warmup"]
    steps: Steps


class FromStep(by_label(_Section, Steps)):  # type: ignore[misc]
    """The first step in which each label counts."""


class Curriculum(_Section):
    kind: Literal["curriculum"]
    from_step: FromStep


class AccuracyGuard(_Section):
    kind: Literal["accuracy_guard"]
    reference: Literal["best", "ema"]
    average_steps: Steps
    window_steps: Steps
    margin: Annotated[float, Field(ge=0, le=1)]
    lower_by: Annotated[float, Field(gt=0, lt=1)]
    raise_by: Annotated[float, Field(ge=1)]
    floor: Annotated[float, Field(gt=0, le=1)]


SCHEDULES: dict[str, type[BaseModel]] = {
    "constant": Constant,
    "linear_warmup": LinearWarmup,
    "curriculum": Curriculum,
    "accuracy_guard": AccuracyGuard,
}
"""The kinds, by name."""

Schedule = Annotated[Constant | LinearWarmup | Curriculum | AccuracyGuard, Field(discriminator="kind")]


def describe_schedule(schedule: Constant | LinearWarmup | Curriculum | AccuracyGuard) -> str:
    """What the weights do over the steps, for the plan."""
    if isinstance(schedule, LinearWarmup):
        return f"weights grow to their full value until step {schedule.steps}"
    if isinstance(schedule, Curriculum):
        starts = schedule.from_step.model_dump()
        return "labels count from step " + ", ".join(f"{step} ({label})" for label, step in starts.items()) + " on"
    if isinstance(schedule, AccuracyGuard):
        return (
            f"weights x {schedule.lower_by:g} (at least {schedule.floor:g} of their value) when accuracy over "
            f"{schedule.average_steps} steps is more than {schedule.margin:g} below its {schedule.reference} of "
            f"{schedule.window_steps}, else x {schedule.raise_by:g} a step"
        )
    return "constant weights"
