"""The agent loop against stock verl in one process: same rows for the same tokens, less work."""

from __future__ import annotations

import pickle
from typing import Any

import pytest

from reward_workers.mix import Mix

pytestmark = [pytest.mark.integration, pytest.mark.timeout(240)]

IMAGES = {"one": [(64, 64)], "two of different sizes": [(64, 96), (128, 64)], "none": []}
N = 3
LENGTHS = (5, 9, 1)
EOS, TEXT_TOKEN = 2, 100
REWARD_FIELDS = {
    *("uid", "session_id", "global_steps", "index", "data_source", "reward_model", "extra_info"),
    *("prompt_len", "response_len", "mode", "prompt_tail", "validate", "truncated", "pattern_mix"),
}


def responses(i: int) -> list[int]:
    """Three rollouts of different lengths; the second one has no stop token."""
    tokens = [TEXT_TOKEN + k for k in range(LENGTHS[i])]
    return tokens if i == 1 else [*tokens[:-1], EOS]


@pytest.fixture(scope="module")
def config(in_process: Any, toy_policy: Any) -> Any:
    return in_process.compose(toy_policy, N, 256)


@pytest.fixture(scope="module", params=IMAGES)
def both(in_process: Any, config: Any, request: Any) -> dict[str, Any]:
    """The same prompt through both workers: kind -> (worker, queue, server, reward workers)."""
    done = {}
    for kind, agent in (("stock", "single_turn_agent"), ("pattern", "pattern_single_turn")):
        with in_process.worker(kind, config, responses) as parts:
            in_process.run_prompts(parts[0], [in_process.prompt_row("u", agent, "how many?", IMAGES[request.param])])
            done[kind] = parts
    return done


def test_rows_are_those_of_stock_verl(both: dict[str, Any]) -> None:
    stock, ours = both["stock"][1].rows, both["pattern"][1].rows
    assert sorted(stock) == sorted(ours) == ["u_0_0", "u_1_0", "u_2_0"]
    for key, expected in stock.items():
        row = ours[key]
        assert sorted(row) == sorted(expected)
        for name in set(expected) - {"raw_prompt", "metrics"}:
            assert_same(row[name], expected[name], f"{key}.{name}")
        assert sorted(row["metrics"]) == sorted(expected["metrics"])


def test_tags_are_those_of_stock_verl(both: dict[str, Any]) -> None:
    assert both["pattern"][1].tags == both["stock"][1].tags
    assert both["pattern"][1].tags["u"] == {"status": "finished", "partition_id": "train"}


def test_group_is_written_once(both: dict[str, Any]) -> None:
    assert (both["stock"][1].writes, both["pattern"][1].writes) == (N, 1)


def test_server_gets_the_tokens_and_images_of_stock_verl(both: dict[str, Any]) -> None:
    for stock, ours in zip(both["stock"][2].requests, both["pattern"][2].requests, strict=True):
        assert ours["prompt_ids"] == stock["prompt_ids"]
        assert [image.tobytes() for image in ours["image_data"] or []] == [
            image.tobytes() for image in stock["image_data"] or []
        ]
        assert ours["mm_processor_kwargs"] == stock["mm_processor_kwargs"]


def test_group_shares_a_server_and_bans_placeholders(both: dict[str, Any]) -> None:
    worker, _, server, _ = both["pattern"]
    assert {request["request_id"] for request in server.requests} == {"u"}
    banned = {worker.processor.image_token_id: -100.0, worker.processor.video_token_id: -100.0}
    assert all(request["sampling_params"]["logit_bias"] == banned for request in server.requests)


