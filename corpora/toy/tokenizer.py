"""The byte-level BPE tokenizer that the three tiny models share; PatternRM's has its eight decisions as tokens too.

``<think>`` and ``</think>`` are single tokens but not special ones: decoding with ``skip_special_tokens=True`` must
leave them in the text, or the channel splitter would not see them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from corpora.toy.answer_pairs import draw_pair
from corpora.toy.protocol import equivalence_prompt, label_tokens, pattern_answer, pattern_prompt, verdict_answer
from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, narration, write_response
from corpora.toy.streams import stream

END_OF_TURN = "<|im_end|>"
PADDING = "<|endoftext|>"
SPECIAL_TOKENS = (
    PADDING,
    "<|im_start|>",
    END_OF_TURN,
    "<|vision_start|>",
    "<|vision_end|>",
    "<|vision_pad|>",
    "<|image_pad|>",
    "<|video_pad|>",
)
THINK_MARKERS = ("<think>", "</think>")
MAX_ENTRIES = 1024
"""Upper bound; merges run out earlier because the generated texts repeat few words."""

_MESSAGE = (
    "{%- for m in messages %}<|im_start|>{{ m.role }}\n"
    "{% if m.content is string %}{{ m.content }}{% else %}{% for c in m.content %}"
    "{% if c.type == 'image' or 'image' in c or 'image_url' in c %}<|vision_start|><|image_pad|><|vision_end|>"
    "{% elif 'text' in c %}{{ c.text }}{% endif %}{% endfor %}{% endif %}<|im_end|>\n{% endfor %}"
)
POLICY_TEMPLATE = (
    _MESSAGE + "{% if add_generation_prompt %}<|im_start|>assistant\n"
    "{% if enable_thinking is defined and enable_thinking %}<think>\n"
    "{% else %}<think>\n\n</think>\n\n{% endif %}{% endif %}"
)
"""Non-thinking unless ``enable_thinking`` is true: the thinking block is closed before the policy writes."""

JUDGE_TEMPLATE = _MESSAGE + "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
"""The judges have one mode only, so ``enable_thinking`` changes nothing."""


def _texts(seed: int, n_questions: int) -> Iterator[str]:
    rng = stream(seed, "tokenizer")
    mix = replace(ResponseMix(), performative=0.2, repetition=0.3, contradiction=0.3)
    for _ in range(n_questions):
        question = draw_question(rng)
        response = write_response(question, rng, mix)
        yield question.text
        yield response.text
        yield narration(question, rng)
        yield pattern_prompt(question.text, "") + "\n" + pattern_answer(response.labels)
        pair = draw_pair(rng)
        yield equivalence_prompt(pair.question, pair.reference, pair.answer) + "\n" + verdict_answer(pair.correct)
        yield "user\nassistant\n\n"


def build_tokenizer(seed: int = 0, n_questions: int = 4000, chat_template: str = POLICY_TEMPLATE) -> Any:
    """Train the tokenizer on generated texts; the same seed gives the same entries.

    Returns a ``PreTrainedTokenizerFast``.
    """
    from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
    from transformers import PreTrainedTokenizerFast

    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    backend.train_from_iterator(
        _texts(seed, n_questions),
        trainers.BpeTrainer(
            vocab_size=MAX_ENTRIES,
            special_tokens=[*SPECIAL_TOKENS, *THINK_MARKERS],
            initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
            show_progress=False,
        ),
    )
    tokenizer = PreTrainedTokenizerFast(
        tokenizer_object=_with_visible_markers(backend),
        eos_token=END_OF_TURN,
        pad_token=PADDING,
        additional_special_tokens=[token for token in SPECIAL_TOKENS if token not in (PADDING, END_OF_TURN)],
        model_max_length=4096,
    )
    tokenizer.chat_template = chat_template
    return tokenizer


def build_pattern_rm_tokenizer(seed: int = 0) -> Any:
    """The shared tokenizer plus one token a decision, so that a whole answer of PatternRM is a token a label."""
    from tokenizers import AddedToken

    tokenizer = build_tokenizer(seed, chat_template=JUDGE_TEMPLATE)
    tokenizer.add_tokens([AddedToken(text, normalized=False, special=False) for text in label_tokens()])
    return tokenizer


def _with_visible_markers(backend: Any) -> Any:
    """The same tokenizer with the think markers as ordinary added tokens (the trainer can only add special ones)."""
    from tokenizers import Tokenizer

    state = json.loads(backend.to_str())
    for token in state["added_tokens"]:
        if token["content"] in THINK_MARKERS:
            token["special"] = False
    return Tokenizer.from_str(json.dumps(state))


def token_ids(tokenizer: Any, text: str) -> list[int]:
    """Ids of ``text`` with nothing added, by the backend (the transformers call is far slower for short texts)."""
    ids: list[int] = tokenizer.backend_tokenizer.encode(text, add_special_tokens=False).ids
    return ids
