"""References and answers with known equivalence: what the answer judge learns from and is measured on."""

from __future__ import annotations

import random
from dataclasses import dataclass

from corpora.toy.names import COLORS, EQUAL, EQUAL_NAMES, NUMBER_WORDS, OTHER_NAMES, SHAPES, canonical
from corpora.toy.questions import Question, draw_question, wrong_answer

JUNK = (
    "none",
    "unknown",
    "shapes",
    "the image",
    "many",
    "answer",
    "left",
    "row",
    "x",
    "12",
    "10",
    "1 or 2",
    "red or blue",
)


@dataclass(frozen=True, slots=True)
class AnswerPair:
    """One question for the answer judge and its right verdict."""

    question: str
    reference: str
    answer: str
    correct: bool


def _in_other_words(question: Question, answer: str, rng: random.Random) -> str:
    """``answer`` as a policy may write it: another name, a capital letter, a noun, a short sentence."""
    word = answer
    if question.answer_type == "integer" and rng.random() < 0.7:
        word = NUMBER_WORDS[int(answer)]
    elif answer in OTHER_NAMES and rng.random() < 0.6:
        word = OTHER_NAMES[answer]
    elif answer == EQUAL and rng.random() < 0.5:
        word = rng.choice(EQUAL_NAMES)
    draw = rng.random()
    if draw < 0.08:
        return word.capitalize()
    if draw < 0.14 and question.answer_type == "integer":
        return f"{word} {question.color or question.shape + 's'}"
    if draw < 0.20 and question.answer_type == "integer":
        return f"{word} shapes"
    if draw < 0.20 and canonical(answer) in COLORS:
        return f"{word} {rng.choice(['shapes', 'color'])}"
    return word


def draw_pair(rng: random.Random) -> AnswerPair:
    """One pair: about 45 % right in some wording, 40 % a wrong but plausible answer, 15 % something of another kind."""
    question = draw_question(rng)
    draw = rng.random()
    if draw < 0.45:
        answer, correct = _in_other_words(question, question.answer, rng), True
    elif draw < 0.85:
        answer, correct = _in_other_words(question, _wrong(question, rng), rng), False
    else:
        answer, correct = _of_another_kind(question, rng), False
    return AnswerPair(question.text, question.answer, answer, correct)


def _wrong(question: Question, rng: random.Random) -> str:
    """A wrong answer of the right kind, near ones more often."""
    if question.answer_type == "integer" and rng.random() < 0.5:
        return str(rng.choice([n for n in range(10) if str(n) != question.answer]))
    if question.kind == "compare" and rng.random() < 0.4:
        return rng.choice([color for color in COLORS if color != question.answer])
    return wrong_answer(question, question.answer, rng)


def _of_another_kind(question: Question, rng: random.Random) -> str:
    """Text that cannot be an answer to the question: a word of another kind, or junk."""
    pool = [*SHAPES, *JUNK]
    if question.answer_type != "integer":
        pool += [*NUMBER_WORDS, "0", "1", "2", "3", "4"]
    if question.answer_type != "yes_no":
        pool += ["yes", "no"]
    if question.kind != "compare":
        pool += [EQUAL]
    if question.answer_type != "text":
        pool += [*COLORS, *OTHER_NAMES.values()]
    if rng.random() < 0.15:
        return " ".join(rng.choices(pool, k=2))
    return rng.choice(pool)
