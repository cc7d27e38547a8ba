"""What one reward worker builds out of the configuration, and what it gives verl for a rollout."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest
from omegaconf import OmegaConf

from foundation.runs.records import SymbolicLosses, Verdict
from foundation.runs.scored_rollout import ScoredRollout
from foundation.settings.compose import compose_config
from reward_workers.gate import Gate
from reward_workers.mix import Mix
from reward_workers.scoring import RolloutScorer
from reward_workers.terms.pattern_term import PatternTerm
from reward_workers.terms.verifier_term import VerifierTerm
from reward_workers.verifier import Verifier

pytestmark = pytest.mark.integration  # imports verl


def config(tmp_path: Path, *overrides: str) -> dict[str, Any]:
    urls = [f"judges.{name}.base_urls=[http://127.0.0.1:1/v1]" for name in ("fallback", "pattern_rm")]
    composed = compose_config((f"run.dir={tmp_path}", *urls, *overrides))
    return cast(dict[str, Any], OmegaConf.to_container(composed, resolve=True))


def test_the_workers_share_the_calls_that_a_judge_may_get(tmp_path: Path) -> None:
    from reward_workers.reward_manager import build_scorer, judge_clients

    given = config(tmp_path, "reward.num_workers=3", "judges.fallback.concurrency=8", "judges.pattern_rm.concurrency=4")
    shares = [
        {name: client.settings.concurrency for name, client in judge_clients(build_scorer(given, worker)).items()}
        for worker in range(3)
    ]
    assert shares == [
        {"fallback": 3, "pattern_rm": 2},
        {"fallback": 3, "pattern_rm": 1},
        {"fallback": 2, "pattern_rm": 1},
    ]


def test_the_cache_has_one_switch(tmp_path: Path) -> None:
    from reward_workers.reward_manager import open_cache

    cache = open_cache(config(tmp_path, "judge_cache.size_limit_gb=2")["judge_cache"])
    assert cache is not None and cache.folder.parent == tmp_path / "judge_cache"
    assert open_cache(config(tmp_path, "judge_cache.enabled=false")["judge_cache"]) is None


@pytest.mark.parametrize(
    ("overrides", "source", "judges"),
    [
        ((), "pattern_rm", {"fallback", "pattern_rm"}),
        (("reward_mix.labels.source=union",), "union", {"fallback", "pattern_rm"}),
        (("reward_mix.labels.source=rules",), "rules", {"fallback"}),
        (("reward_mix=base_rl",), None, {"fallback"}),
    ],
)
def test_a_worker_asks_the_judges_that_its_labels_need(
    tmp_path: Path, overrides: tuple[str, ...], source: str | None, judges: set[str]
) -> None:
    from reward_workers.reward_manager import build_scorer, judge_clients

    made = build_scorer(config(tmp_path, *overrides), 0)
    pattern = made.terms[1]
    assert (pattern.source, pattern.penalty) == (source, "hard")
    assert set(judge_clients(made)) == judges


def test_thresholds_and_kind_of_penalty_reach_the_scorer(tmp_path: Path) -> None:
    from reward_workers.reward_manager import build_scorer

    made = build_scorer(config(tmp_path, "reward_mix.threshold.con=0.7", "reward_mix.penalty=expected"), 0)
    pattern = made.terms[1]
    assert pattern.penalty == "expected"
    assert pattern.pattern_rm.threshold == {"cot": 0.5, "rep": 0.5, "con": 0.7, "pr": 0.5}


class Judge:
    """Finds every answer right."""

    async def judge(self, question, reference, extracted):
        return Verdict(1, "judge", "judge_correct", extracted)


def rollout(reference, answer_type, mode, tail):
    import numpy as np
    import torch
    from verl import DataProto

    fields = {
        "extra_info": {"prompt_id": "p", "index": 4, "question": "Which?", "answer_type": answer_type, "options": None},
        "reward_model": {"ground_truth": reference},
        "global_steps": 2,
        "session_id": 1,
        "response_len": 3,
        "mode": mode,
        "prompt_tail": tail,
        "truncated": False,
        "validate": False,
        "pattern_mix": Mix({"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1),
    }
    columns = {key: np.array([value], dtype=object) for key, value in fields.items()}
    return DataProto.from_dict(tensors={"responses": torch.zeros(1, 5, dtype=torch.long)}, non_tensors=columns)


async def _nothing_to_wait_for():
    """The addresses of the judges are known."""


@pytest.fixture
def manager():
    from reward_workers.reward_manager import PatternRewardManager

    verifier = Verifier(symbolic_timeout_s=60.0)
    made = object.__new__(PatternRewardManager)
    made._family = "qwen3_vl"
    made._scorer = RolloutScorer(
        (VerifierTerm(verifier, Judge()), PatternTerm(None, Gate(probability=0.0), source=None))
    )
    made._directory = SimpleNamespace(known=_nothing_to_wait_for)
    yield made
    verifier.close()


def record_of(manager, text, reference, answer_type=None, mode="nt", tail="none"):
    manager.tokenizer = SimpleNamespace(decode=lambda tokens, skip_special_tokens: text)
    result = asyncio.run(manager.run_single(rollout(reference, answer_type, mode, tail)))
    assert set(result["reward_extra_info"]) == {"acc", "unscored", "record"}
    return ScoredRollout.from_json(result["reward_extra_info"]["record"])


def test_symbolic_answers_are_decided_in_the_pool(manager):
    record = record_of(manager, r"So \boxed{(x-1)(x+4)n!}", "(x^2+3x-4)n!", "expression")
    assert (record.reward, record.verdict.stage) == (1.0, "symbolic")
    assert record.verifier == record.verdict
    assert record.losses == SymbolicLosses(killed=0, died=0) and record.anls is None


def test_the_judge_does_not_hide_what_the_verifier_said(manager):
    record = record_of(manager, r"So \boxed{Anual Report}", "Annual Report", "doc_text")
    assert (record.verdict.stage, record.verdict.reason) == ("judge", "judge_correct")
    assert (record.verifier.stage, record.verifier.reason) == ("typed", "other_text")
    assert record.anls == pytest.approx(12 / 13)


@pytest.mark.parametrize(
    ("mode", "tail", "visible"),
    [("nt", "closed", r"so 3 </think> \boxed{3}"), ("t", "open", r"\boxed{3}")],
)
def test_the_mode_of_the_rollout_decides_what_is_visible(manager, mode, tail, visible):
    record = record_of(manager, r"so 3 </think> \boxed{3}", "3", mode=mode, tail=tail)
    assert (record.mode, record.visible, record.verdict.value) == (mode, visible, 1)
