"""Scores one rollout: its terms in their order, then the reward. Knows no torch, ray or verl."""

from __future__ import annotations

import time
from dataclasses import dataclass, field

from foundation.runs.records import RewardRecord
from reward_workers.judges.outage import Outages
from reward_workers.mix import combine
from reward_workers.terms.term import Findings, RewardTerm, Rollout
from reward_workers.waiting import JudgeWait


@dataclass(frozen=True, slots=True)
class RolloutScorer:
    """Scores rollouts by the terms of a reward.

    Attributes:
        terms: in the order in which they are computed; the first is the verifier's, whose verdict the others read.
        max_wait_s: how long one rollout waits for judges that cannot be reached, all in all; its last question to each
            may take that judge's total_timeout_s beyond it.
        outages: what is seen of silent judges; the run tells it at the terminal.
    """

    terms: tuple[RewardTerm, ...]
    max_wait_s: float = 120.0
    outages: Outages = field(default_factory=Outages)

    async def score(self, rollout: Rollout) -> RewardRecord:
        """The record of one rollout; its reward is None where a term could not be scored."""
        wait = JudgeWait(time.monotonic() + self.max_wait_s, self.outages)
        found = Findings()
        for term in self.terms:
            found.terms[term.name] = await term.score(rollout, found, wait)
        assert found.verdict is not None and found.verifier is not None, "the verifier's term comes first"
        return RewardRecord(
            prompt_id=rollout.prompt_id,
            step=rollout.step,
            group=rollout.group,
            rollout=rollout.rollout,
            verdict=found.verdict,
            verifier=found.verifier,
            losses=found.losses,
            anls=found.anls,
            z=found.z,
            labels=found.labels,
            rule_labels=found.rule_labels,
            charged=found.charged,
            weights=rollout.mix.weights,
            cap=rollout.mix.cap,
            penalty=found.penalty,
            terms=found.terms,
            reward=combine(found.terms.values()),
            n_tokens=rollout.n_tokens,
            truncated=rollout.truncated,
        )
