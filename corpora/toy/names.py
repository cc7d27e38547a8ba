"""Words of the toy world, and the one canonical form of an answer.

Some answers are written with another word than the reference has (``three`` for ``3``, ``crimson`` for ``red``): a rule
cannot decide these, the fallback judge must.
"""

from __future__ import annotations

from types import MappingProxyType

COLORS = ("red", "green", "blue", "yellow", "black")
SHAPES = ("circle", "square", "triangle")
NUMBER_WORDS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")

OTHER_NAMES = MappingProxyType(
    {"red": "crimson", "green": "emerald", "blue": "navy", "yellow": "amber", "black": "charcoal"}
)
"""A second name of each colour, used in some boxes and never in a reference."""

EQUAL = "equal"
EQUAL_NAMES = (EQUAL, "same", "tie", "equal numbers", "the same", "both equal")
"""Ways to say that two colours are equally common; the policy is only taught the first."""

_CANONICAL = MappingProxyType(
    {word: str(number) for number, word in enumerate(NUMBER_WORDS)}
    | {other: color for color, other in OTHER_NAMES.items()}
    | dict.fromkeys(EQUAL_NAMES, EQUAL)
)


def canonical(answer: str) -> str:
    """One form for all names of an answer: digits for numbers, plain colours, ``equal``; unknown text stays as it is.

    >>> canonical(" Three. "), canonical("crimson"), canonical("yes")
    ('3', 'red', 'yes')
    """
    text = " ".join(answer.lower().split()).rstrip(".")
    return _CANONICAL.get(text, text)
