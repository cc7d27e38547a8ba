"""The sampled table of rollouts: content, images, and that a seed always shows the same rollouts."""

from __future__ import annotations

import json

import datasets
import pytest
from factories import labelled, scored

from foundation.runs.records import Verdict
from foundation.runs.scored_rollout import ScoredRollout
from trainer.grpo.rollout_table import RolloutTable

pytestmark = pytest.mark.integration  # the rows come as verl's data set holds them


@pytest.fixture(scope="module")
def prompts() -> datasets.Dataset:
    """Rows out of the order of their indices: with an image, without one, and with one that is only named."""
    rows = [
        {"extra_info": {"index": 7}, "images": [{"bytes": b"seven", "path": None}, {"bytes": b"second", "path": None}]},
        {"extra_info": {"index": 3}, "images": []},
        {"extra_info": {"index": 5}, "images": [{"bytes": None, "path": "five.png"}]},
    ]
    return datasets.Dataset.from_list(rows)


def record(group: int, rollout: int) -> ScoredRollout:
    return scored(
        step=2,
        group=group,
        rollout=rollout,
        question=f"question {group}",
        reference="4",
        visible=f"\\boxed{{{rollout}}}",
        verdict=Verdict(1, "exact", "equal"),
        labels=labelled("cot"),
        reward=0.95,
    )


def test_a_row_shows_the_rollout_and_the_first_image_of_its_prompt(prompts: datasets.Dataset) -> None:
    table = RolloutTable(prompts, image_key="images", rows=9, seed=0)
    rows = {row["prompt"]: row for row in table.sample([record(7, 0), record(3, 1), record(5, 2)], step=2)}
    assert [rows[f"question {group}"]["image"] for group in (7, 3, 5)] == [b"seven", None, None]
    labels = json.loads(rows["question 7"].pop("labels"))
    assert labels["decided"] == {"cot": True, "rep": False, "con": False, "pr": False}
    assert rows["question 7"] == {
        "step": 2,
        "image": b"seven",
        "prompt": "question 7",
        "reference": "4",
        "visible": "\\boxed{0}",
        "verdict": "1 (exact: equal)",
        "z": 1,
        "reward": 0.95,
    }


def test_the_same_seed_and_step_show_the_same_rollouts(prompts: datasets.Dataset) -> None:
    records = [record(7, rollout) for rollout in range(64)]

    def shown(seed: int, step: int) -> list[str]:
        return [
            row["visible"] for row in RolloutTable(prompts, image_key="images", rows=8, seed=seed).sample(records, step)
        ]

    assert len(shown(0, 1)) == 8 and shown(0, 1) == shown(0, 1)
    assert shown(0, 1) != shown(0, 2) and shown(0, 1) != shown(1, 1)


def test_a_prompt_that_is_not_among_the_training_prompts_is_an_error(prompts: datasets.Dataset) -> None:
    with pytest.raises(KeyError):
        RolloutTable(prompts, image_key="images", rows=1, seed=0).sample([record(8, 0)], step=1)
