"""Scenes, questions and responses: hand-made cases and properties of the generator."""

from __future__ import annotations

import io
import random

import numpy as np
import pytest
from PIL import Image

from corpora.toy import oracle
from corpora.toy.names import COLORS, OTHER_NAMES, canonical
from corpora.toy.questions import KINDS, Question, draw_question, wrong_answer
from corpora.toy.responses import ResponseMix, claim, evidence, write_response, write_thinking
from corpora.toy.world import RGB, Cell, Scene, draw_scene, pixels, png

SCENE = Scene(
    tuple(
        Cell(color, shape, 13)
        for color, shape in (
            ("red", "circle"), ("red", "square"), ("blue", "circle"),
            ("green", "triangle"), ("red", "triangle"), ("black", "square"),
            ("blue", "square"), ("yellow", "circle"), ("blue", "triangle"),
        )
    )
)  # fmt: skip


def test_scene_knows_rows_and_columns() -> None:
    assert SCENE.at(1, 3).color == "blue"
    assert SCENE.at(3, 2) == Cell("yellow", "circle", 13)
    assert SCENE.colors_in_row(2) == ["green", "red", "black"]
    assert SCENE.count_color("red") == 3
    assert SCENE.count_shape("triangle") == 3
    assert SCENE.colors_of("circle") == ["red", "blue", "yellow"]


def test_image_shows_each_colour_at_its_cell() -> None:
    image = np.asarray(Image.open(io.BytesIO(png(SCENE))))
    assert image.shape == (96, 96, 3)
    for row in range(3):
        for column in range(3):
            middle = tuple(int(v) for v in image[row * 32 + 16, column * 32 + 16])
            assert middle == RGB[SCENE.at(row + 1, column + 1).color]
    assert tuple(image[0, 0]) == (245, 245, 245)


def test_shapes_differ_in_their_pixels() -> None:
    areas = {}
    for shape in ("circle", "square", "triangle"):
        scene = Scene((Cell("red", shape, 13), *SCENE.cells[1:]))
        areas[shape] = int((pixels(scene)[:32, :32] == RGB["red"]).all(-1).sum())
    assert len(set(areas.values())) == 3
    assert areas["triangle"] < areas["square"] < areas["circle"]


@pytest.mark.parametrize("kind", KINDS)
def test_reference_answers_the_question(kind: str) -> None:
    rng = random.Random(3)
    for _ in range(200):
        question = draw_question(rng, kinds=(kind,))
        scene = question.scene
        if kind == "count_color":
            expected = str([cell.color for cell in scene.cells].count(question.color))
        elif kind == "count_shape":
            expected = str([cell.shape for cell in scene.cells].count(question.shape))
        elif kind == "color_at":
            expected = scene.cells[3 * (question.row - 1) + question.column - 1].color
        elif kind == "exists":
            expected = "yes" if (question.color, question.shape) in [(c.color, c.shape) for c in scene.cells] else "no"
        else:
            colors = [cell.color for cell in scene.cells]
            difference = colors.count(question.color) - colors.count(question.other_color)
            expected = question.color if difference > 0 else question.other_color if difference < 0 else "equal"
        assert question.answer == expected
        assert wrong_answer(question, question.answer, rng) != question.answer


def test_kinds_are_equally_common_and_both_existence_answers_occur() -> None:
    rng = random.Random(0)
    questions = [draw_question(rng) for _ in range(2000)]
    shares = [sum(q.kind == kind for q in questions) / 2000 for kind in KINDS]
    assert all(0.16 < share < 0.24 for share in shares)
    existence = [q.answer for q in questions if q.kind == "exists"]
    assert 0.45 < existence.count("yes") / len(existence) < 0.8


def test_claim_and_evidence_by_hand() -> None:
    question = Question("count_color", SCENE, "How many red shapes are there?", "3", color="red")
    assert claim(question, "3") == "There are 3 red shapes."
    assert evidence(question) == "Row 1: red red blue, 2. Row 2: green red black, 3. Row 3: blue yellow blue, 3."
    compare = Question("compare", SCENE, "Are there more red or blue shapes?", "equal", color="red", other_color="blue")
    assert claim(compare, "equal") == "Both colors are equal."
    assert evidence(compare).endswith("Row 3: blue yellow blue. red 3, blue 3.")


def test_oracle_reads_back_what_the_generator_put_in() -> None:
    """Two independent sources: the generator knows its labels by construction, the oracle reads the text."""
    rng = random.Random(5)
    mix = ResponseMix(
        performative=0.2, repetition=0.4, contradiction=0.3, box_mismatch=0.2, label_noise=0.3, think_marker=0.05
    )
    for _ in range(3000):
        question = draw_question(rng)
        response = write_response(question, rng, mix)
        assert oracle.label_response(question.text, response.text) == response.labels, response.text


def test_default_mix_has_the_stated_shares() -> None:
    rng = random.Random(9)
    written = [write_response(draw_question(rng), rng, ResponseMix()) for _ in range(4000)]
    share = {style: sum(w.style == style for w in written) / 4000 for style in ("direct", "evidence", "cot")}
    assert share["direct"] == pytest.approx(0.44, abs=0.03)
    assert share["evidence"] == pytest.approx(0.13, abs=0.02)
    assert share["cot"] == pytest.approx(0.35, abs=0.03)
    assert sum(w.labels["rep"] for w in written) / 4000 == pytest.approx(0.12 * 0.92, abs=0.02)
    assert sum(w.labels["con"] for w in written) / 4000 == pytest.approx(0.06 * 0.92, abs=0.015)


def test_some_boxes_need_the_answer_judge() -> None:
    rng = random.Random(11)
    counts, colors = [], []
    for _ in range(6000):
        question = draw_question(rng)
        box = oracle.boxed(write_response(question, rng, ResponseMix()).text)
        assert box is not None
        if question.answer_type == "integer":
            counts.append(not box.isdigit())
        elif canonical(box) in COLORS:
            colors.append(box in OTHER_NAMES.values())
    assert sum(counts) / len(counts) == pytest.approx(0.15, abs=0.03)
    assert sum(colors) / len(colors) == pytest.approx(0.18, abs=0.03)


def test_same_seed_same_texts() -> None:
    def texts(seed: int) -> list[str]:
        rng = random.Random(seed)
        return [write_response(draw_question(rng), rng, ResponseMix()).text for _ in range(50)]

    assert texts(1) == texts(1)
    assert texts(1) != texts(2)


def test_thinking_keeps_the_narration_out_of_the_visible_text() -> None:
    rng = random.Random(2)
    for _ in range(100):
        question = draw_question(rng, draw_scene(rng))
        text = write_thinking(question, rng, ResponseMix())
        reasoning, visible = text.split("</think>")
        assert oracle.label_response(question.text, reasoning)["cot"]
        assert not oracle.label_response(question.text, visible)["cot"]
