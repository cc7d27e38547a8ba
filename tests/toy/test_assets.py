"""The shipped tiny models: they load in transformers, reach the figures of their cards, and look at the image."""

from __future__ import annotations

import io
import json
import tempfile
from pathlib import Path
from typing import Any

import pytest

from corpora.toy.world import png
from foundation.labels import LABELS

pytestmark = pytest.mark.integration

ASSETS = Path(__file__).parents[2] / "assets" / "toy"
N = 1024
MARGIN = 0.075
"""More than three standard errors of the difference of two rates over N cases each."""


def card(name: str) -> dict[str, dict[str, float]]:
    figures: dict[str, dict[str, float]] = json.loads((ASSETS / name / "card.json").read_text())["figures"]
    return figures


@pytest.fixture(scope="module")
def policy() -> tuple[Any, Any]:
    """The shipped policy as transformers loads it, and its processor."""
    from transformers import AutoModelForImageTextToText, AutoProcessor

    folder = ASSETS / "policy"
    return AutoModelForImageTextToText.from_pretrained(folder).eval(), AutoProcessor.from_pretrained(folder)


def judge(name: str) -> tuple[Any, Any]:
    """A shipped judge as transformers loads it, and its tokenizer."""
    from transformers import AutoModelForCausalLM, AutoTokenizer

    return AutoModelForCausalLM.from_pretrained(ASSETS / name).eval(), AutoTokenizer.from_pretrained(ASSETS / name)


def test_policy_files_are_what_the_trainer_needs(policy: tuple[Any, Any]) -> None:
    import torch

    model, processor = policy
    assert type(model).__name__ == "Qwen3VLForConditionalGeneration"
    assert all(parameter.dtype == torch.float32 for parameter in model.parameters())
    assert model.config.text_config.vocab_size == len(processor.tokenizer) == processor.tokenizer.vocab_size
    assert 0.5e6 < sum(p.numel() for p in model.parameters()) < 2e6
    assert sum(f.stat().st_size for f in ASSETS.rglob("*")) < 20e6


def test_three_models_share_one_vocabulary_and_pattern_rm_has_its_decisions_as_tokens(policy: tuple[Any, Any]) -> None:
    from corpora.toy.tokenizer import token_ids

    vocabulary = policy[1].tokenizer.get_vocab()
    model, tokenizer = judge("answer_judge")
    assert tokenizer.get_vocab() == vocabulary
    assert model.config.vocab_size == len(vocabulary)
    model, tokenizer = judge("pattern_rm")
    assert vocabulary.items() <= tokenizer.get_vocab().items()
    assert model.config.vocab_size == len(tokenizer) == len(vocabulary) + 8
    ids = token_ids(tokenizer, "CoT: 1\nRep: 0\nCon: 1\nPR: 0")
    assert [tokenizer.decode([token]) for token in ids] == ["CoT: 1", "\nRep: 0", "\nCon: 1", "\nPR: 0"]


def test_policy_generates_through_transformers_what_the_sampler_gives(policy: tuple[Any, Any]) -> None:
    from PIL import Image

    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import fresh_questions, roll_out

    model, processor = policy
    questions = fresh_questions(4, seed=50)
    expected = roll_out(FastModel(model), processor.tokenizer, questions, seed=0, temperature=0.0)
    for question, rollout in zip(questions, expected, strict=True):
        turn = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question.text}]}]
        text = processor.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        inputs = processor(text=[text], images=[Image.open(io.BytesIO(png(question.scene)))], return_tensors="pt")
        generated = model.generate(**inputs, max_new_tokens=100, do_sample=False)[0, inputs["input_ids"].shape[1] :]
        assert processor.tokenizer.decode(generated, skip_special_tokens=True) == rollout.raw


