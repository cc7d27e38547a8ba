"""Responses with known patterns: the warm start of the policy and the training texts of PatternRM.

A response is a body, a claim and a box. The body decides the style: ``direct`` has none, ``evidence`` lists what the
rows show, ``cot`` narrates the same rows in the first person with hesitation, ``performative`` is an analytic wrapper
around nothing. Repetition and contradiction are added to the claim. Evidence and leaked narration carry the same
information, so a policy can be right without any bad pattern.
"""

from __future__ import annotations

import random
from dataclasses import dataclass
from typing import Literal

from corpora.toy.labels import vector
from corpora.toy.names import EQUAL, NUMBER_WORDS, OTHER_NAMES
from corpora.toy.questions import Question, wrong_answer
from corpora.toy.world import GRID
from foundation.labels import Vector

Style = Literal["direct", "evidence", "cot", "performative"]
STYLES: tuple[Style, ...] = ("direct", "evidence", "cot", "performative")
WITHOUT_ROWS: tuple[Style, ...] = ("direct", "performative")
"""Styles that answer without looking cell by cell: what follows a thinking block, and where label noise applies."""

WRAPPERS = (
    "After a careful analysis of the visual evidence, the answer is clear.",
    "A thorough examination of the image leads to a definite conclusion.",
    "Based on a comprehensive analysis, the result follows.",
)
REPEATS = ("", "Indeed, ", "Again, ", "So, ")


@dataclass(frozen=True, slots=True)
class ResponseMix:
    """How often each thing happens; all are shares in 0..1 except that the four styles are relative weights.

    Attributes:
        repetition: the claim stands once or twice more (not with ``performative``).
        contradiction: two claims of different values (not with ``performative``).
        box_mismatch: the box holds another value than the only claim (not with ``performative``).
        label_noise: ``direct`` and ``performative`` answer something wrong.
        number_word: the box of a count holds a word.
        other_name: the box of a colour holds its second name.
        think_marker: a left-over ``</think>`` stands before the text.
        lead_in_swap: repetitions lose the lead-in that most of them have, and contradictions get one.
    """

    direct: float = 0.44
    evidence: float = 0.13
    cot: float = 0.35
    performative: float = 0.08
    repetition: float = 0.12
    contradiction: float = 0.06
    box_mismatch: float = 0.0
    label_noise: float = 0.0
    number_word: float = 0.15
    other_name: float = 0.18
    think_marker: float = 0.0
    lead_in_swap: float = 0.0

    def weight(self, style: Style) -> float:
        return float(getattr(self, style))


@dataclass(frozen=True, slots=True)
class WrittenResponse:
    """A response and the patterns that were put into it."""

    text: str
    style: Style
    labels: Vector


def claim(question: Question, answer: str) -> str:
    """The sentence that states ``answer``, always with digits and plain colour names."""
    if question.kind == "count_color":
        return f"There are {answer} {question.color} shapes."
    if question.kind == "count_shape":
        return f"There are {answer} {question.shape}s."
    if question.kind == "color_at":
        return f"The color in row {question.row}, column {question.column} is {answer}."
    if question.kind == "exists":
        return f"There is {'a' if answer == 'yes' else 'no'} {question.color} {question.shape}."
    return "Both colors are equal." if answer == EQUAL else f"There are more {answer} shapes."


def _row(question: Question, row: int) -> tuple[list[str], int]:
    """What the question cares about in a row, and how many cells of the rows up to this one match."""
    scene = question.scene
    words = scene.shapes_in_row(row) if question.kind == "count_shape" else scene.colors_in_row(row)
    wanted = question.shape if question.kind == "count_shape" else question.color
    cells = scene.cells[: row * GRID]
    return words, sum((c.shape if question.kind == "count_shape" else c.color) == wanted for c in cells)


def evidence(question: Question) -> str:
    """What the rows show, as plain statements with a running total."""
    scene = question.scene
    if question.kind in ("count_color", "count_shape"):
        rows = [_row(question, row) for row in range(1, GRID + 1)]
        return " ".join(f"Row {i}: {' '.join(words)}, {total}." for i, (words, total) in enumerate(rows, 1))
    if question.kind == "color_at":
        return f"Row {question.row}: {' '.join(scene.colors_in_row(question.row))}."
    if question.kind == "exists":
        return f"Colors of each {question.shape}: {' '.join(scene.colors_of(question.shape)) or 'none'}."
    rows_text = " ".join(f"Row {row}: {' '.join(scene.colors_in_row(row))}." for row in range(1, GRID + 1))
    return f"{rows_text} {_totals(question)}."


def _totals(question: Question) -> str:
    count = question.scene.count_color
    first, second = question.color, question.other_color
    return f"{first} {count(first)}, {second} {count(second)}"


