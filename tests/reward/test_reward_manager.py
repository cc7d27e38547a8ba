"""verl's side of the reward: one rollout in, one record out that says what the verifier did."""

import asyncio
import json
from types import SimpleNamespace

import pytest

from reward_workers.gate import Gate
from reward_workers.mix import Mix
from reward_workers.records import Verdict
from reward_workers.scoring import RolloutScorer
from reward_workers.verifier import Verifier

pytestmark = pytest.mark.integration


class Judge:
    """Finds every answer right."""

    async def judge(self, question, reference, extracted):
        return Verdict(1, "judge", "judge_correct", extracted)


def rollout(reference, answer_type):
    import numpy as np
    import torch
    from verl import DataProto

    fields = {
        "extra_info": {"prompt_id": "p", "index": 4, "question": "Which?", "answer_type": answer_type, "options": None},
        "reward_model": {"ground_truth": reference},
        "global_steps": 2,
        "session_id": 1,
        "response_len": 3,
        "prompt_tail": "none",
        "truncated": False,
        "validate": False,
    }
    columns = {key: np.array([value], dtype=object) for key, value in fields.items()}
    return DataProto.from_dict(tensors={"responses": torch.zeros(1, 5, dtype=torch.long)}, non_tensors=columns)


@pytest.fixture
def manager():
    from reward_workers.reward_manager import PatternRewardManager

    verifier = Verifier(symbolic_timeout_s=60.0)
    made = object.__new__(PatternRewardManager)
    made._policy = SimpleNamespace(mode="nt", family="qwen3_vl")
    made._scorer = RolloutScorer(verifier, Judge(), None, Gate(probability=0.0), Mix(weights={}, cap=0.1))
    yield made
    verifier.close()


def record_of(manager, text, reference, answer_type=None):
    manager.tokenizer = SimpleNamespace(decode=lambda tokens, skip_special_tokens: text)
    result = asyncio.run(manager.run_single(rollout(reference, answer_type)))
    assert set(result["reward_extra_info"]) == {"acc", "unscored", "record"}
    return json.loads(result["reward_extra_info"]["record"])


def test_symbolic_answers_are_decided_in_the_pool(manager):
    record = record_of(manager, r"So \boxed{(x-1)(x+4)}", "x^2+3x-4", "expression")
    assert (record["reward"], record["verdict"]["stage"]) == (1.0, "symbolic")
    assert record["verifier"] == record["verdict"]
    assert record["losses"] == {"killed": 0, "died": 0} and record["anls"] is None


def test_the_judge_does_not_hide_what_the_verifier_said(manager):
    record = record_of(manager, r"So \boxed{Anual Report}", "Annual Report", "doc_text")
    assert (record["verdict"]["stage"], record["verdict"]["reason"]) == ("judge", "judge_correct")
    assert (record["verifier"]["stage"], record["verifier"]["reason"]) == ("typed", "other_text")
    assert record["anls"] == pytest.approx(12 / 13)
