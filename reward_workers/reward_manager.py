"""The adapter between verl's reward loop and the scorer (plugged in by `reward.reward_manager` with source importlib).

One instance lives in each reward worker actor and scores each rollout as soon as it is generated.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, cast

import ray
from omegaconf import DictConfig, OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from foundation.responses.channels import split_channels
from foundation.runs.scored_rollout import ScoredRollout
from foundation.settings.sections import RewardMix
from reward_workers.judges.endpoint.cache import JudgeCache
from reward_workers.judges.endpoint.calls import collect_calls
from reward_workers.judges.endpoint.client import JudgeClient
from reward_workers.judges.judge import Judge
from reward_workers.judges.registry import judges_of_reward
from reward_workers.judges.serving.directory import Addresses
from reward_workers.judges.serving.directory_link import DirectoryLink
from reward_workers.judges.serving.health import WorkerHealth
from reward_workers.mix import PATTERN_MIX
from reward_workers.scoring import RolloutScorer
from reward_workers.terms.build import build_terms
from reward_workers.terms.term import Rollout
from reward_workers.worker_index import worker_index


class PatternRewardManager(RewardManagerBase):
    """Returns `reward_score` and, as `reward_extra_info`, the same keys for every rollout (verl takes them from one).

    acc: 1.0 for a right answer, else 0.0; unscored: 1.0 when there is no reward (reward_score is then 0.0 and the
    trainer zeroes the group's advantages); record: the `ScoredRollout` as JSON.
    """

    def __init__(self, config: DictConfig, tokenizer: Any, compute_score: Any, **_verl_reward_model: Any):
        super().__init__(config, tokenizer, compute_score)
        self._family = config.policy.family
        self._scorer = build_scorer(
            cast(dict[str, Any], OmegaConf.to_container(config, resolve=True)),
            worker=worker_index(ray.get_runtime_context().get_actor_name()),
        )
        self._directory = DirectoryLink(
            config.run.dir, self._use_addresses, self._scorer.outages, lambda: worker_health(self._scorer)
        )

    def _use_addresses(self, addresses: Addresses) -> None:
        for judge, client in judge_clients(self._scorer).items():
            client.set_base_urls(addresses[judge])

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Score the last sequence of `data` (length 1 with single-turn agent loops).

        Here verl's names end: its `index`, `session_id` and `ground_truth` are our group, rollout and reference.
        """
        await self._directory.known()
        item = data[-1:][0]
        fields = item.non_tensor_batch
        info = fields["extra_info"]
        n_tokens = int(fields["response_len"])
        channels = split_channels(
            self.tokenizer.decode(item.batch["responses"][:n_tokens], skip_special_tokens=False),
            mode=fields["mode"],
            prompt_tail=fields["prompt_tail"],
            finish_reason="length" if fields["truncated"] else "stop",
            family=self._family,
        )
        rollout = Rollout(
            prompt_id=str(info["prompt_id"]),
            group=int(info["index"]),
            step=int(fields["global_steps"]),
            rollout=int(fields["session_id"]),
            question=str(info["question"]),
            reference=str(fields["reward_model"]["ground_truth"]),
            visible=channels.visible,
            mix=fields[PATTERN_MIX],
            answer_type=info.get("answer_type"),
            options=_as_list(info.get("options")),
            n_tokens=n_tokens,
            truncated=bool(fields["truncated"]),
            validate=bool(fields["validate"]),
        )
        with collect_calls() as calls:
            record = await self._scorer.score(rollout)
        scored = ScoredRollout.of(
            record,
            mode=fields["mode"],
            question=rollout.question,
            reference=rollout.reference,
            visible=rollout.visible,
            flags=tuple(sorted(channels.flags)),
            judge_calls=tuple(calls),
        )
        return {
            "reward_score": record.reward or 0.0,
            "reward_extra_info": {
                "acc": float(record.verdict.value == 1),
                "unscored": float(record.reward is None),
                "record": scored.to_json(),
            },
        }


def build_scorer(config: dict[str, Any], worker: int) -> RolloutScorer:
    """The scorer of a resolved configuration in one of its reward workers.

    The judges' base URLs are filled in when their servers are known; of the calls that a judge may get at once, this
    worker (0..reward.num_workers-1) takes its share.
    """
    reward = RewardMix.model_validate(config["reward_mix"])
    judges = judges_of_reward(
        config["judges"],
        reward,
        open_cache(config["judge_cache"]),
        worker=worker,
        workers=config["reward"]["num_workers"],
    )
    return RolloutScorer(build_terms(reward, judges), max_wait_s=reward.max_wait_s)


def open_cache(section: dict[str, Any]) -> JudgeCache | None:
    """The cache of the section `judge_cache`, shared by the judges; None when it is switched off."""
    return JudgeCache(Path(section["folder"]), section["size_limit_gb"]) if section["enabled"] else None


def judge_clients(scorer: RolloutScorer) -> dict[str, JudgeClient]:
    """The clients of the judges that a scorer of :func:`build_scorer` asks, by the judge's key."""
    return {name: judge.client for name, judge in _judges(scorer).items()}


def worker_health(scorer: RolloutScorer) -> WorkerHealth:
    """The state of the judges and the cache of a scorer of :func:`build_scorer`."""
    judges = _judges(scorer)
    caches = [judge.cache.health() for judge in judges.values() if judge.cache is not None]  # one, which all share
    return WorkerHealth({name: judge.health() for name, judge in judges.items()}, caches[0] if caches else None)


def _judges(scorer: RolloutScorer) -> dict[str, Judge[Any]]:
    judges = {name: judge for term in scorer.terms for name, judge in term.judges.items()}
    return {name: judge for name, judge in judges.items() if isinstance(judge, Judge)}


def _as_list(options: Any) -> list[str] | None:
    """Options as a list: parquet gives them as a numpy array or None."""
    return None if options is None else [str(option) for option in options]
