"""Whole runs against local servers: pairing, judging, resuming, bad inputs."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from evaluation.pattern_eval.prompt_file import PromptFileError
from foundation.settings.compose import ConfigError


def report_files(folder: Path) -> dict[str, bytes]:
    report = folder / "report"
    return {path.relative_to(report).as_posix(): path.read_bytes() for path in report.rglob("*") if path.is_file()}


def test_a_run_end_to_end(stand: Any):
    assert stand.run() == 0
    nt, t = stand.results()["rows"]
    # Without thinking 8 of 12 are right and say "Wait"; with it all are right and none does.
    assert (nt["rates"]["acc"]["k"], nt["rates"]["acc"]["n"]) == (8, 12)
    assert (nt["rates"]["trigger"]["k"], nt["rates"]["cot"]["k"], nt["rates"]["rep"]["k"]) == (8, 8, 0)
    assert (t["rates"]["acc"]["k"], t["rates"]["trigger"]["k"]) == (12, 0)
    (pair,) = stand.results()["pairs"]
    assert pair["d_acc"]["value"] == pytest.approx(100 / 3)
    assert pair["d_pat"]["value"] == pytest.approx(200 / 3)
    assert pair["d_pat"]["p_value"] == pytest.approx(2 / 2**8)
    assert "it says “Wait, let me see”" in stand.page()


def test_only_the_reasoning_control_differs_between_the_modes(stand: Any):
    stand.run()
    by_question: dict[str, list[dict[str, Any]]] = {}
    for body in stand.policy.requests:
        by_question.setdefault(body["messages"][0]["content"][-1]["text"], []).append(body)
    assert len(by_question) == 12
    assert len({pair[0]["seed"] for pair in by_question.values()}) == 12
    for pair in by_question.values():
        switches = [body.pop("chat_template_kwargs") for body in pair]
        assert sorted(switch["enable_thinking"] for switch in switches) == [False, True]
        assert pair[0] == pair[1]
        assert pair[0]["messages"][0]["content"][0]["image_url"]["url"].startswith("data:image/png;base64,")
        assert (pair[0]["temperature"], pair[0]["top_p"], pair[0]["max_tokens"]) == (1.0, 1.0, 128)


def test_the_pattern_judge_sees_the_image_and_the_visible_text_alone(stand: Any):
    stand.run()
    asked = [
        b["messages"][0]["content"] for b in stand.judges.requests if isinstance(b["messages"][0]["content"], list)
    ]
    assert len(asked) == 24
    assert all(content[0]["type"] == "image_url" for content in asked)
    assert not any("so many" in content[-1]["text"] for content in asked)


def test_generations_are_kept_whole(stand: Any):
    stand.run()
    rows = {(row["mode"], row["prompt_id"]): row for row in stand.rows("generations")}
    assert len(rows) == 24
    one = rows["t", "p004"]
    assert one["raw"] == "so many</think>It is \\boxed{4}<|im_end|>"
    assert (one["reasoning"], one["visible"], one["prompt_tail"]) == ("so many", "It is \\boxed{4}", "open")
    assert (one["model"], one["finish_reason"], one["n_chars"]) == ("tiny", "stop", 15)


@pytest.mark.parametrize("at", [1, 5, 13, 24])
def test_a_run_that_is_stopped_anywhere_ends_with_the_same_page(stand: Any, monkeypatch: pytest.MonkeyPatch, at: int):
    from evaluation.pattern_eval import store

    stand.run()
    expected = report_files(stand.folder)
    again = f"run.dir={stand.folder.parent / 'again'}"
    add, count = store.Journal.add, [0]

    def stopping(journal: Any, record: Any) -> None:
        count[0] += 1
        if count[0] % at == 0:
            journal._file.write('{"prompt_id": "p0')  # what a kill leaves of a line
            journal._file.flush()
            raise KeyboardInterrupt
        add(journal, record)

    with monkeypatch.context() as patched:
        patched.setattr(store.Journal, "add", stopping)
        with pytest.raises((KeyboardInterrupt, BaseExceptionGroup)):
            stand.run(again)
    stand.run(again)
    assert report_files(stand.folder.parent / "again") == expected


def test_a_second_start_asks_nothing(stand: Any):
    stand.run()
    before = report_files(stand.folder)
    asked = len(stand.policy.requests), len(stand.judges.requests)
    stand.run()
    assert (len(stand.policy.requests), len(stand.judges.requests)) == asked
    assert report_files(stand.folder) == before


def test_another_run_cannot_go_on_in_the_folder(stand: Any):
    stand.run()
    with pytest.raises(ValueError, match="holds a run with another model, request"):
        stand.run("model.decoding.nt.temperature=0.5", "model.name=other")


def test_what_failed_is_counted_and_asked_again(stand: Any):
    answer, stand.policy.answer = stand.policy.answer, lambda body: 400
    stand.run()
    nt, _ = stand.results()["rows"]
    assert (nt["counts"]["failed"], nt["rates"]["acc"]["n"], nt["rates"]["acc"]["value"]) == (12, 0, None)
    assert any("the generation failed" in notice for notice in stand.results()["notices"])
    stand.policy.answer = answer
    stand.run()
    nt, _ = stand.results()["rows"]
    assert (nt["counts"]["failed"], nt["rates"]["acc"]["n"]) == (0, 12)


def test_a_server_that_fails_for_a_while_costs_nothing(stand: Any):
    answer, calls = stand.policy.answer, [0]

    def away(body: dict[str, Any]) -> Any:
        calls[0] += 1
        return 503 if calls[0] <= 8 else answer(body)

    stand.policy.answer = away
    stand.run("model.servers.nt.breaker={failures: 2, cooldown_s: 0.2}", "patience_s=60")
    nt, t = stand.results()["rows"]
    assert (nt["counts"]["answered"], t["counts"]["answered"]) == (12, 12)


def test_a_judge_that_fails_leaves_no_zero(stand: Any):
    stand.judges.answer = lambda body: {"content": "I would rather not say."}
    stand.run()
    nt, _ = stand.results()["rows"]
    assert nt["rates"]["trigger"] == {"value": None, "low": None, "high": None, "k": 0, "n": 0}
    assert nt["counts"]["without_labels"] == 12
    assert any("no labels" in notice for notice in stand.results()["notices"])


def test_two_judges_that_disagree_leave_the_response_open(stand: Any):
    def split(body: dict[str, Any]) -> dict[str, Any]:
        cot = int(body["model"] == "strict")
        return {"content": f"1. CoT: {cot} - a\n2. Rep: 0 - b\n3. Con: 0 - c\n4. PR: 0 - d"}

    stand.judges.answer = split
    stand.run("+judges.second=${judges.pattern}", "judges.pattern.model=lenient", "asks.pattern=[pattern,second]")
    assert stand.results()["agreement"]["unanimous"]["vector"]["value"] == 100.0
    other = [o.replace("/run", "/two") for o in stand.overrides]
    stand.overrides, stand.folder = other, stand.folder.parent / "two"
    section = "{model: strict, base_urls: ['%s'], serve: null, prompt: pattern_judge, language: en, api_key_env: null, "
    section += "temperature: 0.0, max_tokens: 64, timeout_s: 10, total_timeout_s: 20, max_attempts: 1, "
    section += "breaker: {failures: 5, cooldown_s: 5}, concurrency: 4}"
    stand.run("+judges.second=" + section % stand.judges.base_url, "asks.pattern=[pattern,second]")
    found = stand.results()
    assert found["agreement"]["unanimous"]["cot"]["value"] == 0.0
    assert found["rows"][0]["counts"]["without_labels"] == 12


# ---- bad inputs ----


def test_images_that_cannot_be_shown_cost_their_prompt_only(stand: Any):
    images = stand.prompts.parent / "images"
    (images / "0.png").unlink()
    (images / "1.png").write_bytes(b"no image")
    Image.effect_noise((64, 64), 50).save(images / "2.png")
    (images / "2.png").write_bytes((images / "2.png").read_bytes()[:2000])
    Image.new("RGB", (10_000, 5_000)).save(images / "4.png")
    assert stand.run("prompts.max_pixels=1000000") == 0
    failed = {row["prompt_id"]: row["error"] for row in stand.rows("generations") if row["error"]}
    assert {name: error.split(":")[0] for name, error in failed.items()} == {
        "p000": "image_missing",
        "p001": "image_unreadable",
        "p002": "image_corrupt",
    }
    assert stand.results()["rows"][0]["counts"] == {
        "asked": 12,
        "answered": 9,
        "empty": 0,
        "failed": 3,
        "truncated": 0,
        "without_verdict": 0,
        "without_labels": 0,
    }


def test_an_empty_reference_is_no_verdict(stand: Any):
    rows = [json.loads(line) for line in stand.prompts.read_text().splitlines()]
    stand.prompts.write_text("".join(json.dumps(row | {"reference": ""}) + "\n" for row in rows))
    stand.run()
    nt, _ = stand.results()["rows"]
    assert (nt["rates"]["acc"]["n"], nt["counts"]["without_verdict"], nt["rates"]["trigger"]["n"]) == (0, 12, 12)
    assert {row["reason"] for row in stand.rows("correctness")} == {"no_reference"}


def test_every_problem_of_a_prompt_file_is_named_before_anything_is_asked(stand: Any):
    good = json.loads(stand.prompts.read_text().splitlines()[0])
    lines = [
        json.dumps(good).encode(),
        json.dumps(good).encode(),
        json.dumps(good | {"prompt_id": "a", "category": "Cooking"}).encode(),
        json.dumps(good | {"prompt_id": "b", "family": "XX"}).encode(),
        b'{"prompt_id": "caf\xe9"}',
        b"{broken",
        b"[1]",
        json.dumps({key: value for key, value in good.items() if key != "question"} | {"prompt_id": "c"}).encode(),
        json.dumps(good | {"prompt_id": "d", "answer_type": "poem"}).encode(),
        json.dumps(good | {"prompt_id": "e", "images": [7]}).encode(),
        json.dumps(good | {"prompt_id": "f", "colour": "red"}).encode(),
    ]
    stand.prompts.write_bytes(b"\n".join(lines))
    with pytest.raises(PromptFileError) as caught:
        stand.run()
    found = [re.sub(r"^.*?prompts\.jsonl:", "", problem) for problem in caught.value.problems]
    assert [int(problem.split(":")[0]) for problem in found] == list(range(2, 12))
    for problem, part in zip(
        found,
        (
            "is that of",
            "'Cooking' is unknown in family VG; it has OOD, Rec, Grd, Fact",
            "'XX' is unknown; prompts.taxonomy has VG, OS, KR",
            "not UTF-8 (byte 18)",
            "not JSON",
            "no object",
            "no question",
            "answer_type='poem'",
            "image '7'",
            "unknown key colour",
        ),
        strict=True,
    ):
        assert part in problem
    assert stand.policy.requests == []


@pytest.mark.parametrize(
    ("override", "part"),
    [
        ("model.decoding.t={temperature: 0.6}", "differ in max_tokens, temperature, top_p"),
        ("+model.decoding.nt.seed=1", "model.seed draws a seed for each prompt, but model.decoding has a seed as well"),
        ("model.template_switch=false", "nothing differs between the modes"),
        ("model.pair=checkpoints", "are the same server"),
        ("model.family=qwen9", "model.family='qwen9': family 'qwen9' is not a known model family; use one of"),
        ("asks.pattern=[nobody]", "asks names judge 'nobody'"),
        ("asks.correctness=pattern", "name each judge once"),
        ("judges.pattern.prompt=answer_correctness", "judges.pattern.prompt='answer_correctness' cannot do this"),
        ("judges.pattern.api_key_env=NO_SUCH_KEY", "that variable is not set"),
        ("modes=[nt,nt]", "set [nt, t]"),
        ("limit=0", "limit=0"),
        ("model.servers.nt.base_urls=[localhost]", "model.servers.nt.base_urls"),
    ],
)
def test_settings_that_do_not_fit_are_named(stand: Any, override: str, part: str):
    with pytest.raises(ConfigError, match=re.escape(part)):
        stand.run(override)


def test_a_switch_without_effect_is_found_before_the_first_question(stand: Any):
    stand.policy.rendered = lambda body: "<|im_start|>assistant\n<think>\n"
    with pytest.raises(ValueError, match=r"model\.servers\.nt: in mode nt .* the mode switch has no effect"):
        stand.run()
    assert stand.policy.requests == []


def test_a_parser_that_puts_the_answer_into_the_reasoning_field_is_said(stand: Any):
    answer = stand.policy.answer

    def parsed(body: dict[str, Any]) -> dict[str, Any]:
        message = answer(body)
        if not body["chat_template_kwargs"]["enable_thinking"]:
            return {"content": None, "reasoning_content": message["content"]}
        return message

    stand.policy.answer = parsed
    stand.run()
    nt, _ = stand.results()["rows"]
    assert nt["flags"] == {"answer_in_reasoning_field": 12}
    assert nt["rates"]["acc"]["k"] == 8  # nothing is lost
    assert any("puts the answer into the reasoning field" in notice for notice in stand.results()["notices"])


def test_thinking_that_never_ends_shows_nothing(stand: Any):
    answer = stand.policy.answer
    stand.policy.answer = lambda body: (
        {"content": "hm, \\boxed{1}", "finish_reason": "length"}
        if body["chat_template_kwargs"]["enable_thinking"]
        else answer(body)
    )
    stand.run()
    _, t = stand.results()["rows"]
    assert (t["counts"]["empty"], t["counts"]["truncated"], t["rates"]["acc"]["n"]) == (12, 12, 0)
    assert t["flags"] == {"no_visible_response": 12, "unclosed_think": 12}


def test_runs_can_be_shown_on_one_page(stand: Any, tmp_path: Path):
    stand.run()
    first = stand.folder
    stand.folder = tmp_path / "page"
    stand.overrides = [f"run.dir={stand.folder}", f"compare=[{first}]", "published=true"]
    assert stand.run() == 0
    found = stand.results()
    assert len(found["rows"]) == 52 and found["rows"][0]["model"] == "tiny"
    assert found["aggregates"]["large"] == 18


def test_nothing_to_do_is_said(stand: Any):
    stand.overrides = []
    with pytest.raises(ConfigError, match="nothing to do"):
        stand.run()


def test_two_runs_of_one_model_name_are_refused(stand: Any, tmp_path: Path):
    stand.run()
    stand.overrides = [f"run.dir={tmp_path / 'page'}", f"compare=[{stand.folder},{stand.folder}]"]
    with pytest.raises(ValueError, match="two of the runs on this page are of a model named 'tiny'"):
        stand.run()
