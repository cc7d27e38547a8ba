"""A run in stages, each of which goes on where an earlier start stopped: generate, judge, report.

Servers of a stage are started when something is missing for it, and end with it.
"""

from __future__ import annotations

import asyncio
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TaskID,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)

from evaluation.pattern_eval import generate
from evaluation.pattern_eval.generate import Generated
from evaluation.pattern_eval.judging import stage as judging
from evaluation.pattern_eval.judging.correctness import NO_REFERENCE
from evaluation.pattern_eval.judging.stage import CorrectnessRecord, LabelRecord, Task, text_hash
from evaluation.pattern_eval.prompt_file import fingerprint
from evaluation.pattern_eval.serving import serving
from evaluation.pattern_eval.settings import EvalSettings
from evaluation.pattern_eval.store import Journal, claim_folder
from foundation.responses.families import Mode
from foundation.runs.evaluation_records import Generation, Prompt
from reward_workers.judges.prompts.render import prompt_version


@dataclass(frozen=True, slots=True)
class RunFolder:
    path: Path

    @property
    def generations(self) -> Path:
        return self.path / "generations.jsonl"

    @property
    def correctness(self) -> Path:
        return self.path / "correctness.jsonl"

    def labels(self, judge: str) -> Path:
        return self.path / f"labels-{judge}.jsonl"

    @property
    def logs(self) -> Path:
        return self.path / "logs"

    @property
    def report(self) -> Path:
        return self.path / "report"


@dataclass(frozen=True, slots=True)
class Results:
    """What the journals of a run hold, by (mode, prompt id)."""

    generations: Mapping[tuple[str, ...], Generation]
    verdicts: Mapping[tuple[str, ...], CorrectnessRecord]
    labels: Mapping[str, Mapping[tuple[str, ...], LabelRecord]]


def identity(settings: EvalSettings, prompts: Sequence[Prompt]) -> dict[str, Any]:
    """What the kept results of a run depend on; another value of any of it is another run."""
    modes: dict[str, Any] = {
        mode: {"model": server.model, "served": server.serve.model_path if server.serve else None}
        for mode, server in settings.servers.items()
    }
    asked = {mode: generate.request_fields(settings, mode) for mode in settings.modes}
    judges = {
        name: [*judge.identity(), judge.temperature, judge.max_tokens, prompt_version(judge.prompt, judge.language)]
        for name, judge in settings.judges.items()
    }
    return {
        "model": {"name": settings.model.name, "family": settings.model.family, "modes": modes},
        "request": {**asked, "seed": settings.model.seed},
        "prompts": fingerprint(prompts),
        "judges": judges,
        "asks": settings.asks.model_dump(),
        "verifier": settings.verifier.model_dump(),
        "images": settings.prompts.max_pixels,
    }


def run_stages(settings: EvalSettings, prompts: Sequence[Prompt], console: Console) -> Results:
    """Generate and judge what is missing; returns everything that is there afterwards.

    Raises:
        ValueError: the folder holds another run, a journal is broken, or a mode switch has no effect.
        RuntimeError: a server did not come up.
    """
    folder = RunFolder(Path(settings.run.dir))
    claim_folder(folder.path, identity(settings, prompts))
    with ExitStack() as stack:
        generations = Journal[Generation](folder.generations, generate.encode, generate.decode, generate.key)
        stack.callback(generations.close)
        verdicts = Journal[CorrectnessRecord](
            folder.correctness, judging.encode, lambda row: CorrectnessRecord(**row), judging.key
        )
        stack.callback(verdicts.close)
        labels = {}
        for name in settings.asks.pattern:
            labels[name] = Journal[LabelRecord](
                folder.labels(name), judging.encode, lambda row: LabelRecord(**row), judging.key
            )
            stack.callback(labels[name].close)
        _generate(settings, prompts, generations, folder, console)
        _judge(settings, prompts, generations, verdicts, labels, folder, console)
        return Results(generations.records, verdicts.records, {name: j.records for name, j in labels.items()})


