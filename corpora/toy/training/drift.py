"""A small GRPO in plain torch, with the oracle as its judge: where does RL take the warm start?

It serves two ends. The rollouts along the way show PatternRM what drifted policies write, and the last policy's figures
in the card say what to expect of the real run. Training proper is verl's; nothing here is used by it.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from corpora.toy.oracle import is_correct, label_response
from corpora.toy.protocol import policy_turn
from corpora.toy.questions import draw_question
from corpora.toy.streams import stream
from corpora.toy.tokenizer import token_ids
from corpora.toy.training.fast import FastModel, pad
from corpora.toy.training.figures import MAX_NEW_TOKENS
from corpora.toy.training.sampling import sample
from reward_workers.gate import Gate
from reward_workers.mix import PAPER

CLIP = 0.2
GROUPS_PER_PASS = 2


@dataclass(frozen=True, slots=True)
class DriftSettings:
    """Steps, prompts a step, rollouts a prompt, learning rate; ``penalty`` False is correctness alone (BaseRL)."""

    steps: int
    penalty: bool
    prompts: int = 16
    rollouts: int = 8
    lr: float = 3e-4


def drift(fast: FastModel, tokenizer: Any, settings: DriftSettings, seed: int) -> list[tuple[str, str]]:
    """Train ``fast`` in place by GRPO (vision tower frozen, one on-policy update a step).

    Returns:
        (question, visible response) of every rollout, in the order of the steps.
    """
    name = "pattern" if settings.penalty else "base"
    rng = stream(seed, f"drift:{name}")
    parameters = [p for key, p in fast.model.named_parameters() if ".visual." not in key]
    optimizer = torch.optim.AdamW(parameters, lr=settings.lr, betas=(0.9, 0.98), weight_decay=0.0)
    gate, seen = Gate(seed=seed), list[tuple[str, str]]()
    n = settings.rollouts
    for step in range(1, settings.steps + 1):
        questions = [draw_question(rng) for _ in range(settings.prompts)]
        prompts = [token_ids(tokenizer, policy_turn(question.text, False)) for question in questions]
        with torch.no_grad():
            vision = fast.see([question.scene for question in questions])
        sampled = sample(
            fast, prompts, tokenizer.eos_token_id, vision, n=n, max_new=MAX_NEW_TOKENS, seed=rng.randrange(2**31)
        )
        rewards = torch.zeros(len(questions), n)
        for i, one in enumerate(sampled):
            question = questions[i // n]
            visible = tokenizer.decode(one.ids, skip_special_tokens=True).strip()
            seen.append((question.text, visible))
            rewards[i // n, i % n] = PAPER.reward(
                correct=is_correct(question.answer, visible),
                gate_open=settings.penalty and gate.is_open(step=step, group=i // n, rollout=i % n),
                labels=label_response(question.text, visible),
            )
        advantages = (rewards - rewards.mean(1, keepdim=True)) / (rewards.std(1, keepdim=True) + 1e-6)
        groups = [g for g in range(len(questions)) if float(rewards[g].max() - rewards[g].min()) > 0]
        groups.sort(key=lambda g: max(len(one.ids) for one in sampled[g * n : (g + 1) * n]))
        n_tokens = sum(len(one.ids) for one in sampled)
        for first in range(0, len(groups), GROUPS_PER_PASS):
            part = groups[first : first + GROUPS_PER_PASS]
            rows = [g * n + j for g in part for j in range(n)]
            ids = pad([sampled[row].ids for row in rows])
            real = torch.arange(ids.shape[1]) < torch.tensor([len(sampled[row].ids) for row in rows])[:, None]
            old = torch.tensor([value for row in rows for value in sampled[row].logprobs])
            advantage = advantages.flatten()[rows][:, None].expand_as(ids)[real]
            hidden = fast.hidden_of_responses([prompts[g] for g in part], ids, n, vision.pick(part))
            new = fast.logits(hidden[real]).log_softmax(-1).gather(1, ids[real][:, None])[:, 0]
            ratio = (new - old).exp()
            clipped = ratio.clamp(1 - CLIP, 1 + CLIP)
            loss = -torch.min(ratio * advantage, clipped * advantage).sum() / n_tokens
            loss.backward()
        torch.nn.utils.clip_grad_norm_(parameters, 1.0)
        optimizer.step()
        optimizer.zero_grad()
        if step % 10 == 0 or step == settings.steps:
            print(f"drift {name}: step {step}/{settings.steps} reward {float(rewards.mean()):.3f}", flush=True)
    return seen
