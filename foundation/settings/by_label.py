"""A section of the configuration with one key a label of `foundation.labels`."""

from __future__ import annotations

from typing import Any, TypeVar

from pydantic import BaseModel, create_model

from foundation.labels import LABELS

Base = TypeVar("Base", bound=BaseModel)


def by_label(base: type[Base], kind: Any) -> type[Base]:
    """A model whose keys are the labels, in their order, each required.

    Args:
        base: gives the rules for other keys.
        kind: type and range of the values.
    """
    fields: dict[str, Any] = dict.fromkeys(LABELS, (kind, ...))
    return create_model(base.__name__, __base__=base, **fields)
