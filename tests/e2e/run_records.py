"""What must hold for the records of any run, whatever failed meanwhile."""

from __future__ import annotations

from collections import Counter

from foundation.runs.records import Unlabelled
from foundation.runs.scored_rollout import ScoredRollout

GROUP_SIZE, BATCH = 4, 4
"""Of the jobs in `quickstart_job.SMALL`."""


def check_records(records: list[ScoredRollout]) -> None:
    """Nothing lost, nothing twice, and no zero that means "failed"."""
    keys = Counter((r.attempt, r.step, r.group, r.rollout) for r in records)
    assert [key for key, n in keys.items() if n > 1] == []
    rollouts = Counter((r.attempt, r.step) for r in records)
    assert set(rollouts.values()) == {BATCH * GROUP_SIZE}
    for attempt in {r.attempt for r in records}:
        steps = {step for a, step in rollouts if a == attempt}
        assert steps == set(range(min(steps), max(steps) + 1))
    for record in records:
        verdict, labels = record.verdict, record.labels
        assert (record.reward is None) == (verdict.value is None), record
        if verdict.stage == "judge":
            said = {1: "judge_correct", 0: "judge_incorrect"}
            assert verdict.reason == said.get(verdict.value, verdict.reason), record
            assert (verdict.value is None) == (verdict.reason not in said.values()), record
        if isinstance(labels, Unlabelled):
            assert labels.reason and record.penalty == 0.0, record
