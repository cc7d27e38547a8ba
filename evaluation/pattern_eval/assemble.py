"""From responses to a report: every figure is computed here, once."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from evaluation.pattern_eval import published
from evaluation.pattern_eval.images import ImageProblem, load_image, thumbnail
from evaluation.pattern_eval.judging.agreement import agreement_of, macro, qualities
from evaluation.pattern_eval.lengths import length_relation
from evaluation.pattern_eval.responses import Oracle, join
from evaluation.pattern_eval.run import Results
from evaluation.pattern_eval.series import pattern_rm_in_the_reward
from evaluation.pattern_eval.settings import EvalSettings, PageSettings
from evaluation.report.content import Corrected, JudgedTruth, Report
from evaluation.report.page import example_responses
from foundation.labels import trigger
from foundation.responses.families import MODE_NAMES
from foundation.runs.evaluation_records import Generation, Prompt, Response
from foundation.runs.mode_rates import Row, aggregate, pairs_of, rows_of
from foundation.runs.statistics import JudgeQuality, Rate, rate_of, rogan_gladen
from reward_workers.judges.prompts.render import prompt_version

NOTICED_SHARE = 0.05
"""Share of a model's responses in one mode from which on a flag is told at the top of the page."""

_FLAG_TEXTS = {
    "answer_in_reasoning_field": "the server's reasoning parser puts the answer into the reasoning field; it was taken "
    "from there (start the server with the parser of this model, or without one)",
    "reasoning_in_nt": "the server returned reasoning in non-thinking mode, so that the mode switch may have no effect",
    "unclosed_think": "the think block never closed, so that there is nothing visible; where answers were cut at the "
    "limit, raise max_tokens in model.decoding",
}


@dataclass(frozen=True, slots=True)
class Finished:
    """A run whose stages are done."""

    settings: EvalSettings
    results: Results


def build_report(
    settings: PageSettings,
    prompts: Sequence[Prompt],
    finished: Sequence[Finished],
    others: Sequence[Response],
    oracle: Oracle | None,
) -> tuple[Report, list[list[Response]]]:
    """The report, and the responses of each finished run.

    Args:
        finished: the runs of this command: one, one a checkpoint, or none.
        others: responses that were kept before, of the runs that `compare` names or of a training run.

    Raises:
        ValueError: two runs name their model alike.
    """
    own = [join(run.settings, prompts, run.results, oracle) for run in finished]
    responses = [*(response for one in own for response in one), *others]
    _check_names(responses)
    rows = rows_of(responses)
    pairs = pairs_of(responses, settings.report.resamples, settings.seed)
    if settings.published:
        rows, pairs = [*rows, *published.published_rows()], [*pairs, *published.published_pairs()]
    judges = list(dict.fromkeys(name for response in responses for name in response.votes))
    thinking = (generation for run in finished for generation in run.results.generations.values())
    lengths = settings.report.length_unit, settings.report.length_pooling, settings.report.length_bins
    report = Report(
        title=_title(settings, finished),
        rows=rows,
        pairs=pairs,
        aggregates=aggregate(rows, pairs),
        taxonomy=settings.prompts.taxonomy,
        facts=[*_run_facts(finished, prompts), *_page_facts(settings, bool(responses))],
        notices=[*_notices(rows), *_thinking_notices(thinking)],
        composition=_composition(prompts) if responses else published.composition(),
        lengths=length_relation(responses, *lengths) if responses else None,
        agreement=agreement_of(responses, judges),
        truth=_truth(responses, judges),
        corrected=_corrected(rows, responses, settings),
        trained_against=_trained_against(settings),
        responses=responses,
        thumbnails=_thumbnails(settings, prompts, responses),
        flagships=settings.report.flagships,
        series={**settings.report.series, **_steps(settings, finished, others)},
        policies=published.policy_rows() if settings.published else (),
        benchmarks=published.benchmark_rows() if settings.published else (),
    )
    return report, own


def _check_names(responses: Sequence[Response]) -> None:
    """Two runs of one model name would be counted as one.

    Raises:
        ValueError: a response of a model, mode and prompt occurs twice.
    """
    seen: set[tuple[str, str, str]] = set()
    for response in responses:
        at = (response.model, response.mode, response.prompt_id)
        if at in seen:
            raise ValueError(
                f"two of the runs on this page are of a model named {response.model!r}: set another model.name, or "
                "leave one out of compare"
            )
        seen.add(at)


def _steps(
    settings: PageSettings, finished: Sequence[Finished], others: Sequence[Response]
) -> dict[str, Sequence[str]]:
    """The models that are steps of one training run, in order."""
    if len(finished) > 1:
        return {"checkpoints": [run.settings.model.name for run in finished]}
    if settings.training_run is not None:
        return {Path(settings.training_run).name: list(dict.fromkeys(response.model for response in others))}
    return {}


def _trained_against(settings: PageSettings) -> str | None:
    """The PatternRM in the reward of the training run on this page."""
    checkpoints = settings.checkpoints if isinstance(settings, EvalSettings) else None
    folder = settings.training_run or checkpoints
    return None if folder is None else pattern_rm_in_the_reward(Path(folder))


def _composition(prompts: Sequence[Prompt]) -> dict[str, dict[str, int]]:
    found: dict[str, dict[str, int]] = {}
    for prompt in prompts:
        categories = found.setdefault(prompt.family, {})
        categories[prompt.category] = categories.get(prompt.category, 0) + 1
    return found


def _title(settings: PageSettings, finished: Sequence[Finished]) -> str:
    if settings.training_run is not None:
        return f"PatternEval: {Path(settings.training_run).name}"
    if len(finished) == 1:
        return f"PatternEval: {finished[0].settings.model.name}"
    return "PatternEval: comparison" if finished or settings.compare else "PatternEval: published results"