def narration(question: Question, rng: random.Random) -> str:
    """The same rows as hesitating first-person thoughts: leaked deliberation, or the inside of a thinking block."""
    scene = question.scene
    parts: list[str] = []
    if question.kind in ("count_color", "count_shape"):
        parts.append(rng.choice(["Let me count.", "Let me look row by row.", "First, let me count."]))
        for row in range(1, GRID + 1):
            words, total = _row(question, row)
            seen = f"row {row} is {' '.join(words)}, so I have {total}."
            parts.append(rng.choice(["Hmm, ", "Okay, ", "Now, ", ""]) + seen)
            if rng.random() < 0.2:
                parts.append(f"Wait, let me recount. {seen}")
    elif question.kind == "color_at":
        seen = f"I see {' '.join(scene.colors_in_row(question.row))}."
        parts.append(f"Let me look at row {question.row}. {seen}")
        if rng.random() < 0.5:
            parts.append(f"Wait, let me check. {seen}")
    elif question.kind == "exists":
        seen = f"I see {' '.join(scene.colors_of(question.shape)) or 'none'}."
        parts.append(f"Let me look for each {question.shape}. {seen}")
        if rng.random() < 0.4:
            parts.append(f"Wait, let me check. {seen}")
    else:
        parts.append(rng.choice(["Let me compare.", "Let me look row by row."]))
        for row in range(1, GRID + 1):
            parts.append(
                rng.choice(["Hmm, ", "Okay, ", "Now, ", ""]) + f"row {row} is {' '.join(scene.colors_in_row(row))}."
            )
        parts.append(f"So I have {_totals(question)}.")
        if rng.random() < 0.3:
            parts.append(f"Wait, let me recount. I have {_totals(question)}.")
    return " ".join(parts)


def box_text(question: Question, answer: str, mix: ResponseMix, rng: random.Random) -> str:
    """How ``answer`` is written in the box: as it is, or as a number word or second colour name."""
    draw = rng.random()
    if question.answer_type == "integer" and draw < mix.number_word:
        return NUMBER_WORDS[int(answer)]
    if answer in OTHER_NAMES and draw < mix.other_name:
        return OTHER_NAMES[answer]
    return answer


def write_response(
    question: Question, rng: random.Random, mix: ResponseMix, styles: tuple[Style, ...] = STYLES
) -> WrittenResponse:
    """One visible response to ``question``; its last thing is the answer in a ``\\boxed{}``."""
    style = rng.choices(styles, [mix.weight(s) for s in styles])[0]
    answer = question.answer
    if style in WITHOUT_ROWS and rng.random() < mix.label_noise:
        answer = wrong_answer(question, answer, rng)
    parts: list[str] = []
    rep = con = False
    marker = rng.random() < mix.think_marker
    if marker:
        parts.append("</think>")
    if style == "performative":
        parts.append(rng.choice(WRAPPERS))
    else:
        if style == "evidence":
            parts.append(evidence(question))
        elif style == "cot":
            parts.append(narration(question, rng))
        boxed = answer
        contradicts = rng.random() < mix.contradiction
        if contradicts:
            # Most contradictions end right, so that correctness alone does not punish them.
            if rng.random() < 0.65:
                parts.append(claim(question, wrong_answer(question, answer, rng)))
            else:
                parts.append(claim(question, answer))
                boxed = answer = wrong_answer(question, answer, rng)
        elif rng.random() < mix.box_mismatch:
            boxed = wrong_answer(question, answer, rng)
        last_claim = claim(question, answer)
        # A mix without swaps must not draw here: the streams of the shipped policy depend on it.
        swapped = mix.lead_in_swap > 0 and rng.random() < mix.lead_in_swap
        parts.append((rng.choice(REPEATS[1:]) if swapped and contradicts else "") + last_claim)
        con = contradicts or boxed != answer
        answer = boxed
        if rng.random() < mix.repetition:
            rep = True
            for _ in range(rng.choice([1, 1, 2])):
                parts.append(("" if swapped else rng.choice(REPEATS)) + last_claim)
    parts.append("\\boxed{" + box_text(question, answer, mix, rng) + "}")
    labels = vector(cot=style == "cot" or marker, rep=rep, con=con, pr=style == "performative")
    return WrittenResponse(" ".join(parts), style, labels)


def write_thinking(question: Question, rng: random.Random, mix: ResponseMix) -> str:
    """What follows an opened ``<think>`` in thinking mode: narration, the closing marker, a short visible answer."""
    return f"{narration(question, rng)}\n</think>\n\n{write_response(question, rng, mix, WITHOUT_ROWS).text}"
