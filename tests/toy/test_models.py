"""The fast forward pass and sampler against transformers' modules, the tokenizer, the training command in small."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest

from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, write_response
from corpora.toy.world import png

pytestmark = pytest.mark.integration


@pytest.fixture(scope="module")
def tokenizer() -> Any:
    from corpora.toy.tokenizer import build_tokenizer

    return build_tokenizer(n_questions=500)


def test_labels_are_single_tokens_and_markers_survive(tokenizer: Any) -> None:
    from corpora.toy.tokenizer import token_ids

    assert tokenizer.vocab_size == len(tokenizer)
    for text in (" 0", " 1", "CORRECT", "INCORRECT", "<think>", "</think>"):
        assert len(token_ids(tokenizer, text)) == 1, text
    assert len(token_ids(tokenizer, "CoT: 0\nRep: 1\nCon: 0\nPR: 0")) <= 16
    text = "<think>\nHmm, 3?\n</think>\n\nThere are 3 red shapes. \\boxed{three}"
    assert tokenizer.decode(token_ids(tokenizer, text + "<|im_end|>"), skip_special_tokens=True) == text
    unseen = "Zürich → 東京 \\frac{1}{2}"
    assert tokenizer.decode(token_ids(tokenizer, unseen)) == unseen


def test_tokenizer_is_deterministic() -> None:
    from corpora.toy.tokenizer import build_tokenizer

    first, second = (build_tokenizer(seed=3, n_questions=200) for _ in range(2))
    assert first.get_vocab() == second.get_vocab()


def test_chat_templates_render_what_training_saw(tokenizer: Any) -> None:
    from corpora.toy.protocol import judge_turn, policy_turn
    from corpora.toy.tokenizer import JUDGE_TEMPLATE

    content = [{"type": "image"}, {"type": "text", "text": "How many circles are there?"}]
    for thinking in (False, True):
        rendered = tokenizer.apply_chat_template(
            [{"role": "user", "content": content}],
            tokenize=False,
            add_generation_prompt=True,
            enable_thinking=thinking,
        )
        expected = policy_turn("How many circles are there?", thinking).replace("<|image_pad|>" * 9, "<|image_pad|>")
        assert rendered == expected
    default = tokenizer.apply_chat_template(
        [{"role": "user", "content": content}], tokenize=False, add_generation_prompt=True
    )
    assert default.endswith("<think>\n\n</think>\n\n")
    judge = tokenizer.apply_chat_template(
        [{"role": "user", "content": "Question: ?"}],
        chat_template=JUDGE_TEMPLATE,
        tokenize=False,
        add_generation_prompt=True,
        enable_thinking=False,
    )
    assert judge == judge_turn("Question: ?")


def test_fast_forward_is_the_module_s_forward(tokenizer: Any) -> None:
    import io

    import torch
    from PIL import Image

    from corpora.toy.protocol import policy_turn
    from corpora.toy.tokenizer import token_ids
    from corpora.toy.training.fast import FastModel, pad
    from corpora.toy.training.models import build_policy, build_processor

    torch.manual_seed(0)
    model = build_policy(tokenizer).eval()
    processor, fast, rng = build_processor(tokenizer), FastModel(model), random.Random(0)
    questions = [draw_question(rng) for _ in range(3)]
    vision = fast.see([question.scene for question in questions])
    prompts = [token_ids(tokenizer, policy_turn(question.text, False)) for question in questions]
    responses = [token_ids(tokenizer, write_response(q, rng, ResponseMix()).text) for q in questions for _ in range(2)]
    with torch.no_grad():
        grouped = fast.logits(fast.hidden_of_responses(prompts, pad(responses), 2, vision))
        for i, question in enumerate(questions):
            turn = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question.text}]}]
            text = processor.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
            inputs = processor(text=[text], images=[Image.open(io.BytesIO(png(question.scene)))], return_tensors="pt")
            assert inputs["input_ids"][0].tolist() == prompts[i]
            response = responses[2 * i]
            ids = torch.tensor([prompts[i] + response])
            kinds = torch.zeros_like(ids)
            kinds[:, : len(prompts[i])] = inputs["mm_token_type_ids"]
            reference = model(
                input_ids=ids,
                attention_mask=torch.ones_like(ids),
                pixel_values=inputs["pixel_values"],
                image_grid_thw=inputs["image_grid_thw"],
                mm_token_type_ids=kinds,
            ).logits
            ours = fast.logits(fast.hidden(ids, vision.pick([i])))
            assert torch.allclose(ours, reference, atol=1e-4)
            of_response = reference[0, len(prompts[i]) - 1 : -1]
            assert torch.allclose(grouped[2 * i, : len(response)], of_response, atol=1e-4)


def test_sampler_reports_the_model_s_probabilities(tokenizer: Any) -> None:
    import torch

    from corpora.toy.tokenizer import token_ids
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.models import build_judge
    from corpora.toy.training.sampling import sample

    torch.manual_seed(0)
    fast = FastModel(build_judge(tokenizer, "answer_judge"))
    prompts = [token_ids(tokenizer, text) for text in ("How many circles are there?", "Is there a red square?")]
    for temperature in (0.0, 1.0):
        sampled = sample(fast, prompts, tokenizer.eos_token_id, n=2, max_new=12, temperature=temperature)
        for i, one in enumerate(sampled):
            prompt = prompts[i // 2]
            with torch.no_grad():
                hidden = fast.hidden(torch.tensor([prompt + one.ids]))
            logprobs = fast.logits(hidden)[0, len(prompt) - 1 : -1].log_softmax(-1)
            expected = logprobs.gather(1, torch.tensor(one.ids)[:, None])[:, 0]
            assert torch.allclose(expected, torch.tensor(one.logprobs), atol=1e-4)
            if temperature == 0:
                assert logprobs.argmax(-1).tolist() == one.ids


def test_command_trains_resumes_and_writes_a_card(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from corpora.toy.train import main

    arguments = [
        "--out",
        str(tmp_path / "out"),
        "--only",
        "answer_judge",
        "--stages",
        str(tmp_path / "stages"),
        "--fast",
    ]
    main(arguments)
    assert "answer_judge: step 12/12" in capsys.readouterr().out
    folder = tmp_path / "out" / "answer_judge"
    first = (folder / "model.safetensors").read_bytes()
    card = json.loads((folder / "card.json").read_text())
    assert card["figures"]["fresh pairs"]["n"] > 0
    assert "accuracy" in (folder / "card.md").read_text()
    main(arguments)
    assert "finished before" in capsys.readouterr().out
    assert (folder / "model.safetensors").read_bytes() == first
    with pytest.raises(ValueError, match="--stages"):
        main([*arguments, "--seed", "1"])
    main([*arguments[:-2], str(tmp_path / "again"), "--fast"])
    assert (folder / "model.safetensors").read_bytes() == first, "the same seed must give the same weights"