def _run_facts(finished: Sequence[Finished], prompts: Sequence[Prompt]) -> list[tuple[str, str]]:
    if not finished:
        return []
    asked = finished[0].settings
    facts = [
        ("model", f"{asked.model.name} ({asked.model.pair})"),
        ("prompts", f"{len(prompts):,} ({asked.prompts.name})"),
    ]
    for mode in asked.modes:
        decoding = {**getattr(asked.model.decoding, mode), **getattr(asked.model.request, mode)}
        facts.append((f"decoding, {MODE_NAMES[mode]}", ", ".join(f"{k}={v}" for k, v in decoding.items())))
    correctness = asked.judges[asked.asks.correctness]
    facts.append(("correctness", f"verifier, then {correctness.model} ({_prompt_of(correctness)})"))
    for name in asked.asks.pattern:
        judge = asked.judges[name]
        facts.append((f"patterns, {name}", f"{judge.model} ({_prompt_of(judge)})"))
    return facts


def _page_facts(settings: PageSettings, with_responses: bool) -> list[tuple[str, str]]:
    facts = []
    if with_responses:
        report = settings.report
        pooled = "all responses" if report.length_pooling == "all" else "each group"
        facts.append(("length", f"{report.length_unit}; {report.length_bins} bins over {pooled}"))
        facts.append(("bootstrap", f"{report.resamples:,} resamples, seed {settings.seed}"))
    if settings.published:
        facts.append(("published results", published.source()))
    return facts


def _prompt_of(judge: Any) -> str:
    return f"prompt {judge.prompt} {prompt_version(judge.prompt, judge.language)}"


def _notices(rows: Sequence[Row]) -> list[str]:
    """Flags that concern more than a few responses, and cells that lost more than a few."""
    found = []
    for row in rows:
        asked = row.counts.get("asked", 0)
        for flag, text in _FLAG_TEXTS.items():
            n = row.flags.get(flag, 0)
            if asked and n > NOTICED_SHARE * asked:
                found.append(f"{row.model}, {MODE_NAMES[row.mode]}: {n:,} of {asked:,} responses: {text}.")
        for count, text in (
            ("failed", "the generation failed; start the same command to ask again"),
            ("without_verdict", "no verdict (no reference, or the judge gave none)"),
            ("without_labels", "no labels: the pattern judges gave none or were tied"),
        ):
            n = row.counts.get(count, 0)
            if asked and n > NOTICED_SHARE * asked:
                found.append(f"{row.model}, {MODE_NAMES[row.mode]}: {n:,} of {asked:,} responses: {text}.")
    return found


def _thinking_notices(generations: Iterable[Generation]) -> list[str]:
    """Thinking mode without any reasoning to be seen: the switch may have no effect, or the server hides it."""
    thought: Counter[str] = Counter()
    asked: Counter[str] = Counter()
    for generation in generations:
        if generation.mode == "t" and not generation.error:
            asked[generation.model] += 1
            thought[generation.model] += bool(generation.reasoning)
    return [
        f"{model}, thinking: none of {n:,} responses came with reasoning: the mode switch has no effect, or the server "
        "hides it."
        for model, n in asked.items()
        if not thought[model]
    ]


def _truth(responses: Sequence[Response], judges: Sequence[str]) -> list[JudgedTruth]:
    """Each judge, and the majority of several, against known labels."""
    found = []
    voters = {name: [r.votes.get(name) for r in responses] for name in judges}
    if len(judges) > 1:
        voters["majority"] = [r.labels for r in responses]
    for name, votes in voters.items():
        pairs = [(v, r.truth) for v, r in zip(votes, responses, strict=True) if v is not None and r.truth is not None]
        if pairs:
            by_label = qualities(pairs)
            found.append(JudgedTruth(name, len(pairs), by_label, macro(by_label)))
    return found


def _corrected(rows: Sequence[Row], responses: Sequence[Response], settings: PageSettings) -> list[Corrected]:
    calibration = settings.report.calibration
    if calibration is None:
        return []
    quality = JudgeQuality(**calibration.model_dump())
    found = []
    for row in rows:
        apparent = row.rates["trigger"]
        if apparent.k is None or apparent.n is None or not apparent.n:
            continue
        try:
            corrected, why = rogan_gladen(apparent.k, apparent.n, quality, seed=settings.seed), ""
        except ValueError as error:
            corrected, why = None, str(error)
        found.append(Corrected(row.model, row.mode, apparent, corrected, _true_rate(row, responses), why))
    return found


def _true_rate(row: Row, responses: Sequence[Response]) -> Rate | None:
    truths = [r.truth for r in responses if (r.model, r.mode) == (row.model, row.mode) and r.truth is not None]
    return rate_of([trigger(truth) for truth in truths]) if truths else None


def _thumbnails(settings: PageSettings, prompts: Sequence[Prompt], responses: Sequence[Response]) -> dict[str, str]:
    """Small images of the prompts whose responses are shown as examples; one that cannot be opened is left out."""
    by_id = {prompt.prompt_id: prompt for prompt in prompts}
    chosen = example_responses(responses, settings.report.examples_per_label).values()
    found = {}
    for prompt_id in sorted({r.prompt_id for group in chosen for r in group if r.prompt_id in by_id}):
        images = by_id[prompt_id].images
        if not images:
            continue
        try:
            shown = load_image(images[0], Path(settings.prompts.image_root), settings.prompts.max_pixels)
            found[prompt_id] = thumbnail(shown.url)
        except ImageProblem:
            continue  # the response is shown without it; that it cannot be opened is said where it was asked
    return found
