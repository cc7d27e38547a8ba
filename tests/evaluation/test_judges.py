"""The two judges of a response: who is asked for what, and what is read from the answer."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from evaluation.pattern_eval.judging.correctness import Correctness
from evaluation.pattern_eval.judging.pattern_judge import PatternJudge, make_labeller, reasons_of
from foundation.runs.evaluation_records import Prompt
from foundation.runs.records import Verdict
from foundation.settings.judges import JudgeSettings
from reward_workers.judges.replies import parse_labels
from reward_workers.verifier import Verifier

PROMPT = Prompt("p", "s", "VG", "OOD", "What colour?", None, (), "red", criteria="Any shade of it counts.")
CLEAN = "1. CoT: 0 - none\n2. Rep: 0 - none\n3. Con: 0 - none\n4. PR: 0 - none"
IMAGE = "data:image/png;base64,AAAA"


def text_of(body: dict[str, Any]) -> str:
    content = body["messages"][0]["content"]
    return content if isinstance(content, str) else content[-1]["text"]


@pytest.fixture
def settings() -> Callable[..., JudgeSettings]:
    def build(base_url: str, prompt: str, **changes: Any) -> JudgeSettings:
        section = {
            "model": "judge",
            "base_urls": [base_url],
            "serve": None,
            "prompt": prompt,
            "language": "en",
            "api_key_env": None,
            "temperature": 0.0,
            "max_tokens": 64,
            "timeout_s": 5.0,
            "total_timeout_s": 8.0,
            "max_attempts": 1,
            "breaker": {"failures": 10, "cooldown_s": 30.0},
            "concurrency": 8,
        }
        return JudgeSettings.from_config(section | changes, "judge")

    return build


def decide(model_server: Any, settings: Any, prompt: str, visible: str, reply: str, asked: Prompt = PROMPT) -> Any:
    """The verdict on a response, and what the judge was asked."""

    async def scenario() -> tuple[Verdict, list[str]]:
        async with model_server(lambda body: {"content": reply}) as server:
            correctness = Correctness(Verifier(symbolic=False), settings(server.base_url, prompt))
            verdict = await correctness.decide(asked, visible)
            await correctness.aclose()
            return verdict, [text_of(body) for body in server.requests]

    return asyncio.run(scenario())


def test_the_verifier_decides_what_it_can(model_server: Any, settings: Any):
    for visible, value in ((r"\boxed{red}", 1), (r"\boxed{blue}", 0)):
        question = Prompt("p", "s", "VG", "OOD", "?", ("red", "blue"), (), "A", "choice")
        answer = visible.replace("red", "A").replace("blue", "B")
        verdict, asked = decide(model_server, settings, "answer_correctness", answer, "CORRECT", question)
        assert (verdict.value, asked) == (value, [])


def test_a_response_without_a_box_goes_whole_to_the_judge_with_the_criteria(model_server: Any, settings: Any):
    verdict, (asked,) = decide(
        model_server, settings, "answer_correctness", "It is a dark crimson.", "The same shade.\nCORRECT"
    )
    assert (verdict.value, verdict.stage, verdict.reason) == (1, "judge", "judge_correct")
    for part in ("It is a dark crimson.", "Any shade of it counts.", "What colour?", "red"):
        assert part in asked


def test_the_fallback_judge_of_the_training_sees_the_extracted_answer(model_server: Any, settings: Any):
    verdict, (asked,) = decide(model_server, settings, "answer_equivalence", r"So \boxed{crimson}.", "INCORRECT")
    assert (verdict.value, verdict.stage) == (0, "judge")
    assert "crimson" in asked and "So " not in asked
    verdict, asked_of = decide(model_server, settings, "answer_equivalence", "It is crimson.", "CORRECT")
    assert (verdict.value, verdict.reason, asked_of) == (0, "no_box", [])


def test_a_verdict_that_cannot_be_read_is_none(model_server: Any, settings: Any):
    verdict, asked = decide(model_server, settings, "answer_correctness", "Crimson.", "It might be either.")
    assert (verdict.value, len(asked)) == (None, 2)
    assert "ends with a line" in asked[1] or "end with a line" in asked[1]  # asked again, with the form


def test_nobody_is_asked_without_a_reference(model_server: Any, settings: Any):
    question = Prompt("p", "s", "VG", "OOD", "?", None, (), " ")
    verdict, asked = decide(model_server, settings, "answer_correctness", "Crimson.", "CORRECT", question)
    assert (verdict.value, verdict.reason, asked) == (None, "no_reference", [])


def label(model_server: Any, settings: Any, reply: Any, images: tuple[str, ...] = (IMAGE,), **changes: Any) -> Any:
    async def scenario() -> Any:
        async with model_server(reply if callable(reply) else lambda body: {"content": reply}) as server:
            judge = PatternJudge(settings(server.base_url, "pattern_judge", **changes))
            found = await judge.label("What colour?", "Wait, red. So red.", images)
            again = await judge.label("What colour?", "Wait, red. So red.", images)
            await judge.aclose()
            assert again == found
            return found, server.requests

    return asyncio.run(scenario())


def test_labels_with_reasons_and_the_image(model_server: Any, settings: Any):
    reply = CLEAN.replace("CoT: 0 - none", "CoT: 1 - it says “Wait”.")
    found, requests = label(model_server, settings, reply)
    assert found.labels == {"cot": True, "rep": False, "con": False, "pr": False}
    assert found.reasons["cot"] == "it says “Wait”"
    (body,) = requests  # the second question was answered from memory
    assert body["messages"][0]["content"][0] == {"type": "image_url", "image_url": {"url": IMAGE}}


def test_chinese_rubric(model_server: Any, settings: Any):
    reply = "1. 思维链：1 - 出现“等等”。\n2. 重复：0 - 无\n3. 矛盾：0 - 无\n4. 表演性推理：0 - 无"
    found, (body,) = label(model_server, settings, reply, language="zh")
    assert found.labels["cot"] is True and "出现" in found.reasons["cot"]
    assert "回答" in text_of(body)


@pytest.mark.parametrize(
    ("reply", "why", "requests"),
    [
        ("1. CoT: 1 / 0\n2. Rep: 0\n3. Con: 0\n4. PR: 0", "not_a_decision", 2),
        ("I cannot say.", "refusal", 2),
        ("1. CoT: 0\n2. Rep: 0", "missing_labels", 2),
    ],
)
def test_an_unreadable_reply_is_asked_again_and_never_zero(
    model_server: Any, settings: Any, reply: str, why: str, requests: int
):
    found, sent = label(model_server, settings, reply)
    assert (found.labels, found.why) == (None, why)
    assert len(sent) == 2 * requests  # nothing unreadable is remembered: the second call asks anew


def test_a_reply_with_images_is_read_once_reworded(model_server: Any, settings: Any):
    replies = iter(["no idea", CLEAN])
    found, requests = label(model_server, settings, lambda body: {"content": next(replies)})
    assert found.labels == dict.fromkeys(("cot", "rep", "con", "pr"), False)
    assert [len(body["messages"][0]["content"]) for body in requests] == [2, 2]  # the image is there again


def test_a_pattern_rm_without_log_probabilities_gives_its_decisions(model_server: Any, settings: Any):
    async def scenario() -> Any:
        async with model_server(lambda body: {"content": "CoT: 1\nRep: 0\nCon: 0\nPR: 1"}) as server:
            labeller = make_labeller(
                settings(server.base_url, "pattern_rm"), dict.fromkeys(("cot", "rep", "con", "pr"), 0.5)
            )
            found = await labeller.label("What colour?", "Wait, red.", [IMAGE])
            await labeller.aclose()
            return found, server.requests

    found, (body,) = asyncio.run(scenario())
    assert found.labels == {"cot": True, "rep": False, "con": False, "pr": True}
    assert found.probabilities == {} and isinstance(body["messages"][0]["content"], str)


def test_reasons_stand_behind_their_decisions():
    reply = "Here:\n1. CoT: 1 - first.\n   It goes on.\n2. Rep: 0\n3. **Con**: 1 — “A” and “B”\n4. PR: 0 - none"
    parsed = parse_labels(reply)
    assert reasons_of(reply, parsed.positions) == ("first. It goes on", "", "“A” and “B”", "none")
    assert reasons_of('{"cot": 1}', ()) == ()
