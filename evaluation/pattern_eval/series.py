"""A training run over its steps: each checkpoint evaluated as a model, or the responses that the run kept shown."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from evaluation.pattern_eval.settings import EvalSettings
from foundation.runs.evaluation_records import Prompt, Response
from foundation.runs.run_folder import RunFolder
from foundation.runs.scored_rollout import read_rollouts
from foundation.runs.training_records import response_of
from reward_workers.label_source import asks_pattern_rm


def checkpoint_runs(settings: EvalSettings, folder: Path) -> list[EvalSettings]:
    """One run for each checkpoint that has a Hugging Face export, in order of its step.

    Args:
        settings: of the model that was trained; its servers are started by this command (`model.servers.<mode>.serve`).
        folder: `checkpoints` of a run folder of the trainer, or the run folder itself.

    Raises:
        ValueError: no export, or servers that someone else runs: their checkpoint cannot be exchanged from here.
    """
    root = folder / "checkpoints" if (folder / "checkpoints").is_dir() else folder
    steps = {int(path.name.removeprefix("global_step_")): path for path in root.glob("global_step_*")}
    exports = {step: path / "actor" / "huggingface" for step, path in sorted(steps.items())}
    exports = {step: export for step, export in exports.items() if (export / "config.json").is_file()}
    if not exports:
        raise ValueError(
            f"checkpoints={folder} has no global_step_*/actor/huggingface/config.json: give the run folder"
        )
    outside = [mode for mode, server in settings.servers.items() if server.serve is None]
    if outside:
        raise ValueError(
            f"checkpoints needs servers that this command starts, but model.servers.{outside[0]}.serve is null: set it"
        )
    return [_at(settings, step, export) for step, export in exports.items()]


def _at(settings: EvalSettings, step: int, export: Path) -> EvalSettings:
    servers = {
        mode: server.model_copy(
            update={"base_urls": (), "serve": server.serve.model_copy(update={"model_path": str(export)})}
        )
        for mode, server in settings.servers.items()
        if server.serve is not None
    }
    run = settings.run.model_copy(update={"dir": str(Path(settings.run.dir) / f"step_{step}")})
    model = settings.model.model_copy(update={"name": f"{settings.model.name} step {step}"})
    return replace(settings, run=run, model=model, servers=servers)


def training_responses(folder: Path, prompts: Sequence[Prompt]) -> list[Response]:
    """The responses that a training run kept, as a model a step; nothing is asked again.

    Those of its paired evaluations (`pattern_eval.every`), in all their modes; of a run without any, the held-out ones
    of its validations, in the mode that was trained.

    Args:
        prompts: the prompts of the run, for family and category.

    Raises:
        ValueError: no run folder, no record, one that this version cannot read, or a prompt that `prompts` lacks.
    """
    run = RunFolder(folder)
    config = _config_of(folder)
    if config is None:
        raise ValueError(f"training_run={folder} is no run folder of the trainer: it has no config.yaml")
    files = config["corpus"]["val_files"]
    if rollouts := read_rollouts(run.paired_records):
        files = config["pattern_eval"]["prompts"] or files
    else:
        rollouts = read_rollouts(run.records / "heldout.jsonl")
    if not rollouts:
        raise ValueError(
            f"training_run={folder}: no held-out records yet; the trainer writes them with each validation and each "
            "paired evaluation (pattern_eval.every)"
        )
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    unknown = next((rollout.prompt_id for rollout in rollouts if rollout.prompt_id not in by_id), None)
    if unknown is not None:
        raise ValueError(
            f"training_run={folder} has prompt {unknown!r}, which prompts.files lacks: give the run's own, {files}"
        )
    rollouts.sort(key=lambda rollout: (rollout.step, rollout.mode, rollout.group, rollout.rollout))
    asked = [by_id[rollout.prompt_id] for rollout in rollouts]
    return [response_of(r, prompt.family, prompt.category) for r, prompt in zip(rollouts, asked, strict=True)]


def pattern_rm_in_the_reward(folder: Path) -> str | None:
    """The PatternRM that a training run charged its policy by, as the run names it; None where it charged by none.

    Args:
        folder: a run folder of the trainer, or its `checkpoints`.
    """
    config = _config_of(folder) or _config_of(folder.parent)
    if config is None or not asks_pattern_rm(config["reward_mix"]):
        return None
    return str(config["judges"]["pattern_rm"]["model"])


def _config_of(folder: Path) -> dict[str, Any] | None:
    path = folder / "config.yaml"
    return yaml.safe_load(path.read_text()) if path.is_file() else None
