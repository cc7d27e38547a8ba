"""ANLS, the similarity by which document questions are usually reported; a metric beside the verdict (policy 12)."""

from __future__ import annotations

from reward_workers.verifier.rules.normalize import canonical

THRESHOLD = 0.5
"""A normalised distance of this or more counts as no similarity (Biten et al. 2019, scene text VQA, eq. 1 and 2)."""
MAX_CHARS = 4000
"""Longer texts are compared as equal or not: the distance takes time in proportion to the product of the lengths."""


def anls(answer: str, reference: str) -> float:
    """Average normalised Levenshtein similarity of one answer to one reference, 0.0 to 1.0.

    Case and runs of spaces do not count. 1 - distance / longer length where that distance is below the threshold, else
    0.0.

    >>> anls("Annual  Repor", "annual report")
    0.9230769230769231
    >>> anls("1998", "2021")
    0.0
    """
    one, other = (" ".join(text.lower().split()) for text in (answer, reference))
    if one == other:
        return 1.0
    longer, shorter = max(len(one), len(other)), min(len(one), len(other))
    if longer > MAX_CHARS or (longer - shorter) / longer >= THRESHOLD:
        return 0.0
    distance = edit_distance(one, other) / longer
    return 1.0 - distance if distance < THRESHOLD else 0.0


def document_anls(extracted: str | None, reference: str) -> float:
    """The same for the content of a box, whose LaTeX wrappers are taken off first; 0.0 without a box."""
    return 0.0 if extracted is None else anls(canonical(extracted), canonical(reference))


def edit_distance(one: str, other: str) -> int:
    """Levenshtein distance by bit-parallel columns (Myers 1999, in the form of Hyyrö 2003): one integer a column."""
    if not one:
        return len(other)
    places: dict[str, int] = {}
    for index, character in enumerate(one):
        places[character] = places.get(character, 0) | 1 << index
    every, last = (1 << len(one)) - 1, 1 << (len(one) - 1)
    up, down, distance = every, 0, len(one)
    for character in other:
        same = places.get(character, 0)
        diagonal = (((same & up) + up) ^ up) | same | down
        rises = down | ~(diagonal | up) & every
        falls = up & diagonal
        distance += bool(rises & last) - bool(falls & last)
        rises, falls = rises << 1 | 1, falls << 1
        up = (falls | ~(diagonal | rises)) & every
        down = rises & diagonal & every
    return distance
