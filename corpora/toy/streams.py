"""Named random streams: every part of the toy world draws from its own, so that one change does not move the others."""

from __future__ import annotations

import random


def stream(seed: int, name: str) -> random.Random:
    """A generator that depends on the seed and the name alone, on every platform (Python seeds by SHA-512)."""
    return random.Random(f"{seed}:{name}")  # noqa: S311 - reproducible draws, nothing secret
