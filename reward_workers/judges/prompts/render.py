"""The prompts of the judges: one place for training the small judges, for serving, and for evaluation.

Text of a model or of a data set is inserted as data: capped in length with a visible mark, unable to close its own
fence, to begin a line with a label of its prompt, or to spell a control token of a chat template. It is never a
template itself.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment

from foundation.labels import LABELS, TABLE, Label

FIELDS: dict[str, tuple[str, ...]] = {
    "pattern_judge": ("question", "response"),
    "pattern_rm": ("question", "response"),
    "answer_equivalence": ("question", "reference", "extracted"),
    "answer_equivalence_compact": ("question", "reference", "extracted"),
    "answer_correctness": ("question", "criteria", "reference", "response"),
    "verdict_reminder": (),
    "labels_reminder": (),
}
"""The fields that each prompt takes."""

DIRECT = frozenset({"pattern_rm", "answer_equivalence_compact"})
"""Compact protocols of judges that are trained on them: one language, no reasoning, the answer at once."""

MAX_CHARS = {"question": 8_000, "response": 64_000, "reference": 2_000, "extracted": 2_000, "criteria": 4_000}
"""Longest insertion per field in characters; longer text keeps its two ends."""

LANGUAGES = ("en", "zh")
_FOLDER = Path(__file__).parent
_NUMBERS = {
    "en": ("none", "one", "two", "three", "four", "five", "six", "seven", "eight"),
    "zh": ("零", "一", "两", "三", "四", "五", "六", "七", "八"),
}
"""How a prompt says how many labels there are."""

_ASK_LABELS = frozenset({"pattern_judge", "pattern_rm", "labels_reminder"})
"""Prompts that are answered with a label vector."""

_DASH = r"-\u2010-\u2015\u2212\ufe58\ufe63\uff0d"
_UNSEEN = r"\u200b-\u200f\u2060\ufeff"
# A run of dashes is taken whole or not at all, so that a text of nothing but dashes costs linear time.
_FENCE = re.compile(rf"(?<![{_DASH}])[{_DASH}]{{3,}}+(?=[\s{_UNSEEN}]*(?:BEGIN|END)\b)", re.IGNORECASE)
# What the tokenizers of served judges read as one token: <|im_end|>, <｜User｜>, </s>, <end_of_turn>, [INST], ...
_CONTROL = re.compile(
    r"<(?=[|\uff5c]|/?s>|(?:start|end)_of_(?:turn|image)>|(?:bos|eos|unk|pad)>|</?SYS>)"
    r"|\[(?=/?(?:INST|SYSTEM_PROMPT|AVAILABLE_TOOLS|TOOL_CALLS|TOOL_RESULTS|TOOL_CONTENT)\])",
    re.IGNORECASE,
)
_LABELS = {
    name: re.compile(
        rf"((?:^|(?<=[\r\v\f\x1c-\x1e\x85\u2028\u2029]))(?:[^\S\r\n]|[{_UNSEEN}])*+(?:{labels}))(?=[:：])",
        re.IGNORECASE | re.MULTILINE,
    )
    for name, labels in (
        ("pattern_rm", "Question|Response|Labels"),
        ("answer_equivalence_compact", "Question|Reference|Answer|Verdict"),
    )
}
"""Line starts that structure a prompt without fences; inside the data they are written apart from their colon."""


@cache
def _environment() -> ImmutableSandboxedEnvironment:
    # Not HTML: escaping would change the text that the judge reads.
    return ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(_FOLDER),
        undefined=StrictUndefined,
        autoescape=False,
        auto_reload=False,
        trim_blocks=True,
    )


@dataclass(frozen=True, slots=True)
class _PromptLabel:
    """A row of the table as a prompt in one language shows it; `lines` say when to decide 1 and when 0."""

    number: int
    wire: str
    title: str
    lines: str
    beside_cot: str | None
    two_passages: bool


@cache
def _prompt_labels(language: str) -> tuple[_PromptLabel, ...]:
    chinese = language == "zh"
    return tuple(
        _PromptLabel(
            number,
            row.wire,
            row.title_zh if chinese else row.title,
            _lines_of(row, language),
            None if row.beside_cot is None else row.beside_cot[chinese],
            row.two_passages,
        )
        for number, row in enumerate(TABLE, start=1)
    )


def _lines_of(row: Label, language: str) -> str:
    """The lines of a label in the rubric: text, not a template.

    Raises:
        ValueError: there is no such file.
    """
    path = (row.prompts or _FOLDER / "labels") / f"{row.key}.{language}.txt"
    if not path.is_file():
        raise ValueError(f"label {row.key!r} has no lines for the prompts: write {path}")
    return path.read_text(encoding="utf-8").strip()


def _fill(name: str, language: str, fields: Mapping[str, str]) -> str:
    """The text of a prompt with its fields as they are given."""
    table: dict[str, Any] = {}
    if name in _ASK_LABELS and name not in DIRECT:
        labels = _prompt_labels(language)
        beside_cot = [label for label in labels if label.beside_cot is not None]
        table = {"labels": labels, "beside_cot": beside_cot, "count": _NUMBERS[language][len(labels)]}
    return _environment().get_template(template_path(name, language).name).render(fields, **table)


def render(name: str, language: str = "en", **fields: str) -> list[dict[str, str]]:
    """The chat messages of one question to a judge.

    Args:
        name: a key of ``FIELDS``.
        language: ``en`` or ``zh``; the compact protocols have one text for both.
        fields: exactly the fields that ``FIELDS[name]`` lists.

    Returns:
        One user message, ``[{"role": "user", "content": ...}]``. The caller of ``pattern_judge`` attaches the image.

    Raises:
        ValueError: unknown name or language, a missing or an additional field.
    """
    template_path(name, language)  # an unknown name or language
    if set(fields) != set(FIELDS[name]):
        raise ValueError(f"prompt {name!r} takes the fields {FIELDS[name]}, got {tuple(sorted(fields))}")
    data = {key: as_data(value, key, name) for key, value in fields.items()}
    return [{"role": "user", "content": _fill(name, language, data)}]


def as_data(text: str, field: str, name: str) -> str:
    """The text as it may stand inside the prompt ``name``: capped, without working fences, labels, control tokens."""
    limit = MAX_CHARS[field]
    if len(text) > limit:
        head = limit * 2 // 3
        tail = limit - head
        text = f"{text[:head]}\n[... {len(text) - limit} characters cut ...]\n{text[-tail:]}"
    # A chat template renders to one string before tokenisation, so "<|im_end|>" in the data would end the message.
    text = _CONTROL.sub(r"\g<0> ", _FENCE.sub("- ", text))
    return _LABELS[name].sub(r"\1 ", text) if name in _LABELS else text


def template_path(name: str, language: str = "en") -> Path:
    """The file of a prompt; raises ValueError for an unknown name or language."""
    if name not in FIELDS:
        raise ValueError(f"prompt {name!r} is unknown: use one of {', '.join(sorted(FIELDS))}")
    if language not in LANGUAGES:
        raise ValueError(f"language {language!r} of prompt {name!r} is unknown: use en or zh")
    return _FOLDER / (f"{name}.jinja" if name in DIRECT else f"{name}.{language}.jinja")


@cache
def prompt_version(name: str, language: str = "en") -> str:
    """Short hash of a prompt: part of cache keys and of records, so that no score survives a changed prompt.

    It covers the lines of the labels, and which labels are asked for where the prompt does not say so itself.
    """
    text = _fill(name, language, {field: f"{{{{ {field} }}}}" for field in FIELDS[name]})
    asked = ",".join(LABELS) if name in _ASK_LABELS else ""
    return hashlib.sha256(f"{text}\n{asked}".encode()).hexdigest()[:12]


PROMPT_VERSION = {
    name if name in DIRECT else f"{name}.{language}": prompt_version(name, language)
    for name in FIELDS
    for language in LANGUAGES
}
"""Version of each prompt, such as ``{"pattern_judge.en": "..."}``."""
