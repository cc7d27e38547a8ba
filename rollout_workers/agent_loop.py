"""verl agent loop for single-turn rollouts of image prompts: each image becomes model inputs once per prompt.

Plugged in by `actor_rollout_ref.rollout.agent.agent_loop_manager_class`. The steps of a prompt:

    build PromptInputs once -> n rollouts side by side: generate, then score at once -> one write of the whole group

It differs from stock verl (0.9.1, trainer/ppo/v1/agent_loop_tq.py) in cost, not in content: one run of the processor a
prompt instead of 3n, images sent through Ray's object store once, no image in the reward call, no loop object built per
rollout, one queue write per group. All rollouts of a group go to one rollout server, whose prefix and processor caches
then hold the image, and to one reward worker, which meets identical responses. Other agent loops (rows with another
`agent_name`) run as in stock verl.
"""

from __future__ import annotations

import asyncio
import logging
import zlib
from collections.abc import Callable, Collection
from functools import cached_property
from typing import Any

import ray
import torch
import transfer_queue as tq
import verl
from omegaconf import OmegaConf
from tensordict import TensorDict
from verl.experimental.agent_loop import AgentLoopOutput, AgentLoopWorker
from verl.experimental.agent_loop.agent_loop import DictConfigWrap
from verl.experimental.agent_loop.single_turn_agent_loop import SingleTurnAgentLoop
from verl.trainer.ppo.v1.agent_loop_tq import (
    AgentLoopManagerTQ,
    AgentLoopWorkerTQ,
    _settle_session_tasks,
    apply_greedy_sampling_params,
)
from verl.utils.profiler import simple_timer
from verl.utils.rollout_trace import rollout_trace_attr
from verl.utils.tensordict_utils import assign_non_tensor_data, get_non_tensor_data, list_of_dict_to_tensordict
from verl.utils.tokenizer import get_processor_token_id

from foundation.responses.families import Mode
from foundation.responses.modes import chat_template_kwargs, check_prompt_tail, prompt_tail
from reward_workers.mix import PATTERN_MIX, Mix
from rollout_workers.prompt_inputs import PromptInputs, actor_inputs, without_pixels
from rollout_workers.queue_records import QueueRecord, queue_record
from rollout_workers.reward_call import MODE, SAMPLING_SEED, is_truncated, reward_batch
from rollout_workers.upstream import require_verl

require_verl(verl.__version__, "rollout_workers.agent_loop")

logger = logging.getLogger(__name__)

AGENT_NAME = "pattern_single_turn"
TAIL_TOKENS = 32
"""Tokens at the end of a prompt that show its tail; the turn header and a think block fit."""

# Ray wraps the class in an actor; a subclass needs the class inside.
_StockWorker: Any = AgentLoopWorkerTQ.__ray_metadata__.modified_class.__ray_actor_class__


