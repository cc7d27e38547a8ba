"""Everything that can be known to be wrong before Ray starts, one line each.

problems = static_problems(settings, config)           # the settings alone
inputs = inspect_inputs(settings)                      # files on this machine
problems += data_problems(settings, config, inputs)    # what they hold
problems += start_problems(settings, inputs)           # what is absent, who does not answer
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig

from foundation.settings.batch import check_batch, check_rows, read_batch
from foundation.settings.compose import is_hub_id
from foundation.settings.run_settings import Settings
from foundation.settings.verl_keys import check_verl_keys
from trainer.checks.data_check import PromptFile, check_prompt_file
from trainer.checks.endpoints import check_endpoints
from trainer.checks.placement import Role, check_gpus, roles


@dataclass(frozen=True, slots=True)
class Inputs:
    """Files that a run reads.

    Attributes:
        train, val, paired: the prompt files that exist here, checked; `paired` are those of `pattern_eval.prompts`.
        missing: (key, path) of files and folders that are not on this machine.
        problems: what is wrong with those that are.
    """

    train: tuple[PromptFile, ...]
    val: tuple[PromptFile, ...]
    paired: tuple[PromptFile, ...]
    missing: tuple[tuple[str, str], ...]
    problems: tuple[str, ...]

    def train_rows(self, settings: Settings, limit: int) -> int | None:
        """Training prompts: of the files when all are here, else the expected number; `limit` > 0 caps them."""
        complete = len(self.train) == len(settings.corpus.train_files)
        rows = sum(file.rows for file in self.train) if complete else settings.corpus.train_rows
        return rows if rows is None or limit <= 0 else min(rows, limit)


def static_problems(settings: Settings, config: DictConfig) -> list[str]:
    """Problems of the settings alone: keys, batch arithmetic, GPUs."""
    problems = check_verl_keys(config)
    sizes = check_batch(config)
    return problems + sizes + ([] if sizes else check_gpus(settings, gpu_roles(settings, config)))


def gpu_roles(settings: Settings, config: DictConfig) -> list[Role]:
    return roles(settings, config.trainer.nnodes, config.trainer.n_gpus_per_node)


def inspect_inputs(settings: Settings) -> Inputs:
    """Read the prompt files and look for the models."""
    missing: list[tuple[str, str]] = []
    corpus, paired = settings.corpus, settings.pattern_eval
    named = {
        "corpus.train_files": corpus.train_files,
        "corpus.val_files": corpus.val_files,
        "pattern_eval.prompts": paired.prompts if paired.every and paired.prompts else (),
    }
    files: dict[str, list[PromptFile]] = {key: [] for key in named}
    for key, paths in named.items():
        for path in paths:
            if Path(path).is_file():
                files[key].append(check_prompt_file(Path(path), key))
            else:
                missing.append((key, path))
    problems = [problem for checked in files.values() for file in checked for problem in file.problems]
    models = [("policy.path", settings.policy.path)]
    models += [
        (f"judges.{name}.serve.model_path", judge.serve.model_path)
        for name, judge in settings.judges.items()
        if judge.serve is not None
    ]
    for key, model in models:
        if is_hub_id(model):
            continue
        if not Path(model).is_dir():
            missing.append((key, model))
        elif not (Path(model) / "config.json").is_file():
            problems.append(f"{key}: {model} holds no config.json: give a folder in Hugging Face format")
        elif not any(Path(model).glob("*.safetensors")) and not any(Path(model).glob("*.bin")):
            problems.append(f"{key}: {model} holds no weights (*.safetensors): give a complete checkpoint")
    train, val, pairs = (tuple(files[key]) for key in named)
    return Inputs(train, val, pairs, tuple(missing), tuple(problems))


def data_problems(settings: Settings, config: DictConfig, inputs: Inputs) -> list[str]:
    """What is wrong with the files that are on this machine."""
    problems = list(inputs.problems)
    rows = inputs.train_rows(settings, config.data.train_max_samples)
    if rows is not None and not problems and not check_batch(config):
        problems += check_rows(read_batch(config), rows)
    return problems


def start_problems(settings: Settings, inputs: Inputs) -> list[str]:
    """What keeps the run from starting here and now: absent files, endpoints that do not answer."""
    problems = [f"{key}: {path} does not exist: {_how_to_get(key)}" for key, path in inputs.missing]
    for judge in settings.judges.values():
        problems += check_endpoints(judge)
    return problems


def _how_to_get(key: str) -> str:
    if key == "pattern_eval.prompts":
        return "set it to parquet files in the form of corpus.val_files, or to null for the held-out prompts"
    if key.startswith("corpus."):
        return f"set {key}, or build the corpus (PATTERNRL_DATA names the folder of the GPU experiments)"
    return f"set {key} to a model folder or hub id (PATTERNRL_MODELS names the folder of the GPU experiments)"
