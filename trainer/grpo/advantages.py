"""What verl's advantage estimators need beside verl's own trainer: groups without a reward, and GDPO's components.

A rollout that could not be scored comes with a reward of 0. Its group's advantages become zero afterwards; an estimator
that looks at the whole batch (GPG counts rewards, GDPO and REINFORCE++ whiten) must not see that 0 either, so such
groups are computed apart from the others (`parts`).

GDPO (verl 0.9.1, trainer/ppo/core_algos.py:362) compares each component of a reward by itself. The V1 trainer hands it
neither the components nor the two fields from which it learns where a response ends (v1/trainer_base.py:1745), and
offers no place for them: `reward_components` adds them to the call of v1/trainer_base.py:1775.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence, Set
from contextlib import contextmanager
from typing import Any

import numpy as np
import verl
from verl.trainer.ppo.v1 import trainer_base

from foundation.settings.estimators import COMPONENTS
from rollout_workers.upstream import require_verl

require_verl(verl.__version__, "trainer.grpo.advantages")


def parts(keys: Sequence[str], scored: Set[str]) -> list[list[str]]:
    """The keys of a batch in the parts that are computed by themselves; what teaches something comes last.

    Args:
        scored: keys of the groups all of whose rollouts have a reward; the others are the rest, padding included.

    >>> parts(["a", "b", "c"], {"a", "c"}), parts(["a", "b"], set())
    ([['b'], ['a', 'c']], [['a', 'b']])
    """
    split = [[key for key in keys if key not in scored], [key for key in keys if key in scored]]
    return [part for part in split if part]


def components_of(reward: float | None, correct: bool) -> dict[str, float]:
    """s_ver and s_pat of a rollout, by the names of `COMPONENTS`; their sum is its reward. Zeros where it has none.

    >>> components_of(0.75, correct=True), components_of(0.0, correct=False)
    ({'verifier': 1.0, 'pattern': -0.25}, {'verifier': 0.0, 'pattern': 0.0})
    """
    if reward is None:
        return dict.fromkeys(COMPONENTS, 0.0)
    return {"verifier": float(correct), "pattern": reward - float(correct)}


@contextmanager
def reward_components(components: Mapping[str, Mapping[str, float]]) -> Iterator[None]:
    """While active, verl's V1 trainer hands GDPO the components of each rollout.

    Args:
        components: by TransferQueue key; a row of padding has none and counts nowhere.
    """
    stock = trainer_base.compute_advantage_for_multi_trajectories
    none = dict.fromkeys(COMPONENTS, 0.0)

    def with_components(data: Any, batch_keys: list[str], **settings: Any) -> Any:
        if settings["adv_estimator"] != "gdpo":
            return stock(data, batch_keys, **settings)
        rows = [components.get(key, none) for key in batch_keys]
        for name in COMPONENTS:
            data.non_tensor_batch[name] = np.array([row[name] for row in rows])
        # GDPO wants the last token of each response: with no prompt tokens, the mask of the response says where it is.
        mask = data.batch["response_mask"].long()
        data.batch["prompts"], data.batch["attention_mask"] = mask[:, :0], mask
        return stock(data, batch_keys, **settings)

    trainer_base.compute_advantage_for_multi_trajectories = with_components
    try:
        yield
    finally:
        trainer_base.compute_advantage_for_multi_trajectories = stock