class PatternAgentLoopWorker(_StockWorker):
    """Runs the prompts of its share of a batch; a Ray actor in a run, a plain object in tests."""

    def __init__(self, *args: Any, **kwargs: Any):
        # As agent_loop_tq.py:54 does. Its `super().__init__` fails here: the class is hidden behind its Ray actor, so
        # Ray ships it by value, and its zero-argument `super` then means another copy of the class.
        AgentLoopWorker.__init__(self, *args, **kwargs)
        tq.init()
        self.background_tasks: set[asyncio.Task[Any]] = set()
        self._chats: dict[Mode | None, SingleTurnAgentLoop] = {}

    def _chat(self, mode: Mode | None = None) -> SingleTurnAgentLoop:
        """verl's loop, for its rendering of messages; one for all rollouts, built inside of the running event loop.

        Args:
            mode: renders prompts in this mode; None as `data.apply_chat_template_kwargs` says.
        """
        if mode not in self._chats:
            data = self.config.data
            if mode is not None:
                data = OmegaConf.merge(data)  # a copy
                switch = chat_template_kwargs(self.config.policy.family, mode)
                OmegaConf.update(data, "apply_chat_template_kwargs", switch, merge=True, force_add=True)
            self._chats[mode] = SingleTurnAgentLoop(
                trainer_config=DictConfigWrap(self.config),
                server_manager=self.llm_client,
                tokenizer=self.tokenizer,
                processor=self.processor,
                dataset_cls=self.dataset_cls,
                data_config=DictConfigWrap(data),
                hf_model_type=self.hf_model_type,
            )
        return self._chats[mode]

    @cached_property
    def _vision_ids(self) -> frozenset[int]:
        """Placeholder tokens of images and videos."""
        ids = (get_processor_token_id(self.processor, kind) for kind in ("image", "video"))
        return frozenset(token_id for token_id in ids if token_id is not None)

    @cached_property
    def _stop_ids(self) -> frozenset[int]:
        """Tokens that end a generation: the tokenizer's and those of the model's generation settings."""
        settings = getattr(self.model_config.generation_config, "eos_token_id", None)
        more = settings if isinstance(settings, list) else [settings]
        return frozenset(token_id for token_id in (self.tokenizer.eos_token_id, *more) if token_id is not None)

    async def _run_prompt(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], trajectory: dict[str, Any], trace: bool = False
    ) -> None:
        """All rollouts of one prompt, from its row in the data set to its rows in TransferQueue.

        A rollout that fails (in generation, scoring or for its tokens) fails the group: the replay buffer drops it.
        """
        if prompt["agent_name"] != AGENT_NAME:
            await super()._run_prompt(prompt, sampling_params, trajectory, trace)
            return
        uid, validate = prompt["uid"], trajectory["validate"]
        partition_id = "val" if validate else "train"
        await tq.async_kv_put(key=uid, partition_id=partition_id, tag={"status": "running"})
        try:
            with rollout_trace_attr(
                step=trajectory["step"],
                sample_index=trajectory["sample_index"],
                rollout_n=trajectory["rollout_n"],
                validate=validate,
                name="agent_loop",
                trace=trace,
            ):
                records, errors = await self._run_group(prompt, sampling_params, validate)
            for error in errors:
                logger.error("rollout of prompt uid=%s index=%s failed", uid, prompt.get("index"), exc_info=error)
            if not errors:
                await tq.async_kv_batch_put(
                    keys=[record.key for record in records],
                    fields=list_of_dict_to_tensordict([record.fields for record in records]),
                    tags=[record.tag for record in records],
                    partition_id=partition_id,
                )
            status = "failure" if errors else "finished"
        # The prompt must reach a terminal status whatever happens: the trainer waits for it.
        except Exception:
            logger.exception("prompt uid=%s index=%s failed", uid, prompt.get("index"))
            status = "failure"
        await tq.async_kv_put(key=uid, partition_id=partition_id, tag={"status": status})

    async def _run_group(
        self, prompt: dict[str, Any], sampling_params: dict[str, Any], validate: bool
    ) -> tuple[list[QueueRecord], list[BaseException]]:
        """The rollouts of a prompt, and the errors of those that failed."""
        sample = {k: v for k, v in prompt.items() if k not in ("agent_name", "__rollout_n__", "__do_sample__")}
        rollout = self.config.actor_rollout_ref.rollout
        n = int(prompt.get("__rollout_n__", rollout.val_kwargs.n if validate else rollout.n))
        params = dict(sampling_params)
        if not validate and not prompt.get("__do_sample__", True):
            apply_greedy_sampling_params(params)
        if self._vision_ids and rollout.name == "vllm":
            # A sampled placeholder would count as an image that is not there; the actor's forward pass then fails.
            params["logit_bias"] = dict.fromkeys(self._vision_ids, -100.0)
        if SAMPLING_SEED in sample:
            params["seed"] = int(sample[SAMPLING_SEED])
        inputs = await self._build_inputs(list(sample["raw_prompt"]), sample.get(MODE))
        sample["raw_prompt"] = without_pixels(sample["raw_prompt"])
        tasks = [
            asyncio.create_task(self._run_rollout(inputs, params, {**sample, "session_id": i}, validate))
            for i in range(n)
        ]
        errors = await _settle_session_tasks(tasks)
        return ([] if errors else [task.result() for task in tasks]), errors

    async def _build_inputs(self, messages: list[dict[str, Any]], mode: Mode | None) -> PromptInputs:
        """Render a prompt, once.

        Args:
            mode: of the row; None for `policy.mode`.

        Raises:
            ValueError: the prompt is longer than `rollout.prompt_length`, or does not put the model into its mode.
        """
        chat = self._chat(mode)
        media = await chat.process_multi_modal_info(messages)
        chat._assert_mm_supported(bool(media))
        processor_output: dict[str, Any] = {}
        token_ids = await chat.ct_build_initial_tokens(
            messages,
            images=media.get("images"),
            videos=media.get("videos"),
            audios=media.get("audios"),
            mm_inputs_out=processor_output,
        )
        policy = self.config.policy
        tail = prompt_tail(self.tokenizer.decode(token_ids[-TAIL_TOKENS:], skip_special_tokens=False), policy.family)
        check_prompt_tail(tail, mode or policy.mode, policy.family)
        model_inputs = actor_inputs(processor_output)
        images = media.get("images")
        return PromptInputs(
            token_ids=token_ids,
            tail=tail,
            multi_modal_data=media,
            image_argument=ray.put(images) if images is not None and ray.is_initialized() else images,
            mm_processor_kwargs=chat._get_mm_processor_kwargs(media.get("audios")),
            # verl drops mm_token_type_ids from its argument while it computes positions, as in stock records.
            positions=self._positions(token_ids, model_inputs),
            multi_modal_inputs=model_inputs,
        )

    def _positions(self, token_ids: list[int], model_inputs: dict[str, Any]) -> torch.Tensor:
        """verl's positions of the prompt and of one text token behind it, from which any response goes on."""
        ids = torch.tensor([[*token_ids, self.tokenizer.eos_token_id]], dtype=torch.int64)
        return self._compute_position_ids(ids, torch.ones_like(ids), model_inputs).squeeze(0)

    async def _run_rollout(
        self, inputs: PromptInputs, sampling_params: dict[str, Any], sample: dict[str, Any], validate: bool
    ) -> QueueRecord:
        """Generate one response and score it at once.

        Raises:
            RuntimeError: the rollout server aborted the request.
            ValueError: the response contains a vision placeholder.
        """
        output = await self._generate(inputs, sampling_params, sample, validate)
        if not output.response_ids:
            raise RuntimeError(f"the rollout server returned no token for prompt index {sample.get('index')!r}")
        stray = self._vision_ids.intersection(output.response_ids)
        if stray:
            raise ValueError(
                f"the response to prompt index {sample.get('index')!r} contains vision placeholders {sorted(stray)}: "
                f"they would count as images that are not there"
            )
        await self._score(output, inputs, sample, validate)
        await self._compute_teacher_logprobs(
            output,
            prompt_ids=output.prompt_ids,
            response_ids=output.response_ids,
            validate=validate,
            sample_kwargs=sample,
        )
        return queue_record(output, inputs, sample)

    async def _generate(
        self, inputs: PromptInputs, sampling_params: dict[str, Any], sample: dict[str, Any], validate: bool
    ) -> AgentLoopOutput:
        """One response of the rollout server, as stock verl's single-turn loop returns it."""
        metrics: dict[str, Any] = {}
        videos = inputs.multi_modal_data.get("videos")
        payload = self._chat().build_sglang_video_payload(videos, inputs.multi_modal_inputs)
        with simple_timer("generate_sequences", metrics):
            answer = await self.llm_client.generate(
                request_id=self._request_id(sample, validate),
                prompt_ids=inputs.token_ids,
                sampling_params=dict(sampling_params),
                image_data=inputs.image_argument,
                audio_data=inputs.multi_modal_data.get("audios"),
                video_data=videos,
                mm_processor_output=payload,
                mm_processor_kwargs=inputs.mm_processor_kwargs,
                priority=int(sample.get("priority", 0)),
            )
        metrics["num_preempted"] = answer.num_preempted if answer.num_preempted is not None else -1
        limit = self.rollout_config.response_length
        routed = answer.routed_experts
        return AgentLoopOutput(
            prompt_ids=inputs.token_ids,
            response_ids=list(answer.token_ids)[:limit],
            response_mask=[1] * min(len(answer.token_ids), limit),
            response_logprobs=list(answer.log_probs)[:limit] if answer.log_probs else None,
            routed_experts=routed[: len(inputs.token_ids) + limit] if routed is not None else None,
            multi_modal_data=inputs.multi_modal_data,
            mm_processor_kwargs=inputs.mm_processor_kwargs,
            mm_processor_output=payload,
            num_turns=2,
            metrics=metrics,
            extra_fields={**answer.extra_fields, "turn_scores": [], "tool_rewards": []},
        )

    def _request_id(self, sample: dict[str, Any], validate: bool) -> str:
        """Id for routing to a rollout server: one per group, so that its image is preprocessed and encoded once.

        With `full_determinism` verl hands the id on to vLLM, where it must be unique, and the same in every run.
        """
        if self.rollout_config.full_determinism:
            split = sample.get(MODE) or ("val" if validate else "train")
            return f"{split}-{sample['global_steps']}-{sample['index']}-{sample['session_id']}"
        return str(sample["uid"])

    async def _score(
        self, output: AgentLoopOutput, inputs: PromptInputs, sample: dict[str, Any], validate: bool
    ) -> None:
        """Ask a reward worker; sets reward_score, reward_extra_info and the time that it took."""
        handles = self.reward_loop_worker_handles
        if handles is None:
            return
        timing: dict[str, float] = {}
        with simple_timer("compute_score", timing):
            batch = reward_batch(
                output.prompt_ids,
                output.response_ids,
                sample,
                mode=sample.get(MODE) or self.config.policy.mode,
                prompt_tail=inputs.tail,
                validate=validate,
                truncated=is_truncated(output.response_ids, self._stop_ids),
            )
            result = await handles[_worker_of(sample["index"], handles)].compute_score.remote(batch)
        output.reward_score = result["reward_score"]
        output.extra_fields["reward_extra_info"] = result["reward_extra_info"]
        output.metrics.compute_score = timing["compute_score"]


