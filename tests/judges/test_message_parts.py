"""What a model under evaluation sends beside its text: reasoning, token counts, no content at all."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from reward_workers.judges.endpoint.client import JudgeClient, JudgeReply
from reward_workers.judges.endpoint.completion import Completion, Unusable, read_completion


def body(message: dict[str, Any], usage: Any = None) -> dict[str, Any]:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return {"id": "c", "object": "chat.completion", "created": 0, "model": "m", "choices": [choice], "usage": usage}


USAGE = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}


def test_reasoning_is_read_under_both_names():
    for name in ("reasoning", "reasoning_content"):
        found = read_completion(body({"content": "4", name: "two and two"}, USAGE))
        assert found == Completion("4", "stop", None, "two and two", 7, 5)


def test_a_message_without_content_is_empty_for_a_model_under_evaluation():
    given = body({"content": None, "reasoning": "still thinking"}, USAGE)
    assert isinstance(read_completion(given), Unusable)
    found = read_completion(given, needs_text=False)
    assert isinstance(found, Completion) and (found.text, found.reasoning) == ("", "still thinking")


def test_a_refusal_is_what_the_user_sees():
    given = body({"content": None, "refusal": "I cannot help with that."})
    assert read_completion(given) == Unusable("refusal", "I cannot help with that.")
    found = read_completion(given, needs_text=False)
    assert isinstance(found, Completion) and found.text == "I cannot help with that."


def test_decoding_replaces_the_settings_of_a_judge(
    fake_server: Any, settings: Callable[..., Any], make_completion: Callable[..., dict[str, Any]]
):
    async def scenario() -> None:
        question = [{"role": "user", "content": "2+2?"}]
        async with fake_server(make_completion(None), make_completion("4")) as server:
            client = JudgeClient(settings(base_urls=[server.base_url]))
            empty = await client.complete(question, decoding={"top_k": 20, "max_tokens": 9}, needs_text=False)
            judged = await client.complete(question)
            await client.aclose()
        assert isinstance(empty, JudgeReply) and empty.text == ""
        assert isinstance(judged, JudgeReply) and judged.text == "4"
        asked, judge = server.requests
        assert (asked["top_k"], asked["max_tokens"], "temperature" in asked) == (20, 9, False)
        assert (judge["max_tokens"], judge["temperature"]) == (64, 0.0)

    asyncio.run(scenario())