def test_reward_call_has_tokens_and_texts_but_no_image(both: dict[str, Any]) -> None:
    batches = [batch for rewards in both["pattern"][3] for batch in rewards.batches]
    assert len([rewards for rewards in both["pattern"][3] if rewards.batches]) == 1, "one reward worker per group"
    assert len(batches) == N
    for batch in batches:
        assert sorted(batch.batch.keys()) == ["attention_mask", "prompts", "responses"]
        fields = {key: column[0] for key, column in batch.non_tensor_batch.items()}
        assert set(fields) == REWARD_FIELDS
        assert batch.batch["responses"].tolist() == [responses(fields["session_id"])]
        assert fields["truncated"] is (fields["session_id"] == 1)
        assert (fields["mode"], fields["prompt_tail"], fields["validate"], fields["index"]) == (
            "nt",
            "closed",
            False,
            7,
        )
        assert fields["reward_model"]["ground_truth"] == "3"
        assert fields["pattern_mix"] == Mix({"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)
        assert batch.batch["attention_mask"].shape[1] == fields["prompt_len"] + fields["response_len"]


def test_prompt_of_the_row_has_no_pixels(both: dict[str, Any]) -> None:
    raw = both["pattern"][1].rows["u_0_0"]["raw_prompt"]
    assert len(pickle.dumps(raw)) < 500
    assert "how many?" in repr(raw)


def test_processor_runs_once_per_prompt(in_process: Any, config: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = {"stock": 0, "pattern": 0}
    for kind, agent in (("stock", "single_turn_agent"), ("pattern", "pattern_single_turn")):
        with in_process.worker(kind, config, responses) as (worker, _, _, _):
            processor = type(worker.processor.image_processor)
            preprocess = processor.preprocess

            def counted(*args: Any, _kind: str = kind, _run: Any = preprocess, **kwargs: Any) -> Any:
                runs[_kind] += 1
                return _run(*args, **kwargs)

            with monkeypatch.context() as patched:
                patched.setattr(processor, "preprocess", counted)
                in_process.run_prompts(worker, [in_process.prompt_row("u", agent, "q", [(64, 64)])])
    assert runs == {"stock": 3 * N, "pattern": 1}


@pytest.mark.parametrize("cause", ["placeholder", "empty", "reward"])
def test_one_bad_rollout_fails_its_group_and_no_other(
    in_process: Any, config: Any, cause: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    with in_process.worker("pattern", config, responses) as (worker, queue, server, rewards):
        image_id = worker.processor.image_token_id
        rows = [in_process.prompt_row(uid, "pattern_single_turn", f"q {uid}", [(64, 64)]) for uid in ("bad", "good")]
        generate = server.generate

        async def generate_one_bad(**request: Any) -> Any:
            answer = await generate(**request)
            if request["request_id"] == "bad" and len(answer.token_ids) == LENGTHS[1]:
                answer.token_ids = {"placeholder": [TEXT_TOKEN, image_id, EOS], "empty": []}.get(cause, [77, EOS])
                answer.log_probs = [0.0] * len(answer.token_ids)
            return answer

        async def score(_self: Any, batch: Any) -> dict[str, Any]:
            if batch.batch["responses"][0, 0].item() == 77:
                raise TimeoutError("the judge is gone")
            return {"reward_score": 1.0, "reward_extra_info": {}}

        monkeypatch.setattr(server, "generate", generate_one_bad)
        monkeypatch.setattr(type(rewards[0]), "remote", score)
        in_process.run_prompts(worker, rows)
    assert queue.tags["bad"]["status"] == "failure"
    assert queue.tags["good"]["status"] == "finished"
    assert sorted(queue.rows) == ["good_0_0", "good_1_0", "good_2_0"]


def test_mode_without_effect_fails_the_prompt(
    in_process: Any, toy_policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    config = in_process.compose(toy_policy, N, 256, mode="t")
    with in_process.worker("pattern", config, responses) as (worker, queue, server, _):
        in_process.run_prompts(worker, [in_process.prompt_row("u", "pattern_single_turn", "q", [])])
    assert queue.tags["u"]["status"] == "failure"
    assert not server.requests
    assert "policy.mode='t'" in caplog.text


def test_prompt_that_is_too_long_says_what_to_raise(
    in_process: Any, toy_policy: Any, caplog: pytest.LogCaptureFixture
) -> None:
    config = in_process.compose(toy_policy, N, 8)
    with in_process.worker("pattern", config, responses) as (worker, queue, _, _):
        in_process.run_prompts(worker, [in_process.prompt_row("u", "pattern_single_turn", "q", [(64, 64)])])
    assert queue.tags["u"]["status"] == "failure"
    assert "rollout.prompt_length" in caplog.text


def test_validation_uses_its_own_partition_and_n(in_process: Any, config: Any) -> None:
    with in_process.worker("pattern", config, responses) as (worker, queue, _, rewards):
        in_process.run_prompts(
            worker, [in_process.prompt_row("u", "pattern_single_turn", "q", [(64, 64)])], validate=True
        )
    assert list(queue.rows) == ["u_0_0"]
    assert queue.tags["u_0_0"]["partition_id"] == queue.tags["u"]["partition_id"] == "val"
    batch = next(batch for worker_ in rewards for batch in worker_.batches)
    assert batch.non_tensor_batch["validate"][0] is True


def test_rows_of_a_paired_evaluation_choose_their_mode_and_seed(in_process: Any, config: Any) -> None:
    rows = [
        {**in_process.prompt_row(mode, "pattern_single_turn", "q", [(64, 64)]), "thinking_mode": mode}
        | {"sampling_seed": 11, "__rollout_n__": 1}
        for mode in ("nt", "t")
    ]
    trained = in_process.prompt_row("training", "pattern_single_turn", "q", [(64, 64)])
    with in_process.worker("pattern", config, responses) as (worker, queue, server, rewards):
        in_process.run_prompts(worker, [*rows, {**trained, "__rollout_n__": 1}], validate=True)
    assert {uid: queue.tags[uid]["status"] for uid in ("nt", "t", "training")} == dict.fromkeys(
        ("nt", "t", "training"), "finished"
    )
    asked = {request["request_id"]: request for request in server.requests}
    endings = {uid: worker.tokenizer.decode(request["prompt_ids"])[-20:] for uid, request in asked.items()}
    assert endings["t"].endswith("assistant\n<think>\n")
    assert endings["nt"] == endings["training"] and endings["nt"].endswith("</think>\n\n")
    seeds = {uid: request["sampling_params"].get("seed") for uid, request in asked.items()}
    assert seeds == {"nt": 11, "t": 11, "training": None}
    fields = [batch.non_tensor_batch for worker_ in rewards for batch in worker_.batches]
    tails = {row["uid"][0]: (row["mode"][0], row["prompt_tail"][0]) for row in fields}
    assert tails == {"nt": ("nt", "closed"), "t": ("t", "open"), "training": ("nt", "closed")}


def test_other_agent_loops_run_as_in_stock_verl(in_process: Any, config: Any) -> None:
    with in_process.worker("pattern", config, responses) as (worker, queue, _, rewards):
        in_process.run_prompts(worker, [in_process.prompt_row("u", "single_turn_agent", "q", [(64, 64)])])
    assert queue.writes == N
    assert "raw_prompt" in next(batch for worker_ in rewards for batch in worker_.batches).non_tensor_batch


def assert_same(got: Any, expected: Any, where: str) -> None:
    """Equal values; tensors equal in type, shape and content."""
    import torch

    assert type(got) is type(expected), where
    if isinstance(expected, torch.Tensor):
        assert got.dtype == expected.dtype and got.shape == expected.shape, where
        assert torch.equal(got, expected), where
    elif isinstance(expected, dict):
        assert sorted(got) == sorted(expected), where
        for key in expected:
            assert_same(got[key], expected[key], f"{where}.{key}")
    else:
        assert got == expected, where


def test_every_batch_carries_the_weights_of_its_step_to_every_worker(monkeypatch: pytest.MonkeyPatch) -> None:
    import numpy as np
    import ray
    from verl.utils import tensordict_utils as tu

    from rollout_workers.agent_loop import PatternAgentLoopManager

    class Worker:
        """A worker actor that takes its chunk through pickle, as Ray sends it."""

        def __init__(self) -> None:
            self.prompts: list[dict[str, Any]] = []
            self.generate_sequences = self

        def remote(self, chunk: Any) -> None:
            sent = pickle.loads(pickle.dumps(chunk))
            self.prompts += [
                {key: tu.unwrap_non_tensor_data(column[i]) for key, column in sent.items() if key != "validate"}
                for i in range(len(sent))
            ]

    monkeypatch.setattr(ray, "get", lambda handles: None)
    manager = object.__new__(PatternAgentLoopManager)
    manager.agent_loop_workers = [Worker(), Worker()]
    manager.mix_of = None

    def batch(validate: bool) -> Any:
        prompts = tu.get_tensordict({"uid": np.array(["a", "b", "c"], dtype=object)})
        tu.assign_non_tensor_data(prompts, "global_steps", 4)
        if validate:
            tu.assign_non_tensor_data(prompts, "validate", True)
        return prompts

    with pytest.raises(RuntimeError, match="mix_of"):
        manager.generate_sequences(batch(False))
    manager.mix_of = lambda step, validate: Mix({"cot": 0.01 * step, "rep": float(validate)}, cap=0.1)
    for validate in (False, True):
        manager.generate_sequences(batch(validate))
        got = [prompt["pattern_mix"] for worker in manager.agent_loop_workers for prompt in worker.prompts[-2:]]
        assert got[-1] == Mix({"cot": 0.04, "rep": float(validate)}, cap=0.1)
    assert sum(len(worker.prompts) for worker in manager.agent_loop_workers) == 6
