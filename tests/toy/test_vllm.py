"""The shipped models say the same in vLLM as in transformers' parameters (float32, greedy)."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, write_response
from corpora.toy.streams import stream
from corpora.toy.world import png

pytestmark = [pytest.mark.e2e, pytest.mark.timeout(480)]

ASSETS = Path(__file__).parents[2] / "assets" / "toy"
SCRIPT = Path(__file__).with_name("greedy_in_vllm.py")
N = 12
ENGINE_TIMEOUT_S = 360


def vllm_replies(name: str, requests: list[dict[str, Any]], folder: Path) -> list[str]:
    """Greedy replies of a shipped model from vLLM in a child process on two threads at most."""
    environment = os.environ | {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "OMP_NUM_THREADS": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    out = folder / f"{name}.json"
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(ASSETS / name), str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    try:
        _, errors = process.communicate(json.dumps(requests), timeout=ENGINE_TIMEOUT_S)
    finally:
        # vLLM's engine is a child of the script: a session of its own lets both be ended together.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors[-8000:]
    replies: list[str] = json.loads(out.read_text())
    return replies


def test_policy_in_vllm_equals_transformers(tmp_path: Path) -> None:
    from transformers import AutoModelForImageTextToText, AutoProcessor

    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import fresh_questions, roll_out

    processor = AutoProcessor.from_pretrained(ASSETS / "policy")
    model = AutoModelForImageTextToText.from_pretrained(ASSETS / "policy").eval()
    questions = fresh_questions(N, seed=60)
    expected = roll_out(FastModel(model), processor.tokenizer, questions, seed=0, temperature=0.0)
    requests = []
    for question in questions:
        turn = [{"role": "user", "content": [{"type": "image"}, {"type": "text", "text": question.text}]}]
        text = processor.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        requests.append({"prompt": text, "scene_png": base64.b64encode(png(question.scene)).decode()})
    assert vllm_replies("policy", requests, tmp_path) == [rollout.raw for rollout in expected]


@pytest.mark.parametrize("name", ["pattern_rm", "answer_judge"])
def test_judge_in_vllm_equals_transformers(name: str, tmp_path: Path) -> None:
    from transformers import AutoModelForCausalLM, AutoTokenizer

    from corpora.toy.protocol import equivalence_prompt, pattern_prompt
    from corpora.toy.training.fast import FastModel
    from corpora.toy.training.figures import ask, fresh_pairs

    tokenizer = AutoTokenizer.from_pretrained(ASSETS / name)
    model = AutoModelForCausalLM.from_pretrained(ASSETS / name).eval()
    if name == "pattern_rm":
        rng = stream(61, "texts")
        questions = [draw_question(rng) for _ in range(N)]
        messages = [pattern_prompt(q.text, write_response(q, rng, ResponseMix()).text) for q in questions]
    else:
        messages = [equivalence_prompt(pair.question, pair.reference, pair.answer) for pair in fresh_pairs(N, seed=61)]
    turns = [
        tokenizer.apply_chat_template(
            [{"role": "user", "content": message}], tokenize=False, add_generation_prompt=True, enable_thinking=False
        )
        for message in messages
    ]
    replies = vllm_replies(name, [{"prompt": turn, "scene_png": None} for turn in turns], tmp_path)
    assert replies == ask(FastModel(model), tokenizer, messages, max_new=24)
