"""The adapter between verl's reward loop and the scorer (plugged in by `reward.reward_manager` with source importlib).

One instance lives in each reward worker actor and scores each rollout as soon as it is generated.
"""

from __future__ import annotations

import json
from typing import Any, cast

from omegaconf import DictConfig, OmegaConf
from verl import DataProto
from verl.experimental.reward_loop.reward_manager.base import RewardManagerBase

from reward_workers.gate import Gate
from reward_workers.judges.answer_judge import AnswerJudge
from reward_workers.judges.pattern_rm import PatternRM
from reward_workers.judges.settings import JudgeSettings
from reward_workers.mix import Mix
from reward_workers.records import RewardRecord
from reward_workers.scoring import Rollout, RolloutScorer
from reward_workers.verifier import Verifier
from rollout_workers.channels import split_channels


class PatternRewardManager(RewardManagerBase):
    """Returns `reward_score` and, as `reward_extra_info`, the same keys for every rollout (verl takes them from one).

    acc: 1.0 for a right answer, else 0.0; unscored: 1.0 when there is no reward (reward_score is then 0.0 and the
    trainer zeroes the group's advantages); record: the whole record as JSON.
    """

    def __init__(self, config: DictConfig, tokenizer: Any, compute_score: Any, **_verl_reward_model: Any):
        super().__init__(config, tokenizer, compute_score)
        self._policy = config.policy
        self._scorer = build_scorer(cast(dict[str, Any], OmegaConf.to_container(config, resolve=True)))

    async def run_single(self, data: DataProto) -> dict[str, Any]:
        """Score the last sequence of `data` (length 1 with single-turn agent loops)."""
        item = data[-1:][0]
        fields = item.non_tensor_batch
        info = fields["extra_info"]
        n_tokens = int(fields["response_len"])
        channels = split_channels(
            self.tokenizer.decode(item.batch["responses"][:n_tokens], skip_special_tokens=False),
            mode=self._policy.mode,
            prompt_tail=fields["prompt_tail"],
            finish_reason="length" if fields["truncated"] else "stop",
            family=self._policy.family,
        )
        rollout = Rollout(
            prompt_id=str(info["prompt_id"]),
            prompt_index=int(info["index"]),
            step=int(fields["global_steps"]),
            rollout=int(fields["session_id"]),
            question=str(info["question"]),
            reference=str(fields["reward_model"]["ground_truth"]),
            visible=channels.visible,
            answer_type=info.get("answer_type"),
            options=_as_list(info.get("options")),
            n_tokens=n_tokens,
            truncated=bool(fields["truncated"]),
            validate=bool(fields["validate"]),
        )
        record = await self._scorer.score(rollout)
        return {
            "reward_score": record.reward or 0.0,
            "reward_extra_info": {
                "acc": float(record.verdict.value == 1),
                "unscored": float(record.reward is None),
                "record": json.dumps(_with_texts(record, rollout, channels.flags), ensure_ascii=False),
            },
        }


def build_scorer(config: dict[str, Any]) -> RolloutScorer:
    """The scorer of a resolved configuration; the judges' base URLs are filled in when their servers are known."""
    mix, judges = config["reward_mix"], config["judges"]
    pattern_rm = None
    if mix["pattern_penalty"]:
        pattern_rm = PatternRM(JudgeSettings.from_config(judges["pattern_rm"], "pattern_rm"), mix["threshold"])
    return RolloutScorer(
        verifier=Verifier(**mix["verifier"]),
        answer_judge=AnswerJudge(JudgeSettings.from_config(judges["fallback"], "fallback")),
        pattern_rm=pattern_rm,
        gate=Gate(**mix["gate"]),
        mix=Mix(weights=mix["weights"], cap=mix["cap"]),
        score_incorrect=mix["score_incorrect"],
        on_unscored=mix["on_unscored"],
        max_wait_s=mix["max_wait_s"],
    )


def _with_texts(record: RewardRecord, rollout: Rollout, flags: Any) -> dict[str, Any]:
    return {
        **record.as_dict(),
        "question": rollout.question,
        "reference": rollout.reference,
        "visible": rollout.visible,
        "flags": list(flags),
    }


def _as_list(options: Any) -> list[str] | None:
    """Options as a list: parquet gives them as a numpy array or None."""
    return None if options is None else [str(option) for option in options]
