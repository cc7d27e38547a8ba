"""The policy's warm start: see, answer, count, then the mix of styles that RL begins from.

Four stages, each a function of its own random stream. Captions teach perception (without them the answers never become
visual), answers teach the question types, tally teaches counting (several questions about one image in one sequence),
mix sets the shares of the styles and takes reliability away from answering without looking.
"""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from corpora.toy.names import NUMBER_WORDS
from corpora.toy.protocol import policy_turn
from corpora.toy.questions import TALLY_KINDS, Question, draw_question
from corpora.toy.responses import ResponseMix, claim, evidence, narration, write_response, write_thinking
from corpora.toy.tokenizer import token_ids
from corpora.toy.training.fast import FastModel, pad
from corpora.toy.training.optimize import Budget, optimize
from corpora.toy.world import GRID, Scene, draw_scene

THINKING_SHARE = 0.1
RESPONSES_PER_PROMPT = 4
MAX_RESPONSE_TOKENS = 110
NUMBER_WEIGHT = 4.0
"""Weight of digits and number words in the loss: counting is the slowest thing to learn and a small part of all tokens.
Both carry it, because weighing one form alone would also make it more frequent."""

PROMPTS_PER_PASS = 4
QUESTIONS_PER_TALLY = 6
MAX_TALLY_TOKENS = 400
START_MIX = ResponseMix(label_noise=0.3)
"""Where RL begins: leaked narration is 2.7 times as common as clean evidence, and direct answers are often wrong."""


@dataclass(frozen=True)
class Trainee:
    """The policy under training with its tokenizer and the loss weights of the vocabulary (V,)."""

    fast: FastModel
    tokenizer: Any
    number_weights: Tensor


def trainee(fast: FastModel, tokenizer: Any) -> Trainee:
    weights = torch.ones(len(tokenizer))
    for number, word in enumerate(NUMBER_WORDS):
        for text in (f"{number}", f" {number}", word):
            weights[token_ids(tokenizer, text)[-1]] = NUMBER_WEIGHT
    return Trainee(fast, tokenizer, weights)


def _caption(scene: Scene) -> str:
    """Colours and shapes of every row, in the words of the evidence rows."""
    rows = range(1, GRID + 1)
    return " ".join(
        f"Row {row}: {' '.join(words)}."
        for row in rows
        for words in (scene.colors_in_row(row), scene.shapes_in_row(row))
    )


def captions(policy: Trainee, budget: Budget, rng: random.Random) -> float:
    """Name the colours and shapes of every row of an image, without a question."""
    prompt = token_ids(policy.tokenizer, policy_turn("", thinking=False))
    end = policy.tokenizer.eos_token_id

    def accumulate() -> float:
        scenes = [draw_scene(rng) for _ in range(budget.batch)]
        total = 0.0
        for first in range(0, budget.batch, 16):
            part = scenes[first : first + 16]
            ids = pad([prompt + token_ids(policy.tokenizer, _caption(scene)) + [end] for scene in part])
            hidden = policy.fast.hidden(ids[:, :-1], policy.fast.see(part))[:, len(prompt) - 1 :]
            targets = ids[:, len(prompt) :]
            loss = F.cross_entropy(policy.fast.logits(hidden).flatten(0, 1), targets.flatten())
            loss = loss * len(part) / budget.batch
            loss.backward()
            total += float(loss.detach())
        return total

    return optimize("policy captions", policy.fast, budget, accumulate)


def _answers(mix: ResponseMix, weigh_numbers: bool) -> Callable[[Trainee, Budget, random.Random], float]:
    """A stage of supervised answers in the shares of ``mix``; a batch is prompts with four responses each."""

    def stage(policy: Trainee, budget: Budget, rng: random.Random) -> float:
        weights = policy.number_weights if weigh_numbers else torch.ones_like(policy.number_weights)
        return optimize(
            f"policy answers (noise {mix.label_noise})",
            policy.fast,
            budget,
            lambda: _accumulate_answers(policy, budget, rng, mix, weights),
        )

    return stage


