"""The rollouts that the reward service is measured with, and the local judge."""

from __future__ import annotations

import asyncio

import pytest

from benchmarks.simulated_rollouts import RIGHT_WORD, WRONG_WORD, endless, one_step


def test_a_step_has_the_shares_that_were_asked_for():
    rollouts = one_step(4096, accuracy=0.7, words=0.25, duplicates=0.12, seed=3)
    right = sum(r.visible.endswith(("{7}", f"{{{RIGHT_WORD}}}")) for r in rollouts) / 4096
    words = sum(r.visible.endswith((f"{{{RIGHT_WORD}}}", f"{{{WRONG_WORD}}}")) for r in rollouts) / 4096
    twice = 1 - len({(r.question, r.visible) for r in rollouts}) / 4096
    # Three standard errors of a share over 4,096 draws are at most .024; the first of eight is never a duplicate.
    assert right == pytest.approx(0.7, abs=0.03) and words == pytest.approx(0.25, abs=0.03)
    assert twice == pytest.approx(0.12 * 7 / 8, abs=0.02)
    assert len({r.question for r in rollouts}) == 512
    assert rollouts == one_step(4096, accuracy=0.7, words=0.25, duplicates=0.12, seed=3)


def test_distinct_rollouts_share_no_question():
    rollouts = one_step(64, accuracy=1.0, words=0.0, duplicates=0.5, seed=3, distinct=True)
    assert len({r.question for r in rollouts}) == 64


def test_endless_rollouts_never_repeat():
    rollouts = endless(1)
    some = [next(rollouts) for _ in range(2000)]
    assert len({(r.question, r.visible) for r in some}) == 2000


@pytest.mark.integration
def test_the_local_judge_answers_and_counts():
    import openai

    from benchmarks.local_judge import NO_LABEL, local_judge, requests_since_last_look

    async def ask(root, model, text):
        async with openai.AsyncOpenAI(base_url=f"{root}/v1", api_key="none") as client:
            answer = await client.chat.completions.create(model=model, messages=[{"role": "user", "content": text}])
            return answer.choices[0].message.content

    with local_judge(0.0, slots=1) as root:
        assert asyncio.run(ask(root, "pattern-rm", "x")) == NO_LABEL
        assert asyncio.run(ask(root, "answer-judge", f"Answer: {RIGHT_WORD}")) == "CORRECT"
        assert asyncio.run(ask(root, "answer-judge", f"Answer: {WRONG_WORD}")) == "INCORRECT"
        assert requests_since_last_look(root) == {"pattern-rm": 1, "answer-judge": 2}
        assert requests_since_last_look(root) == {}
