"""What one reward worker builds out of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import pytest
from omegaconf import OmegaConf

from trainer.compose import compose_config

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
    assert (made.source, made.penalty, made.cap) == (source, "hard", 0.1)
    assert set(judge_clients(made)) == judges


def test_thresholds_and_kind_of_penalty_reach_the_scorer(tmp_path: Path) -> None:
    from reward_workers.reward_manager import build_scorer

    made = build_scorer(config(tmp_path, "reward_mix.threshold.con=0.7", "reward_mix.penalty=expected"), 0)
    assert made.penalty == "expected"
    assert cast(Any, made.pattern_rm).threshold == {"cot": 0.5, "rep": 0.5, "con": 0.7, "pr": 0.5}