def _generate(
    settings: EvalSettings,
    prompts: Sequence[Prompt],
    journal: Journal[Generation],
    folder: RunFolder,
    console: Console,
) -> None:
    def missing(again: bool) -> list[tuple[Prompt, list[Mode]]]:
        """What is not there; a second round leaves out what cannot have changed since the first."""

        def wants(prompt: Prompt, mode: Mode) -> bool:
            kept = journal.records.get((mode, prompt.prompt_id))
            if kept is None or kept.outcome != "failed":
                return kept is None
            return not (again and kept.error.startswith("image_"))

        return [(p, modes) for p in prompts if (modes := [mode for mode in settings.modes if wants(p, mode)])]

    wanted = missing(again=False)
    total = sum(len(modes) for _, modes in wanted)
    if not wanted:
        console.print(f"generations: all {len(prompts) * len(settings.modes):,} are there")
        return
    console.print(f"generations: {total:,} of {len(prompts) * len(settings.modes):,} to ask for")
    spent = _Spent(settings)
    with serving(
        {str(m): s for m, s in settings.servers.items()}, folder.logs, settings.server_env, console.print
    ) as urls:
        servers = {mode: urls[mode] for mode in settings.modes}
        for again in (False, True):  # what failed is asked for once more: a busy server may have dropped it
            wanted = missing(again)
            if not wanted:
                break
            with _progress(console) as progress:
                total = sum(len(modes) for _, modes in wanted)
                bar = progress.add_task("generate, second round" if again else "generate", total=total, note="")

                def keep(
                    generated: Generated, progress: Progress = progress, bar: TaskID = bar, total: int = total
                ) -> None:
                    journal.add(generated.generation)
                    spent.add(generated)
                    progress.update(bar, advance=1, note=spent.describe(total))

                asyncio.run(generate.generate_all(settings, servers, wanted, keep))
    failed = sum(generation.outcome == "failed" for generation in journal.records.values())
    console.print(f"generations: {spent.describe(spent.done)}" + (f", {failed:,} failed" if failed else ""))
    if spent.scaled_images:
        console.print(
            f"images: {spent.scaled_images:,} were made smaller (prompts.max_pixels={settings.prompts.max_pixels:,})"
        )


def _judge(
    settings: EvalSettings,
    prompts: Sequence[Prompt],
    generations: Journal[Generation],
    verdicts: Journal[CorrectnessRecord],
    labels: Mapping[str, Journal[LabelRecord]],
    folder: RunFolder,
    console: Console,
) -> None:
    def missing() -> list[Task]:
        kept = {name: journal.records for name, journal in labels.items()}
        every = [_missing(prompt, generation, verdicts.records, kept) for prompt, generation in answered]
        return [task for task in every if task.verdict or task.judges]

    answered = [
        (prompt, generation)
        for prompt in prompts
        for mode in settings.modes
        if (generation := generations.records.get((mode, prompt.prompt_id))) and generation.outcome == "answered"
    ]
    tasks = missing()
    if not tasks:
        console.print(f"judgements: all of {len(answered):,} responses are there")
        return
    console.print(f"judgements: {len(tasks):,} of {len(answered):,} responses to judge")
    with serving(settings.judges, folder.logs, settings.server_env, console.print) as served:
        for again in (False, True):  # what failed is asked once more
            if not (tasks := missing()):
                break
            with _progress(console) as progress:
                bar = progress.add_task("judge, second round" if again else "judge", total=len(tasks), note="")
                asyncio.run(
                    judging.judge_all(
                        settings,
                        served,
                        tasks,
                        verdicts.add,
                        lambda record: labels[record.judge].add(record),
                        partial(progress.update, bar, advance=1),
                    )
                )


def _missing(
    prompt: Prompt,
    generation: Generation,
    verdicts: Mapping[tuple[str, ...], CorrectnessRecord],
    labels: Mapping[str, Mapping[tuple[str, ...], LabelRecord]],
) -> Task:
    at, text = (generation.mode, prompt.prompt_id), text_hash(generation.visible)
    verdict = verdicts.get(at)
    judges = tuple(
        name
        for name, records in labels.items()
        if (found := records.get(at)) is None or found.text_hash != text or found.labels is None
    )
    open_still = verdict is None or verdict.text_hash != text
    failed = verdict is not None and verdict.value is None and verdict.reason != NO_REFERENCE
    return Task(prompt, generation, open_still or failed, judges)


class _Spent:
    """Tokens and money of the generations of this start."""

    def __init__(self, settings: EvalSettings) -> None:
        self._price = settings.model.price
        self.done = self.prompt_tokens = self.tokens = self.scaled_images = 0

    def add(self, generated: Generated) -> None:
        self.done += 1
        self.prompt_tokens += generated.n_prompt_tokens or 0
        self.tokens += generated.generation.n_tokens or 0
        self.scaled_images += generated.scaled_images

    def describe(self, total: int) -> str:
        """Tokens so far, what they cost, and what all will cost at this rate."""
        parts = [f"{self.prompt_tokens:,} tokens read, {self.tokens:,} generated"]
        read, written = self._price.prompt_per_million, self._price.completion_per_million
        if read is not None and written is not None:
            cost = (self.prompt_tokens * read + self.tokens * written) / 1e6
            parts.append(f"{cost:.2f} of about {cost * total / self.done:.2f} {self._price.currency}")
        return ", ".join(parts)


def _progress(console: Console) -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}"),
        console=console,
        transient=not console.is_terminal,
    )
