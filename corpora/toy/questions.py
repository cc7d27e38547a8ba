"""Five kinds of questions about a scene, each with one short reference answer."""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from corpora.toy.names import COLORS, EQUAL, SHAPES
from corpora.toy.world import GRID, Scene, draw_scene

Kind = Literal["count_color", "count_shape", "color_at", "exists", "compare"]
KINDS: tuple[Kind, ...] = ("count_color", "count_shape", "color_at", "exists", "compare")
TALLY_KINDS: tuple[Kind, ...] = ("count_color", "count_shape", "compare")
"""The kinds that need counting."""

ANSWER_TYPES: dict[Kind, str] = {
    "count_color": "integer",
    "count_shape": "integer",
    "color_at": "text",
    "exists": "yes_no",
    "compare": "text",
}
FAMILIES: dict[Kind, str] = {
    "count_color": "counting",
    "count_shape": "counting",
    "color_at": "localisation",
    "exists": "existence",
    "compare": "comparison",
}
EXISTING_SHARE = 0.45
"""Share of "Is there a ...?" questions that name an existing cell; the rest draw freely and may still hit one."""


@dataclass(frozen=True, slots=True)
class Question:
    """A question and what it is about.

    Attributes:
        text: the question without the image placeholder.
        answer: the reference; a digit, a colour, yes, no or equal.
        color, other_color, shape: what is asked for, where the kind has it.
        row, column: 1..3 for ``color_at``, else 0.
    """

    kind: Kind
    scene: Scene
    text: str
    answer: str
    color: str = ""
    other_color: str = ""
    shape: str = ""
    row: int = 0
    column: int = 0

    @property
    def answer_type(self) -> str:
        return ANSWER_TYPES[self.kind]

    @property
    def family(self) -> str:
        return FAMILIES[self.kind]


def draw_question(rng: random.Random, scene: Scene | None = None, kinds: tuple[Kind, ...] = KINDS) -> Question:
    """A question of a kind drawn uniformly from ``kinds`` about ``scene`` (a fresh one when None)."""
    scene = scene or draw_scene(rng)
    kind = rng.choice(kinds)
    if kind == "count_color":
        color = rng.choice(COLORS)
        text = f"How many {color} shapes are there?"
        return Question(kind, scene, text, str(scene.count_color(color)), color=color)
    if kind == "count_shape":
        shape = rng.choice(SHAPES)
        return Question(kind, scene, f"How many {shape}s are there?", str(scene.count_shape(shape)), shape=shape)
    if kind == "color_at":
        row, column = rng.randint(1, GRID), rng.randint(1, GRID)
        text = f"Which color is in row {row}, column {column}?"
        return Question(kind, scene, text, scene.at(row, column).color, row=row, column=column)
    if kind == "exists":
        color, shape = rng.choice(COLORS), rng.choice(SHAPES)
        if rng.random() < EXISTING_SHARE:
            cell = rng.choice(scene.cells)
            color, shape = cell.color, cell.shape
        answer = "yes" if color in scene.colors_of(shape) else "no"
        return Question(kind, scene, f"Is there a {color} {shape}?", answer, color=color, shape=shape)
    first, second = rng.sample(COLORS, 2)
    n_first, n_second = scene.count_color(first), scene.count_color(second)
    answer = EQUAL if n_first == n_second else first if n_first > n_second else second
    text = f"Are there more {first} or {second} shapes?"
    return Question(kind, scene, text, answer, color=first, other_color=second)


def wrong_answer(question: Question, answer: str, rng: random.Random) -> str:
    """Another plausible answer to the same question than ``answer``."""
    if question.kind in ("count_color", "count_shape"):
        value = int(answer)
        return str(rng.choice([n for n in (value - 1, value - 1, value + 1, value + 1, value + 2) if 0 <= n <= 9]))
    if question.kind == "color_at":
        return rng.choice([color for color in COLORS if color != answer])
    if question.kind == "exists":
        return "no" if answer == "yes" else "yes"
    return rng.choice([a for a in (question.color, question.other_color, EQUAL) if a != answer])