class PatternAgentLoopManager(AgentLoopManagerTQ):
    """verl's manager with `PatternAgentLoopWorker` actors.

    Attributes:
        mix_of: from (global step, validate) to weights and cap of the pattern penalty; the trainer sets it before it
            submits prompts. Every batch passes here (training, refills, what a resume issues again, validation), so
            its rollouts carry those of the step in which they were started.
    """

    def __init__(self, *args: Any, **kwargs: Any):
        super().__init__(*args, **kwargs)
        self.agent_loop_workers_class = ray.remote(PatternAgentLoopWorker)
        self.mix_of: Callable[[int, bool], Mix] | None = None

    def generate_sequences(self, prompts: TensorDict) -> None:
        """Hand a batch of prompts to the workers, without waiting for the rollouts."""
        if self.mix_of is None:
            raise RuntimeError("PatternAgentLoopManager.mix_of is not set: the trainer's fit sets it")
        step = int(get_non_tensor_data(prompts, "global_steps", None))
        validate = bool(get_non_tensor_data(prompts, "validate", False))
        assign_non_tensor_data(prompts, PATTERN_MIX, self.mix_of(step, validate))
        super().generate_sequences(prompts)


def _worker_of(index: Any, workers: Collection[Any]) -> int:
    """The reward worker of a prompt: the same for all of its rollouts, in every run and every step."""
    return zlib.crc32(str(index).encode()) % len(workers)
