"""A functional forward pass and sampler over the parameters of the Hugging Face modules, for one CPU thread.

``generate`` of transformers spends most of its time in Python on models this small; sampling here is several times
faster and a training step shares each prompt among its responses. It computes what the modules compute (tests compare
the logits) and only supports the toy's shapes: images of 36 patches and 9 visual tokens, texts of at most MAX_TOKENS.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch
import torch.nn.functional as F
from torch import Tensor

from corpora.toy.world import GRID, Scene, tiles

MAX_TOKENS = 416
N_IMAGE_TOKENS = GRID * GRID
N_PATCHES = 4 * N_IMAGE_TOKENS
IMAGE_START = 4
"""Tokens before the first visual token: <|im_start|>, user, newline, <|vision_start|>."""

ROPE_THETA = 10000.0


@dataclass(frozen=True)
class Vision:
    """Visual tokens (B, 9, D) and what deepstack adds after the first decoder layers, each (B, 9, D)."""

    tokens: Tensor
    deepstack: tuple[Tensor, ...]

    def pick(self, rows: list[int]) -> Vision:
        return Vision(self.tokens[rows], tuple(layer[rows] for layer in self.deepstack))


def _patch_bank() -> Tensor:
    """Every cell look as the image processor patches it, (looks, 4, 1536): normalised, both frames of a still image."""
    looks = (torch.tensor(tiles()).float() / 255 - 0.5) / 0.5
    patches = looks.permute(0, 3, 1, 2).reshape(-1, 3, 2, 16, 2, 16).permute(0, 2, 4, 1, 3, 5)
    return patches.unsqueeze(4).expand(-1, -1, -1, -1, 2, -1, -1).reshape(len(looks), 4, -1).contiguous()


def _rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    half = x.shape[-1] // 2
    return x * cos + torch.cat((-x[..., half:], x[..., :half]), -1) * sin


def pad(sequences: list[list[int]]) -> Tensor:
    """Right-pad with 0 to (len(sequences), longest)."""
    out = torch.zeros(len(sequences), max(map(len, sequences)), dtype=torch.long)
    for row, ids in zip(out, sequences, strict=True):
        row[: len(ids)] = torch.tensor(ids)
    return out


class FastModel:
    """Forward passes for a policy (``Qwen3VLForConditionalGeneration``) or a judge (``Qwen3ForCausalLM``)."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.sees = hasattr(model.model, "visual")
        self.text = model.model.language_model if self.sees else model.model
        config = self.text.config
        self.heads, self.kv_heads, self.head_dim = (
            config.num_attention_heads,
            config.num_key_value_heads,
            config.head_dim,
        )
        self.eps = config.rms_norm_eps
        self.cos, self.sin = self._text_rotation(config)
        if self.sees:
            self._patches = _patch_bank()
            self._prepare_vision()

    def _text_rotation(self, config: Any) -> tuple[Tensor, Tensor]:
        """cos and sin of every position, (MAX_TOKENS, head_dim); images take 3x3 positions (interleaved mrope)."""
        n = self.head_dim // 2
        inverse = 1 / ROPE_THETA ** (torch.arange(n).float() / n)
        index = torch.arange(MAX_TOKENS).float()
        if not self.sees:
            angles = index[:, None] * inverse
        else:
            positions = index.repeat(3, 1)
            end = IMAGE_START + N_IMAGE_TOKENS
            for j in range(N_IMAGE_TOKENS):
                where = (IMAGE_START, IMAGE_START + j // GRID, IMAGE_START + j % GRID)
                positions[:, IMAGE_START + j] = torch.tensor(where).float()
            positions[:, end:] = index[: MAX_TOKENS - end] + IMAGE_START + GRID
            section = config.rope_parameters["mrope_section"]
            axis = [0] * n
            for dimension in (1, 2):
                for frequency in range(dimension, section[dimension] * 3, 3):
                    axis[frequency] = dimension
            angles = torch.stack([positions[axis[i]] * inverse[i] for i in range(n)], -1)
        angles = torch.cat([angles, angles], -1)
        return angles.cos(), angles.sin()

    def _prepare_vision(self) -> None:
        from transformers.vision_utils import get_vision_bilinear_indices_and_weights, get_vision_position_ids

        visual = self.model.model.visual
        grid = torch.tensor([[1, 2 * GRID, 2 * GRID]])
        self._pos_index, self._pos_weight = get_vision_bilinear_indices_and_weights(
            grid, num_grid_per_side=visual.num_grid_per_side, spatial_merge_size=2
        )
        angles = visual.rotary_pos_emb(get_vision_position_ids(grid, 2)).reshape(N_PATCHES, -1)
        angles = torch.cat([angles, angles], -1)
        self._vision_cos, self._vision_sin = angles.cos()[:, None], angles.sin()[:, None]

    def see(self, scenes: list[Scene]) -> Vision:
        """Visual tokens of the scenes' images."""
        looks = torch.tensor([[cell.tile_index for cell in scene.cells] for scene in scenes])
        visual, batch = self.model.model.visual, len(scenes)
        width, heads = visual.config.hidden_size, visual.config.num_heads
        patches = self._patches[looks].reshape(batch, N_PATCHES, -1)
        projection = visual.patch_embed.proj
        x = F.linear(patches, projection.weight.reshape(width, -1), projection.bias)
        x = x + (visual.pos_embed(self._pos_index) * self._pos_weight[:, :, None]).sum(0)
        deepstack: list[Tensor] = []
        for i, block in enumerate(visual.blocks):
            q, k, v = block.attn.qkv(block.norm1(x)).view(batch, N_PATCHES, 3, heads, -1).unbind(2)
            q, k = (_rotate(t, self._vision_cos, self._vision_sin) for t in (q, k))
            mixed = F.scaled_dot_product_attention(q.transpose(1, 2), k.transpose(1, 2), v.transpose(1, 2))
            x = x + block.attn.proj(mixed.transpose(1, 2).reshape(batch, N_PATCHES, width))
            x = x + block.mlp(block.norm2(x))
            if i in visual.deepstack_visual_indexes:
                merger = visual.deepstack_merger_list[len(deepstack)]
                deepstack.append(merger(x.reshape(-1, width)).view(batch, N_IMAGE_TOKENS, -1))
        merged = visual.merger(x.reshape(-1, width)).view(batch, N_IMAGE_TOKENS, -1)
        return Vision(merged, tuple(deepstack))

    def norm(self, x: Tensor, weight: Tensor) -> Tensor:
        return F.rms_norm(x, (x.shape[-1],), weight, self.eps)

    def project(self, layer: Any, x: Tensor, cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q (..., heads, head_dim), k and v (..., kv_heads, head_dim), normalised and rotated; the angles broadcast."""
        attention = layer.self_attn
        h = self.norm(x, layer.input_layernorm.weight)
        lead = h.shape[:-1]
        q = self.norm(attention.q_proj(h).view(*lead, self.heads, self.head_dim), attention.q_norm.weight)
        k = self.norm(attention.k_proj(h).view(*lead, self.kv_heads, self.head_dim), attention.k_norm.weight)
        v = attention.v_proj(h).view(*lead, self.kv_heads, self.head_dim)
        return _rotate(q, cos, sin), _rotate(k, cos, sin), v

    def feed(self, layer: Any, x: Tensor) -> Tensor:
        h = self.norm(x, layer.post_attention_layernorm.weight)
        return x + layer.mlp.down_proj(F.silu(layer.mlp.gate_proj(h)) * layer.mlp.up_proj(h))

    def _spread(self, kv: Tensor) -> Tensor:
        """(B, kv_heads, L, head_dim) to (B, heads, L, head_dim)."""
        return kv.repeat_interleave(self.heads // self.kv_heads, 1)

    def _with_image(self, x: Tensor, image: Tensor, add: bool) -> Tensor:
        """Put visual tokens in their place, or add deepstack features to them; x is (B, L, D)."""
        end = IMAGE_START + N_IMAGE_TOKENS
        image = x[:, IMAGE_START:end] + image if add else image
        return torch.cat([x[:, :IMAGE_START], image, x[:, end:]], 1)

    def hidden(self, ids: Tensor, vision: Vision | None = None, cache: list[Any] | None = None) -> Tensor:
        """Last hidden states (B, L, D) of right-padded ids (B, L); ``cache`` collects every layer's keys and values."""
        batch, length = ids.shape
        x = self.text.embed_tokens(ids)
        if vision is not None:
            x = self._with_image(x, vision.tokens, add=False)
        cos, sin = self.cos[:length, None], self.sin[:length, None]
        for i, layer in enumerate(self.text.layers):
            q, k, v = (t.transpose(1, 2) for t in self.project(layer, x, cos, sin))
            if cache is not None:
                cache.append((k, v))
            mixed = F.scaled_dot_product_attention(q, self._spread(k), self._spread(v), is_causal=True)
            x = x + layer.self_attn.o_proj(mixed.transpose(1, 2).reshape(batch, length, -1))
            x = self.feed(layer, x)
            if vision is not None and i < len(vision.deepstack):
                x = self._with_image(x, vision.deepstack[i], add=True)
        return self.norm(x, self.text.norm.weight)

    def logits(self, hidden: Tensor) -> Tensor:
        """Scores over the vocabulary (embeddings are tied)."""
        return F.linear(hidden, self.text.embed_tokens.weight)

    def hidden_of_responses(self, prompts: list[list[int]], responses: Tensor, n: int, vision: Vision | None) -> Tensor:
        """Hidden states that predict each response token, (P * n, R, D).

        Args:
            prompts: P token id lists; each is computed once for its n responses.
            responses: right-padded ids (P * n, R), those of one prompt in a row.
        """
        lengths = torch.tensor([len(p) for p in prompts])
        ids, fed = pad(prompts), responses[:, :-1]
        (n_prompts, p_len), (batch, r_len) = ids.shape, fed.shape
        width, split = self.text.embed_tokens.weight.shape[1], n_prompts * p_len
        embedded = self.text.embed_tokens(ids)
        if vision is not None:
            embedded = self._with_image(embedded, vision.tokens, add=False)
        x = torch.cat([embedded.reshape(split, width), self.text.embed_tokens(fed).reshape(-1, width)])
        own_length = lengths.repeat_interleave(n)
        positions = torch.cat(
            [torch.arange(p_len).repeat(n_prompts), (own_length[:, None] + torch.arange(r_len)).reshape(-1)]
        )
        cos, sin = self.cos[positions][:, None], self.sin[positions][:, None]
        sees_prompt = (torch.arange(p_len) < own_length[:, None])[:, None, :].expand(batch, r_len, p_len)
        sees_past = torch.ones(r_len, r_len, dtype=torch.bool).tril().expand(batch, r_len, r_len)
        mask = torch.cat([sees_prompt, sees_past], 2)[:, None]
        mask = torch.zeros(mask.shape).masked_fill(~mask, float("-inf"))
        for i, layer in enumerate(self.text.layers):
            flat = self.project(layer, x, cos, sin)
            of_prompt = [t[:split].view(n_prompts, p_len, -1, self.head_dim).transpose(1, 2) for t in flat]
            of_response = [t[split:].view(batch, r_len, -1, self.head_dim).transpose(1, 2) for t in flat]
            keys, values = (
                self._spread(torch.cat([of_prompt[j].repeat_interleave(n, 0), of_response[j]], 2)) for j in (1, 2)
            )
            mixed_prompt = F.scaled_dot_product_attention(
                of_prompt[0], self._spread(of_prompt[1]), self._spread(of_prompt[2]), is_causal=True
            )
            mixed = F.scaled_dot_product_attention(of_response[0], keys, values, attn_mask=mask)
            rows = [mixed_prompt.transpose(1, 2).reshape(split, -1), mixed.transpose(1, 2).reshape(batch * r_len, -1)]
            x = self.feed(layer, x + layer.self_attn.o_proj(torch.cat(rows)))
            if vision is not None and i < len(vision.deepstack):
                image_rows = self._with_image(x[:split].view(n_prompts, p_len, width), vision.deepstack[i], add=True)
                x = torch.cat([image_rows.reshape(split, width), x[split:]])
        x = self.norm(x, self.text.norm.weight)
        first = x[:split].view(n_prompts, p_len, width)[torch.arange(n_prompts), lengths - 1]
        return torch.cat([first.repeat_interleave(n, 0)[:, None], x[split:].view(batch, r_len, width)], 1)
