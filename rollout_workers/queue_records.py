"""One rollout as a row of TransferQueue, and all rollouts of a prompt in one write.

The rows are stock verl's (verl 0.9.1, trainer/ppo/v1/agent_loop_tq.py:184-227): same keys, equal tensors, with one
difference: `raw_prompt` carries no pixels. They are written once per prompt instead of once per rollout: the replay
buffer takes whole groups only, and a write costs three round trips whatever it carries.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import torch
from verl.experimental.agent_loop import AgentLoopOutput

from rollout_workers.prompt_inputs import PromptInputs


@dataclass(frozen=True, slots=True)
class QueueRecord:
    """Key, fields and tag of one rollout in TransferQueue; the key is ``{uid}_{rollout}_0``."""

    key: str
    fields: dict[str, Any]
    tag: dict[str, Any]


def queue_record(output: AgentLoopOutput, inputs: PromptInputs, sample: Mapping[str, Any]) -> QueueRecord:
    """The row of one rollout.

    Args:
        output: prompt and response tokens, log probabilities, reward and metrics of the rollout.
        inputs: what the rollout shares with its group.
        sample: the data set row with uid, session_id (rollout index in the group) and global_steps.
    """
    fields = output.as_dict()
    fields.update(sample)
    fields.pop("multi_modal_data", None)
    prompts, responses = fields["prompts"], fields["responses"]
    fields["loss_mask"] = fields["response_mask"]
    fields["input_ids"] = torch.cat([prompts, responses])
    fields["position_ids"] = inputs.position_ids(responses.size(0))
    fields["multi_modal_inputs"] = dict(inputs.multi_modal_inputs)
    tag = {
        "status": "success",
        "prompt_len": prompts.size(0),
        "response_len": responses.size(0),
        "seq_len": prompts.size(0) + responses.size(0),
        "global_steps": sample["global_steps"],
        "min_global_steps": fields["extra_fields"].get("min_global_steps"),
        "max_global_steps": fields["extra_fields"].get("max_global_steps"),
    }
    return QueueRecord(f"{sample['uid']}_{sample['session_id']}_0", fields, tag)