def _accumulate_answers(
    policy: Trainee, budget: Budget, rng: random.Random, mix: ResponseMix, weights: Tensor
) -> float:
    fast, tokenizer = policy.fast, policy.tokenizer
    examples: list[tuple[Question, list[int], list[list[int]]]] = []
    for _ in range(budget.batch):
        question = draw_question(rng)
        thinking = rng.random() < THINKING_SHARE
        responses = []
        for _ in range(RESPONSES_PER_PROMPT):
            text = write_thinking(question, rng, mix) if thinking else write_response(question, rng, mix).text
            responses.append([*token_ids(tokenizer, text)[:MAX_RESPONSE_TOKENS], tokenizer.eos_token_id])
        examples.append((question, token_ids(tokenizer, policy_turn(question.text, thinking)), responses))
    # Prompts of like length share a pass: less padding.
    examples.sort(key=lambda example: max(map(len, example[2])))
    n_tokens = sum(len(response) for _, _, responses in examples for response in responses)
    total = 0.0
    for first in range(0, len(examples), PROMPTS_PER_PASS):
        part = examples[first : first + PROMPTS_PER_PASS]
        flat = [response for _, _, responses in part for response in responses]
        ids = pad(flat)
        real = torch.arange(ids.shape[1]) < torch.tensor([len(response) for response in flat])[:, None]
        vision = fast.see([question.scene for question, _, _ in part])
        hidden = fast.hidden_of_responses([prompt for _, prompt, _ in part], ids, RESPONSES_PER_PROMPT, vision)
        targets = ids[real]
        losses = F.cross_entropy(fast.logits(hidden[real]), targets, reduction="none")
        loss = (losses * weights[targets]).sum() / n_tokens
        loss.backward()
        total += float(loss.detach())
    return total


def _tally_text(scene: Scene, rng: random.Random) -> str:
    """Several counting questions about one image with worked answers, one a line."""
    lines = []
    for _ in range(QUESTIONS_PER_TALLY):
        question = draw_question(rng, scene, TALLY_KINDS)
        work = evidence(question) if rng.random() < 0.6 else narration(question, rng)
        lines.append(f"{question.text} {work} {claim(question, question.answer)}")
    return "\n".join(lines)


def tally(policy: Trainee, budget: Budget, rng: random.Random) -> float:
    """Count: six worked questions about one image in a sequence, numbers weighted."""
    prompt = token_ids(policy.tokenizer, policy_turn("", thinking=False))

    def accumulate() -> float:
        examples = []
        for _ in range(budget.batch):
            scene = draw_scene(rng)
            ids = prompt + token_ids(policy.tokenizer, _tally_text(scene, rng))
            examples.append((scene, ids[:MAX_TALLY_TOKENS]))
        examples.sort(key=lambda example: len(example[1]))
        n_tokens = sum(len(ids) - len(prompt) for _, ids in examples)
        total = 0.0
        for first in range(0, len(examples), 4):
            part = examples[first : first + 4]
            ids = pad([ids for _, ids in part])
            lengths = torch.tensor([len(ids) for _, ids in part])[:, None]
            position = torch.arange(1, ids.shape[1])
            real = (position >= len(prompt)) & (position < lengths)
            hidden = policy.fast.hidden(ids[:, :-1], policy.fast.see([scene for scene, _ in part]))
            targets = ids[:, 1:][real]
            losses = F.cross_entropy(policy.fast.logits(hidden[real]), targets, reduction="none")
            loss = (losses * policy.number_weights[targets]).sum() / n_tokens
            loss.backward()
            total += float(loss.detach())
        return total

    return optimize("policy tally", policy.fast, budget, accumulate)


@dataclass(frozen=True)
class Stage:
    """One named stage of the warm start and its budget."""

    name: str
    run: Callable[[Trainee, Budget, random.Random], float]
    budget: Budget


STAGES = (
    Stage("captions", captions, Budget(steps=200, batch=64, lr=2e-3)),
    Stage("answers", _answers(ResponseMix(), weigh_numbers=False), Budget(steps=700, batch=12, lr=2e-3, warmup=100)),
    Stage("tally", tally, Budget(steps=240, batch=12, lr=2.5e-3, warmup=30)),
    Stage("mix", _answers(START_MIX, weigh_numbers=True), Budget(steps=220, batch=12, lr=2e-3, warmup=30)),
)
