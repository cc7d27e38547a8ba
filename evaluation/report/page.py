"""The page: one HTML file that needs nothing beside it, with tables, figures, examples and all responses to filter."""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from evaluation.report.content import CONDITIONAL, LABEL_NAMES, MEANINGS, Report
from evaluation.report.tables import all_tables
from foundation.labels import LABELS, as_digits
from foundation.responses.families import MODE_NAMES
from foundation.runs.evaluation_records import Response

LONGEST_TEXT = 4_000
"""Characters of a response on the page at most; the CSV file has all of it."""

SHORTEST_TEXT = 120


@dataclass(frozen=True, slots=True)
class Example:
    model: str
    mode: str
    tags: tuple[str, ...]
    question: str
    visible: str
    evidence: str
    image: str


@dataclass(frozen=True, slots=True)
class ExampleGroup:
    title: str
    examples: tuple[Example, ...]


def render_page(
    report: Report, figures: Sequence[tuple[Path, str]], *, examples_per_label: int, text_budget_mb: float
) -> str:
    """The HTML text.

    Args:
        figures: PNG files and their captions; they are written into the page.
        examples_per_label: responses shown for each label, and as many without one.
        text_budget_mb: megabytes (10^6) that the texts of all responses may take; longer ones are cut, and it says so.
    """
    # Everything of a model or a data set passes through autoescape, or through JSON that cannot end its script.
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        undefined=StrictUndefined,
        autoescape=True,
        trim_blocks=True,
    )
    return environment.get_template("page.html.jinja").render(
        report=report,
        conditional=CONDITIONAL,
        tables=all_tables(report),
        figures=[{"data": _data_url(path), "caption": caption} for path, caption in figures],
        examples=_examples(report, examples_per_label),
        has_responses=bool(report.responses),
        models=list(dict.fromkeys(row.model for row in report.rows)),
        label_names=LABEL_NAMES,
        meanings=MEANINGS,
        data=Markup(_script_json(_columns(report, text_budget_mb))) if report.responses else "",  # noqa: S704
    )


def example_responses(responses: Sequence[Response], per_label: int) -> dict[str, list[Response]]:
    """The responses to show for each label, and for "none": the first by prompt, few labels first (Figure 2)."""
    labelled = sorted(
        (r for r in responses if r.labels is not None), key=lambda r: (_n_labels(r), r.prompt_id, r.model, r.mode)
    )
    chosen = {label: [r for r in labelled if r.labels is not None and r.labels[label]] for label in LABELS}
    chosen["none"] = [r for r in labelled if r.trigger is False]
    return {label: found[:per_label] for label, found in chosen.items()}


def _n_labels(response: Response) -> int:
    return sum((response.labels or {}).values())


def _examples(report: Report, per_label: int) -> list[ExampleGroup]:
    groups = []
    for label, responses in example_responses(report.responses, per_label).items():
        title = LABEL_NAMES.get(label, "acceptable")
        examples = tuple(_example(response, report, label) for response in responses)
        if examples:
            groups.append(ExampleGroup(title[0].upper() + title[1:], examples))
    return groups


def _example(response: Response, report: Report, label: str) -> Example:
    verdict = {1: "correct", 0: "incorrect", None: "no verdict"}[response.correct]
    labels = [LABEL_NAMES[one] for one in LABELS if response.labels is not None and response.labels[one]]
    return Example(
        response.model,
        response.mode,
        (response.model, MODE_NAMES[response.mode], response.prompt_id, verdict, *labels),
        response.question,
        _cut(response.visible, LONGEST_TEXT),
        response.evidence.get(label, ""),
        report.thumbnails.get(response.prompt_id, ""),
    )


def _columns(report: Report, text_budget_mb: float) -> dict[str, Any]:
    """All responses as columns; names are written once and referred to by number."""
    responses = report.responses
    questions = {r.prompt_id: r.question for r in responses}
    texts = [*(r.visible for r in responses), *(_evidence(r) for r in responses), *questions.values()]
    limit = _text_limit([len(text.encode(errors="replace")) for text in texts], text_budget_mb * 1e6)
    models, families, categories, prompts = (
        {name: i for i, name in enumerate(dict.fromkeys(values))}
        for values in (
            (r.model for r in responses),
            (r.family for r in responses),
            (r.category for r in responses),
            (r.prompt_id for r in responses),
        )
    )
    titles = {c: title for family in report.taxonomy.values() for c, title in family.items()}
    n_cut = sum(len(r.visible) > limit for r in responses)
    return {
        "models": list(models),
        "families": list(families),
        "categories": [titles.get(name, name) for name in categories],
        "ids": list(prompts),
        "questions": [_cut(questions[name], limit) for name in prompts],
        "label_names": LABEL_NAMES,
        "model": [models[r.model] for r in responses],
        "mode": [int(r.mode == "t") for r in responses],
        "family": [families[r.family] for r in responses],
        "category": [categories[r.category] for r in responses],
        "question": [prompts[r.prompt_id] for r in responses],
        "correct": [-1 if r.correct is None else r.correct for r in responses],
        "labels": [_bits(r) for r in responses],
        "text": [_cut(r.visible, limit) for r in responses],
        "evidence": [_cut(_evidence(r), limit) for r in responses],
        "notes": [_notes(r) for r in responses],
        "cut": f"{n_cut:,} texts are cut at {limit:,} characters; responses.csv has them whole." if n_cut else "",
    }


def _text_limit(sizes: Sequence[int], budget: float) -> int:
    """The largest length at which all texts together keep the budget in bytes, within the two limits."""
    low, high = SHORTEST_TEXT, LONGEST_TEXT
    while low < high:
        middle = (low + high + 1) // 2
        if sum(min(size, middle) for size in sizes) <= budget:
            low = middle
        else:
            high = middle - 1
    return low


def _bits(response: Response) -> int:
    if response.labels is None:
        return -1
    return sum(digit << i for i, digit in enumerate(as_digits(response.labels)))


def _evidence(response: Response) -> str:
    return "  ".join(f"{LABEL_NAMES[label]}: {text}" for label, text in response.evidence.items() if text)


def _notes(response: Response) -> list[str]:
    notes = [flag.replace("_", " ") for flag in response.flags]
    if response.outcome != "answered":
        notes.append({"empty": "nothing visible", "failed": "generation failed"}[response.outcome])
    if response.truncated:
        notes.append("cut at the limit")
    if response.labels is None and response.label_reason and response.outcome == "answered":
        notes.append(response.label_reason)
    if response.correct is None and response.correct_by and response.outcome == "answered":
        notes.append(response.correct_by)
    return notes


def _cut(text: str, limit: int) -> str:
    return text if len(text) <= limit else f"{text[:limit]} […]"


def _script_json(content: Any) -> str:
    """JSON that may stand inside a script element: nothing in it can close or open one."""
    text = json.dumps(content, ensure_ascii=False, separators=(",", ":"))
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def _data_url(path: Path) -> str:
    return "data:image/png;base64," + base64.b64encode(path.read_bytes()).decode()