def test_policy_reaches_its_card_and_needs_the_image(policy: tuple[Any, Any]) -> None:
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import fresh_questions, policy_figures, roll_out

    fast, tokenizer = FastModel(policy[0]), policy[1].tokenizer
    stated = card("policy")["non-thinking, temperature 1"]
    assert 0.38 <= stated["accuracy"] <= 0.55, "RL needs room above the warm start"
    assert 0.46 <= stated["trigger"] <= 0.62
    questions = fresh_questions(N, seed=51)
    reached = policy_figures(roll_out(fast, tokenizer, questions, seed=1))
    for name in ("accuracy", "trigger", "cot"):
        assert reached[name] == pytest.approx(stated[name], abs=MARGIN), name
    shuffled = policy_figures(roll_out(fast, tokenizer, questions, seed=1, shuffled=True))
    assert shuffled["accuracy"] < reached["accuracy"] - 0.08
    assert reached["number_words"] > 0.02 and reached["other_names"] > 0.02, "the answer judge needs work"


def test_thinking_mode_thinks_first(policy: tuple[Any, Any]) -> None:
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import fresh_questions, policy_figures, roll_out

    rollouts = roll_out(FastModel(policy[0]), policy[1].tokenizer, fresh_questions(64, seed=52), seed=2, thinking=True)
    closed = [rollout for rollout in rollouts if rollout.raw.count("</think>") == 1]
    assert len(closed) >= 0.9 * len(rollouts)
    assert policy_figures(closed)["cot"] < 0.1


def test_pattern_rm_reaches_its_card(policy: tuple[Any, Any]) -> None:
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import fresh_questions, pattern_rm_figures, roll_out

    model, tokenizer = judge("pattern_rm")
    rollouts = roll_out(FastModel(policy[0]), policy[1].tokenizer, fresh_questions(N, seed=53), seed=3)
    texts = [(rollout.question.text, rollout.visible) for rollout in rollouts]
    reached = pattern_rm_figures(FastModel(model), tokenizer, texts)
    stated = card("pattern_rm")["labels on rollouts, warm_start"]
    floors = {"f1_cot": 0.95, "f1_rep": 0.95, "f1_con": 0.8, "f1_pr": 0.95}
    advice = "the table has another label: python -m corpora.toy.train --only pattern_rm"
    assert list(floors) == [f"f1_{label}" for label in LABELS], advice
    for name, floor in floors.items():
        assert stated[name] >= floor, name
        assert reached[name] >= floor - 0.08, name
    assert reached["unreadable"] <= 0.005


def test_answer_judge_reaches_its_card() -> None:
    from corpora.toy.answer_pairs import AnswerPair
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import answer_judge_figures, fresh_pairs

    model, tokenizer = judge("answer_judge")
    fast = FastModel(model)
    assert card("answer_judge")["fresh pairs"]["accuracy"] >= 0.98
    reached = answer_judge_figures(fast, tokenizer, fresh_pairs(N, seed=54))
    assert reached["accuracy"] >= 0.97
    assert reached["unreadable"] == 0
    by_hand = [
        AnswerPair("How many red shapes are there?", "3", "three", True),
        AnswerPair("How many red shapes are there?", "3", "four", False),
        AnswerPair("How many circles are there?", "0", "zero", True),
        AnswerPair("Which color is in row 1, column 3?", "red", "crimson", True),
        AnswerPair("Which color is in row 1, column 3?", "red", "navy", False),
        AnswerPair("Which color is in row 2, column 1?", "black", "charcoal", True),
        AnswerPair("Which color is in row 2, column 1?", "black", "green", False),
        AnswerPair("Are there more red or blue shapes?", "equal", "blue", False),
        AnswerPair("Are there more red or blue shapes?", "blue", "equal", False),
        AnswerPair("Are there more red or blue shapes?", "blue", "navy", True),
    ]
    assert answer_judge_figures(fast, tokenizer, by_hand)["accuracy"] == 1.0


def test_assets_name_no_folder_of_the_machine_that_made_them() -> None:
    folders = {str(Path.home()), tempfile.gettempdir(), str(ASSETS.parents[1])}
    for path in ASSETS.rglob("*"):
        if path.suffix in (".json", ".md", ".jinja"):
            text = path.read_text()
            assert not [folder for folder in folders if folder in text], path
