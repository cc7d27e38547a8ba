"""Who asked what: the questions of one rollout are told from those of others that run beside it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

from foundation.labels import LABELS
from reward_workers.judges.answer_judge import AnswerJudge
from reward_workers.judges.endpoint.calls import JudgeCall, collect_calls, note
from reward_workers.judges.pattern_rm import PatternRM

MakeSettings = Callable[..., Any]


def test_without_a_collector_nothing_is_kept() -> None:
    note(JudgeCall("fallback", "server", None))
    with collect_calls() as calls:
        pass
    assert calls == []


def test_rollouts_side_by_side_have_their_own_questions(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(503, "Hm.", "CORRECT") as server:
            judge = AnswerJudge(settings(base_urls=[server.base_url], concurrency=1))

            async def rollout(answer: str) -> list[JudgeCall]:
                with collect_calls() as calls:
                    await asyncio.create_task(judge.judge("q", "2", answer))
                    await judge.judge("q", "2", answer)
                return calls

            first, same, other = await asyncio.gather(rollout("two"), rollout("two"), rollout("II"))
            assert [(call.answered_by, call.attempts, call.retries) for call in first] == [
                ("server", 3, 1),  # 503, its retry "Hm.", and the reworded question
                ("memory", 0, 0),
            ]
            assert [call.answered_by for call in same] == ["shared", "memory"]
            assert [(call.answered_by, call.attempts) for call in other] == [("server", 1), ("memory", 0)]
            assert all(call.judge == "fallback" and call.failure is None for call in (*first, *same, *other))
            await judge.aclose()

    asyncio.run(scenario())


def test_failures_and_breakers_are_noted(fake_server: Any, settings: MakeSettings) -> None:
    async def scenario() -> None:
        async with fake_server(500) as server:
            breaker = {"failures": 2, "cooldown_s": 60}
            pattern_rm = PatternRM(
                settings(base_urls=[server.base_url], prompt="pattern_rm", breaker=breaker), dict.fromkeys(LABELS, 0.5)
            )
            with collect_calls() as calls:
                await pattern_rm.label("q", "one")
                await pattern_rm.label("q", "two")
            assert [(call.failure, call.attempts, call.retries, call.openings) for call in calls] == [
                ("http_500", 2, 1, 1),
                ("breaker_open", 0, 0, 0),
            ]
            assert len(server.requests) == 2
            await pattern_rm.aclose()

    asyncio.run(scenario())
