"""Keys that a job needs: their names, and which of them travel with it.

Ray keeps a job's runtime environment in plain text. The dashboard hides its values from browsers only
(ray 2.60.0, dashboard/runtime_env_redaction.py): whoever can reach its port reads them with `ray job list`. So keys
are not sent by default; the cluster's nodes have them in their environment, from a Kubernetes Secret or a Slurm job.
Nothing here prints a value.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass

from foundation.settings.run_settings import Settings

WANDB = "WANDB_API_KEY"


@dataclass(frozen=True, slots=True)
class Secret:
    """An environment variable that holds a key. `required`: without it the job cannot do what its settings say."""

    name: str
    use: str
    required: bool


def secrets_of(settings: Settings) -> list[Secret]:
    """The keys that a run reads; W&B without one records offline."""
    keys = {
        judge.api_key_env: Secret(judge.api_key_env, f"judges.{name}.api_key_env", required=True)
        for name, judge in settings.judges.items()
        if judge.api_key_env is not None
    }
    wandb = [Secret(WANDB, "tracking.kind=wandb", required=False)] if settings.tracking.kind == "wandb" else []
    return [*keys.values(), *wandb]


def missing(secrets: list[Secret], environment: Mapping[str, str] = os.environ) -> tuple[list[str], list[str]]:
    """Problems (required keys that are not set) and notes (what happens without the others), a line each."""
    absent = [secret for secret in secrets if not environment.get(secret.name)]
    problems = [f"{s.use}: the environment variable {s.name} is not set" for s in absent if s.required]
    notes = [
        f"{s.use} without {s.name}: recorded offline in the run folder; wandb sync <run folder>/wandb/offline-run-* "
        "uploads it"
        for s in absent
        if not s.required
    ]
    return problems, notes
