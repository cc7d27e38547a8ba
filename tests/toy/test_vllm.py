"""The shipped models say the same in vLLM as in transformers' parameters (float32, greedy)."""

from __future__ import annotations

import base64
import contextlib
import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from corpora.toy.questions import draw_question
from corpora.toy.responses import ResponseMix, write_response
from corpora.toy.streams import stream
from corpora.toy.world import png

pytestmark = [pytest.mark.integration, pytest.mark.timeout(480)]

ASSETS = Path(__file__).parents[2] / "assets" / "toy"
SCRIPT = Path(__file__).with_name("greedy_in_vllm.py")
N = 12
ENGINE_TIMEOUT_S = 360


@dataclass(frozen=True)
class Asked:
    """What one model is asked in vLLM, and what it says in transformers."""

    requests: list[dict[str, Any]]
    expected: list[str]


def asked_policy() -> Asked:
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
    return Asked(requests, [rollout.raw for rollout in expected])


def asked_judge(name: str) -> Asked:
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
    requests = [{"prompt": turn, "scene_png": None} for turn in turns]
    return Asked(requests, ask(FastModel(model), tokenizer, messages, max_new=24))


@pytest.fixture(scope="module")
def asked() -> dict[str, Asked]:
    return {
        "policy": asked_policy(),
        "pattern_rm": asked_judge("pattern_rm"),
        "answer_judge": asked_judge("answer_judge"),
    }


@pytest.fixture(scope="module")
def replies(asked: dict[str, Asked], tmp_path_factory: pytest.TempPathFactory) -> dict[str, list[str]]:
    """Greedy replies of all shipped models from vLLM in one child process, on two threads at most."""
    environment = os.environ | {
        "VLLM_CPU_KVCACHE_SPACE": "1",
        "VLLM_CPU_OMP_THREADS_BIND": "nobind",
        "VLLM_ENABLE_V1_MULTIPROCESSING": "0",
        "VLLM_LOGGING_LEVEL": "WARNING",
        "OMP_NUM_THREADS": "1",
        "TORCHDYNAMO_DISABLE": "1",
        "HF_HUB_OFFLINE": "1",
    }
    out = tmp_path_factory.mktemp("vllm") / "replies.json"
    process = subprocess.Popen(
        [sys.executable, str(SCRIPT), str(ASSETS), str(out)],
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
        env=environment,
        start_new_session=True,
    )
    requests = {name: model.requests for name, model in asked.items()}
    try:
        _, errors = process.communicate(json.dumps(requests), timeout=ENGINE_TIMEOUT_S)
    finally:
        # A session of its own lets the script and what it may have started be ended together.
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert process.returncode == 0, errors[-8000:]
    said: dict[str, list[str]] = json.loads(out.read_text())
    return said


@pytest.mark.parametrize("name", ["policy", "pattern_rm", "answer_judge"])
def test_a_model_in_vllm_equals_transformers(name: str, asked: dict[str, Asked], replies: dict[str, list[str]]) -> None:
    assert len(replies[name]) == N
    assert replies[name] == asked[name].expected
