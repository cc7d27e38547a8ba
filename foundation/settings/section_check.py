"""Checks a section against its model: one line for every problem, with key, value and what to set.

Pure: needs pydantic alone, so that a reward worker or a judge's server can read its own section without Hydra.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from typing import Any, TypeVar, get_args

from pydantic import BaseModel, ValidationError

from foundation.settings.schedule_section import SCHEDULES

Checked = TypeVar("Checked", bound=BaseModel)

ADVICE = {
    "greater_than_equal": "set at least {ge}",
    "greater_than": "set more than {gt}",
    "less_than_equal": "set at most {le}",
    "less_than": "set less than {lt}",
    "int_type": "set a whole number",
    "int_from_float": "set a whole number",
    "float_type": "set a number",
    "bool_type": "set true or false",
    "string_type": "set a text",
    "string_too_short": "set a text that is not empty",
    "list_type": "set a list: [..., ...]",
    "dict_type": "set a mapping: {{name: value}}, or {{}} for none",
    "literal_error": "set {expected}",
}
"""What to do about an error of pydantic, by its type; the braces are filled from the error."""


def check_section(model: type[Checked], given: Any, where: str, problems: list[str]) -> Checked | None:
    """The section as its model, or None where something is wrong with it.

    Args:
        given: the section as plain data, interpolations resolved.
        where: where it stands in the configuration, such as ``judges.fallback``.
        problems: gets one line for every problem.
    """
    try:
        return model.model_validate(given)
    except ValidationError as error:
        problems += [_one_line(model, where, dict(detail)) for detail in error.errors()]
        return None


def nearest(word: str, known: Iterable[str]) -> str:
    """`; did you mean 'x'?` for the closest known word, else the known words if they are few."""
    words = sorted({str(item) for item in known})
    close = difflib.get_close_matches(word, words, n=1, cutoff=0.6)
    if close:
        return f"; did you mean '{close[0]}'?"
    return f"; it has: {', '.join(words)}" if 0 < len(words) <= 20 else ""


def _one_line(model: type[BaseModel], where: str, detail: Mapping[str, Any]) -> str:
    """An error of pydantic as `key=value: what to do`."""
    path = [str(part) for part in detail["loc"] if not str(part).startswith(("constrained-", "list["))]
    key = ".".join([where, *(part for part in path if part not in SCHEDULES)])
    kind, given = detail["type"], detail["input"]
    if kind == "extra_forbidden":
        return f"{key}: no such key in {key.rpartition('.')[0]}{nearest(path[-1], _keys_of(model, path[:-1]))}"
    if kind.startswith("union_tag") or kind == "model_attributes_type":
        chosen = given.get("kind") if isinstance(given, Mapping) else given
        return f"{key}.kind={chosen!r}: choose {key.replace('.', '/')}={' | '.join(SCHEDULES)}"
    if kind == "missing":
        return f"{key} is missing: set it"
    if kind == "model_type":
        return f"{key}={given!r}: a section stands here; set its keys: {', '.join(_keys_of(model, path))}"
    if kind in ADVICE:
        return f"{key}={given!r}: {ADVICE[kind].format(**detail.get('ctx', {}))}"
    message = str(detail["msg"]).removeprefix("Value error, ")
    if message.startswith(f"{key}="):
        return message
    return f"{key}={given!r}: {message[:1].lower()}{message[1:]}"


def _keys_of(section: type[BaseModel], path: list[str]) -> list[str]:
    """The keys below a section, by the path from it, such as ["gate"] or ["schedule", "constant"]."""
    model: Any = section
    for part in path:
        model = SCHEDULES.get(part) or _section_in(model.model_fields[part].annotation)
    # An excluded field is no key: it is what the section is called.
    return [key for key, field in model.model_fields.items() if not field.exclude]


def _section_in(annotation: Any) -> Any:
    """The model of a nested section; of `Section | None` the section."""
    return next((kind for kind in get_args(annotation) if hasattr(kind, "model_fields")), annotation)
