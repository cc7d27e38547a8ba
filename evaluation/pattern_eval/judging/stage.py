"""Judges every visible response twice, independently: is it right, and which patterns does it show."""

from __future__ import annotations

import asyncio
import hashlib
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from evaluation.pattern_eval.images import ImageProblem, load_image
from evaluation.pattern_eval.judging.correctness import Correctness
from evaluation.pattern_eval.judging.pattern_judge import Judged, PatternJudge, PatternLabeller, make_labeller
from evaluation.pattern_eval.patience import patiently
from evaluation.pattern_eval.settings import EvalSettings
from foundation.responses.families import Mode
from foundation.runs.evaluation_records import Generation, Prompt
from foundation.settings.judges import JudgeSettings
from reward_workers.verifier import Verifier


@dataclass(frozen=True, slots=True)
class CorrectnessRecord:
    """The verdict on one response; `text_hash` says on which text."""

    prompt_id: str
    mode: Mode
    text_hash: str
    value: int | None
    stage: str
    reason: str
    extracted: str | None


@dataclass(frozen=True, slots=True)
class LabelRecord:
    """What one pattern judge said of one response; `why`: why there are no labels."""

    prompt_id: str
    mode: Mode
    text_hash: str
    judge: str
    labels: Mapping[str, bool] | None
    why: str
    reasons: Mapping[str, str]
    probabilities: Mapping[str, float]


def text_hash(visible: str) -> str:
    """Which text a judgement is about, so that none survives another generation."""
    return hashlib.blake2b(visible.encode(errors="surrogatepass"), digest_size=8).hexdigest()


def encode(record: CorrectnessRecord | LabelRecord) -> dict[str, Any]:
    return asdict(record)


def key(record: CorrectnessRecord | LabelRecord) -> tuple[str, ...]:
    return record.mode, record.prompt_id


@dataclass(frozen=True, slots=True)
class Task:
    """What is missing for one response: its verdict, and the labels of some judges."""

    prompt: Prompt
    generation: Generation
    verdict: bool
    judges: tuple[str, ...]


async def judge_all(
    settings: EvalSettings,
    served: Mapping[str, JudgeSettings],
    tasks: Sequence[Task],
    keep_verdict: Callable[[CorrectnessRecord], None],
    keep_labels: Callable[[LabelRecord], None],
    done: Callable[[], None],
) -> None:
    """Judge what is missing, as many responses at once as the judges allow calls."""
    verifier = Verifier(
        symbolic=settings.verifier.symbolic,
        symbolic_timeout_s=settings.verifier.symbolic_timeout_s,
        symbolic_workers=settings.verifier.symbolic_workers,
        max_answer_chars=settings.verifier.max_answer_chars,
    )
    threshold = settings.asks.threshold.model_dump()
    correctness = Correctness(verifier, served[settings.asks.correctness])
    labellers = {name: make_labeller(served[name], threshold) for name in settings.asks.pattern}
    sees_image = {name for name, labeller in labellers.items() if isinstance(labeller, PatternJudge)}
    root, patience_s = Path(settings.prompts.image_root), settings.patience_s
    waiting = iter(tasks)

    async def one(task: Task) -> None:
        visible, known = task.generation.visible, _Known(task.generation, text_hash(task.generation.visible))
        images: list[str] = []
        broken = ""
        if sees_image & set(task.judges):
            try:
                images = [
                    (await asyncio.to_thread(load_image, image, root, settings.prompts.max_pixels)).url
                    for image in task.prompt.images
                ]
            except ImageProblem as problem:  # it was there when the model saw it
                broken = problem.reason
        async with asyncio.TaskGroup() as group:
            if task.verdict:
                group.create_task(_verdict(correctness, task.prompt, visible, known, keep_verdict, patience_s))
            for name in task.judges:
                if broken and name in sees_image:
                    keep_labels(_label_record(task.prompt, known, name, Judged(None, broken)))
                    continue
                shown = images if name in sees_image else []
                group.create_task(
                    _labels(labellers[name], name, task.prompt, visible, shown, known, keep_labels, patience_s)
                )
        done()

    async def work() -> None:
        for task in waiting:
            await one(task)

    most = max(judge.concurrency for judge in served.values())
    try:
        async with asyncio.TaskGroup() as group:
            for _ in range(min(len(tasks), most)):
                group.create_task(work())
    finally:
        await correctness.aclose()
        for labeller in labellers.values():
            await labeller.aclose()
        verifier.close()


@dataclass(frozen=True, slots=True)
class _Known:
    generation: Generation
    text_hash: str


async def _verdict(
    correctness: Correctness,
    prompt: Prompt,
    visible: str,
    known: _Known,
    keep: Callable[[CorrectnessRecord], None],
    patience_s: float,
) -> None:
    verdict = await patiently(
        lambda: correctness.decide(prompt, visible),
        reason=lambda found: found.reason if found.value is None else "",
        wait_s=patience_s,
    )
    keep(
        CorrectnessRecord(
            prompt.prompt_id,
            known.generation.mode,
            known.text_hash,
            verdict.value,
            verdict.stage,
            verdict.reason,
            verdict.extracted,
        )
    )


async def _labels(
    labeller: PatternLabeller,
    name: str,
    prompt: Prompt,
    visible: str,
    images: Sequence[str],
    known: _Known,
    keep: Callable[[LabelRecord], None],
    patience_s: float,
) -> None:
    judged = await patiently(
        lambda: labeller.label(prompt.question, visible, images), reason=lambda found: found.why, wait_s=patience_s
    )
    keep(_label_record(prompt, known, name, judged))


def _label_record(prompt: Prompt, known: _Known, judge: str, judged: Judged) -> LabelRecord:
    return LabelRecord(
        prompt.prompt_id,
        known.generation.mode,
        known.text_hash,
        judge,
        judged.labels,
        judged.why,
        judged.reasons,
        judged.probabilities,
    )
