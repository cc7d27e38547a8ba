"""Sampling from a FastModel: ragged batches, a static key-value cache, finished rows dropped."""

from __future__ import annotations

from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import Tensor

from corpora.toy.training.fast import FastModel, Vision, pad


@dataclass(frozen=True, slots=True)
class Sampled:
    """One sampled response: its token ids (the end token included when it came) and their log-probabilities."""

    ids: list[int]
    logprobs: list[float]


def _choose(logits: Tensor, temperature: float, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Next token (B,) and its log-probability; temperature 0 is greedy, otherwise the Gumbel-max trick."""
    logprobs = torch.log_softmax(logits / (temperature or 1.0), -1)
    if temperature == 0:
        token = logits.argmax(-1)
    else:
        noise = torch.rand(logits.shape, generator=generator).clamp_(1e-20, 1 - 1e-7)
        token = (logprobs - torch.log(-torch.log(noise))).argmax(-1)
    return token, logprobs.gather(1, token[:, None])[:, 0]


@torch.no_grad()
def sample(
    fast: FastModel,
    prompts: list[list[int]],
    end: int,
    vision: Vision | None = None,
    n: int = 1,
    max_new: int = 100,
    temperature: float = 1.0,
    seed: int = 0,
) -> list[Sampled]:
    """n responses to each prompt, those of one prompt in a row; each stops at ``end`` or after ``max_new`` tokens."""
    generator = torch.Generator().manual_seed(seed)
    lengths = torch.tensor([len(p) for p in prompts])
    ids = pad(prompts)
    cache: list[tuple[Tensor, Tensor]] = []
    hidden = fast.hidden(ids, vision, cache)
    logits = fast.logits(hidden[torch.arange(len(prompts)), lengths - 1]).repeat_interleave(n, 0)
    room = ids.shape[1] + max_new
    batch, n_layers = len(prompts) * n, len(cache)
    keys = torch.zeros(n_layers, batch, fast.kv_heads, room, fast.head_dim)
    values = torch.zeros_like(keys)
    for i, (k, v) in enumerate(cache):
        keys[i, :, :, : ids.shape[1]] = k.repeat_interleave(n, 0)
        values[i, :, :, : ids.shape[1]] = v.repeat_interleave(n, 0)
    position, alive = lengths.repeat_interleave(n), torch.arange(batch)
    out = [Sampled([], []) for _ in range(batch)]
    for step in range(max_new):
        token, logprob = _choose(logits, temperature, generator)
        for row, chosen, value in zip(alive.tolist(), token.tolist(), logprob.tolist(), strict=True):
            out[row].ids.append(chosen)
            out[row].logprobs.append(value)
        going = token != end
        if step == max_new - 1 or not bool(going.any()):
            break
        if not bool(going.all()):
            alive, token, position = alive[going], token[going], position[going]
            keys, values = keys[:, going], values[:, going]
        logits = _decode(fast, token, position, keys, values)
        position = position + 1
    return out


def _decode(fast: FastModel, token: Tensor, position: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """One token further: writes its keys and values into the cache and returns the next logits (B, V)."""
    batch, span = len(token), int(position.max()) + 1
    row, per_kv = torch.arange(batch), fast.heads // fast.kv_heads
    x = fast.text.embed_tokens.weight[token]
    cos, sin = fast.cos[position][:, None], fast.sin[position][:, None]
    hides = torch.where(torch.arange(span) <= position[:, None], 0.0, float("-inf"))[:, None, None]
    for i, layer in enumerate(fast.text.layers):
        q, keys[i][row, :, position], values[i][row, :, position] = fast.project(layer, x, cos, sin)
        scores = q.view(batch, fast.kv_heads, per_kv, fast.head_dim) @ keys[i][:, :, :span].transpose(2, 3)
        weights = (scores * fast.head_dim**-0.5 + hides).softmax(-1)
        mixed = (weights @ values[i][:, :, :span]).reshape(batch, -1)
        x = fast.feed(layer, x + F.linear(mixed, layer.self_attn.o_proj.weight))
    return fast.logits(fast.norm(x, fast.text.norm.weight))
