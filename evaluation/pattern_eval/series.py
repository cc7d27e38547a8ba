"""A training run over its steps: each checkpoint evaluated as a model, or the run's held-out records shown."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import yaml

from evaluation.pattern_eval.settings import EvalSettings
from evaluation.records import Prompt, Response
from reward_workers.records import LABELS
from rollout_workers.families import Mode, check_mode
from trainer.run_folder import RunFolder, read_jsonl
from trainer.summary import last_attempt


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
        mode: replace(server, base_urls=(), serve=replace(server.serve, model_path=str(export)))
        for mode, server in settings.servers.items()
        if server.serve is not None
    }
    run = settings.run.model_copy(update={"dir": str(Path(settings.run.dir) / f"step_{step}")})
    model = settings.model.model_copy(update={"name": f"{settings.model.name} step {step}"})
    return replace(settings, run=run, model=model, servers=servers)


def training_responses(folder: Path, prompts: Sequence[Prompt]) -> list[Response]:
    """The held-out responses that a training run kept, as a model a step; nothing is asked again.

    Args:
        prompts: the held-out prompts, for family and category.

    Raises:
        ValueError: no run folder, no held-out record, or a prompt that `prompts` lacks.
    """
    run = RunFolder(folder)
    if not (folder / "config.yaml").is_file():
        raise ValueError(f"training_run={folder} is no run folder of the trainer: it has no config.yaml")
    config = yaml.safe_load((folder / "config.yaml").read_text())
    rows = last_attempt(read_jsonl(run.records / "heldout.jsonl"))
    if not rows:
        raise ValueError(
            f"training_run={folder}: no held-out records yet; the trainer writes them with each validation"
        )
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    unknown = next((row["prompt_id"] for row in rows if row["prompt_id"] not in by_id), None)
    if unknown is not None:
        raise ValueError(
            f"training_run={folder} has prompt {unknown!r}, which prompts.files lacks: give the run's corpus.val_files"
        )
    mode = check_mode(config["policy"]["mode"])
    rows.sort(key=lambda row: (row["step"], row["group"], row["rollout"]))
    return [_response(row, by_id[row["prompt_id"]], mode) for row in rows]


def _response(row: Mapping[str, Any], prompt: Prompt, mode: Mode) -> Response:
    labels = row["labels"]
    labelled = labels is not None and "cot" in labels
    vector = {label: bool(labels[label]) for label in LABELS} if labelled else None
    verdict = row["verdict"]
    return Response(
        f"step {row['step']}",
        mode,
        prompt.prompt_id,
        prompt.family,
        prompt.category,
        question=prompt.question,
        reference=prompt.reference,
        visible=row["visible"],
        outcome="answered" if row["visible"] else "empty",
        finish_reason="length" if row["truncated"] else "stop",
        n_tokens=row["n_tokens"],
        n_chars=len(row["visible"]),
        correct=verdict["value"] if row["visible"] else None,
        correct_by=f"{verdict['stage']} {verdict['reason']}",
        labels=vector,
        label_reason="" if labelled or labels is None else labels["reason"],
        votes={} if vector is None else {"pattern_rm": vector},
    )
