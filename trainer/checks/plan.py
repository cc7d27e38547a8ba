"""The resolved plan of a run, for people: what is trained on what, where, by which reward, and for how long."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from omegaconf import DictConfig
from rich.console import Console
from rich.table import Table

from foundation.responses.families import MODE_NAMES, check_mode
from foundation.settings.asked_judges import JUDGES
from foundation.settings.batch import read_batch
from foundation.settings.compose import is_hub_id
from foundation.settings.judges import JudgeSettings
from foundation.settings.run_settings import Settings
from foundation.settings.schedule_section import describe_schedule
from foundation.settings.sections import Files, RewardMix
from foundation.settings.verl_keys import cautions
from trainer.checks.endpoints import shown
from trainer.checks.preflight import Inputs, gpu_roles

ABSENT = "not on this machine"
Row = tuple[str, str]


@dataclass(frozen=True, slots=True)
class Plan:
    """What would run: `rows` of (topic, text), and `notes` that deserve a look."""

    rows: tuple[Row, ...]
    notes: tuple[str, ...]

    def print(self, console: Console) -> None:
        """Write the plan to a terminal or a file."""
        grid = Table.grid(padding=(0, 2))
        grid.add_column(style="bold", no_wrap=True)
        grid.add_column(overflow="fold")
        for topic, text in self.rows:
            grid.add_row(topic, text)
        console.print(grid, markup=False)
        for note in self.notes:
            console.print(f"note: {note}", markup=False)


def make_plan(settings: Settings, config: DictConfig, inputs: Inputs) -> Plan:
    """The plan of a checked configuration. Pure: writes nothing, asks nobody, prints no secret."""
    rows = [
        *_model_rows(settings, inputs),
        *_data_rows(settings, config, inputs),
        *_batch_rows(settings, config, inputs),
        *_gpu_rows(settings, config),
        *_judge_rows(settings, inputs),
        ("reward", describe_reward(settings.reward_mix)),
        *_folder_rows(settings, config),
        ("PatternEval", describe_pattern_eval(settings, inputs)),
    ]
    notes = cautions(config)
    missing = [f"{key}: {path} is {ABSENT}" for key, path in inputs.missing]
    return Plan(tuple(rows), (*notes, *missing))


def describe_reward(mix: RewardMix) -> str:
    """The reward as a formula with its numbers.

    The least reward of a right answer is 1 - min(cap, sum of the weights).
    """
    if not mix.pattern_penalty:
        return f"r = s_ver (BaseRL); unscored: {mix.on_unscored}"
    weights = mix.weights.model_dump()
    total = " + ".join(f"{weight:g} {label}" for label, weight in weights.items())
    least = 1 - min(mix.cap, sum(weights.values()))
    expected = 1 - mix.gate.probability * (1 - least)
    return (
        f"r = clip(s_ver - z min({mix.cap:g}, {total}), 0, 1), z ~ Bernoulli({mix.gate.probability:g}) per "
        f"{mix.gate.scope}, gate seed {mix.gate.seed}; right answer with every label: {least:g} where z = 1, "
        f"{expected:g} on average; wrong answer: 0; {_labels(mix)}; {describe_schedule(mix.schedule)}; "
        f"unscored: {mix.on_unscored}"
    )


def _labels(mix: RewardMix) -> str:
    """Whose labels are charged, and how."""
    sources = {
        "pattern_rm": "PatternRM",
        "rules": "the rules",
        "union": "PatternRM or the rules",
        "agreement": "PatternRM and the rules",
    }
    if mix.penalty == "expected":
        return f"probabilities of {sources[mix.labels.source]}"
    above = mix.threshold.model_dump()
    values = set(above.values())
    each = " ".join(f"{label}>{value:g}" for label, value in above.items())
    at = each if len(values) > 1 else f"above {values.pop():g}"
    return f"labels of {sources[mix.labels.source]}" + (f" ({at})" if mix.asks_pattern_rm else "")


def describe_judge(judge: JudgeSettings, inputs: Inputs) -> str:
    """Where a judge runs and how it is asked."""
    if judge.serve is None:
        where = f"{len(judge.base_urls)} endpoints: {', '.join(shown(url) for url in judge.base_urls)}"
    else:
        serve = judge.serve
        gpus = f"{serve.gpus_per_replica:g} GPUs" if serve.gpus_per_replica else "CPU"
        key = f"judges.{judge.name}.serve.model_path"
        where = (
            f"served by this job, {serve.replicas} replica(s) x {gpus}, TP {serve.tensor_parallel_size}, "
            f"{serve.max_model_len:,} tokens, {_where(key, serve.model_path, inputs)}"
        )
    key = "no key" if judge.api_key_env is None else f"key from ${judge.api_key_env}"
    return (
        f"{judge.model}: {where}; prompt {judge.prompt} ({judge.language}), {judge.max_attempts} attempts, "
        f"{judge.timeout_s:g} s each, {judge.total_timeout_s:g} s in all, {key}"
    )


def _model_rows(settings: Settings, inputs: Inputs) -> Iterator[Row]:
    policy = settings.policy
    tower = "frozen" if policy.freeze_vision_tower else "trained"
    mode = MODE_NAMES[check_mode(policy.mode)]
    yield "policy", f"{policy.name}: {_where('policy.path', policy.path, inputs)}"
    yield (
        "",
        f"family {policy.family}, {mode} mode, vision tower {tower}, update {policy.update_dtype}, "
        f"rollout {policy.rollout_dtype}, seed {settings.seed}",
    )


def _data_rows(settings: Settings, config: DictConfig, inputs: Inputs) -> Iterator[Row]:
    corpus = settings.corpus
    yield "train prompts", _describe_files(corpus.train_files, inputs, config.data.train_max_samples)
    yield "held-out prompts", _describe_files(corpus.val_files, inputs, config.data.val_max_samples)
    if corpus.train_rows is not None:
        yield "", f"{corpus.train_rows:,} training prompts expected (corpus.train_rows)"


def _describe_files(paths: Files, inputs: Inputs, limit: int) -> str:
    known = {file.path: file for file in (*inputs.train, *inputs.val, *inputs.paired)}
    texts = []
    for path in paths:
        file = known.get(Path(path))
        if file is None:
            texts.append(f"{path} ({ABSENT})")
        else:
            depth = "all checked" if file.deep_rows == file.rows else f"images of the first {file.deep_rows:,} checked"
            texts.append(f"{path} ({file.rows:,} rows, {depth})")
    return ", ".join(texts) + (f", first {limit:,} used" if limit > 0 else "")


def describe_pattern_eval(settings: Settings, inputs: Inputs) -> str:
    """When the policy is evaluated in which modes, on what, and what that gives."""
    paired = settings.pattern_eval
    if not paired.every:
        return "never (pattern_eval.every=0)"
    modes = " and ".join(MODE_NAMES[mode] for mode in paired.modes)
    prompts = "the held-out prompts" if paired.prompts is None else _describe_files(paired.prompts, inputs, 0)
    number = "all" if paired.max_prompts is None else f"the first {paired.max_prompts:,}"
    gives = "" if settings.reward_mix.asks_pattern_rm else "; accuracy only: this reward asks no PatternRM"
    return f"step 0, every {paired.every:,} steps and the last; {number} of {prompts}, {modes}{gives}"


def _judge_rows(settings: Settings, inputs: Inputs) -> Iterator[Row]:
    for name, asked in settings.judges.items():
        yield f"judge {name}", describe_judge(asked, inputs)
    for name, judge in JUDGES.items():
        why_not = judge.unasked(settings.reward_mix)
        if why_not is not None:
            yield f"judge {name}", f"none: {why_not}"


def _batch_rows(settings: Settings, config: DictConfig, inputs: Inputs) -> Iterator[Row]:
    batch = read_batch(config)
    updates = "one on-policy update" if batch.updates == 1 else f"{batch.updates} updates"
    yield (
        "step",
        f"{batch.prompts} prompts x {batch.n} rollouts = {batch.rollouts:,} rollouts, {updates} by "
        f"{config.algorithm.adv_estimator}, "
        f"at most {config.data.max_prompt_length:,} + {config.data.max_response_length:,} tokens",
    )
    rows = inputs.train_rows(settings, config.data.train_max_samples)
    if rows is None or rows < batch.prompts:
        yield (
            "length",
            f"at most {batch.max_steps or '?'} steps, {batch.epochs} epochs; the number of prompts is unknown",
        )
        return
    length = batch.length(rows)
    bound = (
        f"trainer.total_training_steps binds ({batch.epochs} epochs would be {length.steps_by_epochs:,} steps)"
        if length.binding == "steps"
        else f"trainer.total_epochs={batch.epochs} binds"
    )
    yield (
        "length",
        f"{length.steps:,} steps = {length.prompts:,} prompts = {length.epochs:.2f} epochs of {rows:,}; {bound}",
    )


def _gpu_rows(settings: Settings, config: DictConfig) -> Iterator[Row]:
    cluster = settings.cluster
    if cluster.device == "cpu":
        processes = config.trainer.nnodes * config.trainer.n_gpus_per_node
        yield "cluster", f"{cluster.name}: CPU, {processes} training process(es)"
        return
    taken = gpu_roles(settings, config)
    asked, given = sum(role.total for role in taken), cluster.nodes * cluster.gpus_per_node
    kept = f", {cluster.judge_nodes} of the nodes kept for judges" if cluster.judge_nodes else ""
    yield "cluster", f"{cluster.name}: {cluster.nodes} nodes x {cluster.gpus_per_node} GPUs = {given}{kept}"
    yield "GPUs", f"{' + '.join(str(role) for role in taken)}: {asked:g} of {given}"


def _folder_rows(settings: Settings, config: DictConfig) -> Iterator[Row]:
    trainer, folder = config.trainer, Path(settings.run.dir)
    marker = folder / "checkpoints" / "latest_checkpointed_iteration.txt"
    state = "new"
    if marker.is_file() and trainer.resume_mode == "auto":
        state = f"resumes after step {marker.read_text().strip()}"
    every = f"every {trainer.save_freq} steps" if trainer.save_freq > 0 else "none"
    tests = f"every {trainer.test_freq} steps" if trainer.test_freq > 0 else "never"
    yield "run folder", f"{folder} ({state})"
    yield "checkpoints", f"{every}; held-out evaluation {tests}{', and before' if trainer.val_before_train else ''}"
    tracking = settings.tracking
    group = f", group {tracking.group}" if tracking.group else ""
    yield "tracking", "none" if tracking.kind == "none" else f"{tracking.kind}, project {tracking.project}{group}"


def _where(key: str, model: str, inputs: Inputs) -> str:
    if (key, model) in inputs.missing:
        return f"{model} ({ABSENT})"
    return f"{model} (hub id)" if is_hub_id(model) else model
