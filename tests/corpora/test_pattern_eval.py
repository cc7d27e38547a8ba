"""Construction of a PatternEval set: each rule by itself, and the command on a small pool."""

from __future__ import annotations

import base64
import io
import json
from collections.abc import Callable
from io import StringIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image
from rich.console import Console

from corpora.pattern_eval.__main__ import construct
from corpora.pattern_eval.anchors import find_anchors
from corpora.pattern_eval.candidates import Candidate, candidates_of
from corpora.pattern_eval.duplicates import Fingerprints, difference_hash
from corpora.pattern_eval.expansion import Related, expand, structure_of
from corpora.pattern_eval.sampling import SamplingRules, sample
from evaluation.pattern_eval.prompt_file import read_prompts
from evaluation.pattern_eval.responses import RESPONSES, write_responses
from foundation.runs.evaluation_records import Prompt, Response
from foundation.settings.compose import CONFIG_DIR, compose_config


def prompt(number: int, question: str = "", **changes: Any) -> Prompt:
    fields: dict[str, Any] = {
        "prompt_id": f"p{number}",
        "source": "a",
        "family": "VG",
        "category": "OOD",
        "question": question or f"What stands in picture {number}?",
        "options": None,
        "images": (),
        "reference": "red",
    }
    return Prompt(**(fields | changes))


def response(number: int, model: str, *labels: str, correct: int | None = 1, mode: str = "nt") -> Response:
    vector = {label: label in labels for label in ("cot", "rep", "con", "pr")}
    evidence = {label: f"{label} of {model}" for label in labels}
    return Response(model, mode, f"p{number}", "VG", "OOD", correct=correct, labels=vector, evidence=evidence)


def picture(seed: int, side: int = 64) -> bytes:
    """Smooth random cells, so that a resized copy looks the same."""
    cells = np.random.default_rng(seed).integers(0, 255, (9, 9), dtype=np.uint8)
    out = io.BytesIO()
    Image.fromarray(cells).resize((side, side), Image.Resampling.BICUBIC).save(out, "PNG")
    return out.getvalue()


def test_a_candidate_counts_labelled_non_thinking_responses():
    pool = [prompt(0), prompt(1)]
    responses = [
        response(0, "a", "cot", correct=0),
        response(0, "b", "cot", "rep"),
        response(0, "c", correct=None),
        response(0, "a", "pr", mode="t"),
    ]
    one, other = candidates_of(pool, responses)
    assert (one.responses, one.triggered, one.wrong, one.scored) == (3, 2, 1, 2)
    assert one.by_label == {"cot": 2, "rep": 1, "con": 0, "pr": 0}
    assert one.variation == pytest.approx(np.log2(3))  # three different outcomes
    assert one.evidence == {"cot": "cot of a", "rep": "rep of b"}
    assert (other.responses, other.variation) == (0, 0.0)


def test_anchors_are_recurrent_failures():
    pool = [prompt(i) for i in range(3)]
    responses = [
        *(response(0, model, "cot") for model in "abc"),
        *(response(1, model, *labels) for model, labels in (("a", ("rep",)), ("b", ()), ("c", ()))),
        response(2, "a", "con"),  # one response does not recur
    ]
    (anchor,) = find_anchors(candidates_of(pool, responses), min_responses=2, min_share=0.5)
    assert (anchor.prompt_id, anchor.labels, anchor.trigger_share) == ("p0", ("cot",), 1.0)
    assert anchor.evidence == {"cot": "cot of a"}


def test_expansion_takes_the_closest_relation():
    pool = [
        prompt(0, "How many red cells are in row 3?"),
        prompt(1, "How many red cells are in row 17?"),
        prompt(2, "How many red cells are in row three of it?"),
        prompt(3, "Who painted this?"),
        prompt(4, "Where was this?"),
        prompt(5, "Who made this?", source="other"),
    ]
    anchors = find_anchors(candidates_of(pool, [response(0, m, "cot") for m in "ab"]), 2, 0.5)
    found = {one.prompt_id: one.relation for one in expand(pool, anchors, similarity=0.5, per_anchor=1)}
    assert found == {"p0": "anchor", "p1": "structure", "p2": "similar", "p3": "task"}
    assert structure_of("Which?\nA. one\nB. two") == structure_of("Which?\nA. x\nB. y\nC. z")


def rules(**changes: Any) -> SamplingRules:
    fields: dict[str, Any] = {
        "quotas": {"OOD": 10},
        "checked_types": ("choice", "yes_no"),
        "checked_share": 0.8,
        "checked_keep": 0.5,
        "source_share": 1.0,
        "min_variation": 0.0,
        "low_variation_keep": 1.0,
        "seed": 0,
    }
    return SamplingRules(**(fields | changes))


def candidate(one: Prompt, variation: float = 1.0) -> Candidate:
    return Candidate(one, 2, 1, {}, 0, 2, variation, {})


def draw(pool: list[Candidate], **changes: Any) -> tuple[dict[str, str], Any]:
    related = [Related(c.prompt.prompt_id, "anchor", c.prompt.prompt_id) for c in pool]
    nothing = Fingerprints(Path(), 4, 0.8)
    decisions, quotas = sample(pool, related, rules(**changes), nothing, Fingerprints(Path(), 4, 0.8), Path())
    return {d.prompt_id: d.reason for d in decisions}, quotas


def test_quotas_and_variation():
    words = ("one two three", "four five six", "seven eight nine", "ten eleven twelve")
    pool = [candidate(prompt(i, text), variation=i) for i, text in enumerate(words)]
    reasons, quotas = draw(pool, quotas={"OOD": 2})
    assert reasons == {"p0": "quota_full", "p1": "quota_full", "p2": "kept", "p3": "kept"}
    assert (quotas["OOD"].asked, quotas["OOD"].allowed, quotas["OOD"].got) == (2, 2, 2)


def test_a_category_of_format_checks_shrinks():
    pool = [candidate(prompt(i, f"word{i} number{i} text{i}", answer_type="multiple_choice")) for i in range(8)]
    reasons, quotas = draw(pool, quotas={"OOD": 6})
    assert list(reasons.values()).count("kept") == 3
    assert quotas["OOD"].why == "100 % are decided by a check of form"


def test_a_category_whose_responses_are_all_alike_shrinks():
    pool = [candidate(prompt(i, f"word{i} number{i} text{i}"), variation=0.1) for i in range(8)]
    _, quotas = draw(pool, quotas={"OOD": 6}, min_variation=0.5, low_variation_keep=0.5)
    assert (quotas["OOD"].allowed, quotas["OOD"].why) == (3, "responses vary by 0.10 bits")


def test_a_source_is_capped():
    pool = [candidate(prompt(i, f"word{i} number{i} text{i}", source="big" if i else "small")) for i in range(8)]
    reasons, _ = draw(pool, quotas={"OOD": 8}, source_share=0.5)
    assert list(reasons.values()).count("source_cap") == 3


def test_image_hashes():
    assert difference_hash(picture(1)) == difference_hash(picture(1, side=96))
    assert (difference_hash(picture(1)) ^ difference_hash(picture(2))).bit_count() > 16


def test_near_duplicates_and_overlap_with_training():
    question = "Which of the shapes in this picture stands to the left of all the others"
    pool = [
        candidate(prompt(0, question, images=(picture(1),))),
        candidate(prompt(1, question + " now", images=(picture(1, side=96),))),
        candidate(prompt(2, question, images=(picture(2),))),
        candidate(prompt(3, "Something else is asked about it here", images=(picture(1),))),
        candidate(prompt(4, "Trained on already with these very words", images=(picture(3),))),
        candidate(prompt(5, "A picture that is none", images=(b"none",))),
    ]
    training = Fingerprints(Path(), 4, 0.8)
    training.add(prompt(99, "Trained on already with these very words", images=(picture(3),)))
    related = [Related(c.prompt.prompt_id, "anchor", c.prompt.prompt_id) for c in pool]
    decisions, _ = sample(pool, related, rules(), training, Fingerprints(Path(), 4, 0.8), Path())
    reasons = {d.prompt_id: d.reason for d in decisions}
    assert sorted((reasons["p0"], reasons["p1"])) == ["kept", "near_duplicate"]
    assert (reasons["p2"], reasons["p3"]) == ("kept", "kept")
    assert (reasons["p4"], reasons["p5"]) == ("overlaps_training", "image_unreadable")


@pytest.fixture
def pool(tmp_path: Path) -> Callable[..., list[str]]:
    """Writes a pool and the responses of two models to it; returns overrides for the command."""
    rows, responses = [], []
    for i in range(20):
        rows.append(
            {
                "prompt_id": f"p{i}",
                "source": "s",
                "family": "VG",
                "category": "OOD" if i % 2 else "Rec",
                "question": f"word{i} {chr(97 + i) * 5} text{i} stands where?",
                "reference": "red",
            }
        )
        labels = ("cot",) if i < 6 else ()
        responses += [response(i, "a", *labels), response(i, "b", *labels, correct=0)]
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "rollouts").mkdir()
    write_responses(tmp_path / "rollouts" / RESPONSES, responses)
    return lambda *more: [
        f"pool.files=[{tmp_path / 'pool.jsonl'}]",
        f"rollouts=[{tmp_path / 'rollouts'}]",
        f"out={tmp_path / 'set'}",
        "sampling.source_share=1.0",
        *more,
    ]


def run(overrides: list[str]) -> str:
    out = StringIO()
    construct(compose_config(overrides, CONFIG_DIR / "evaluation", "construction"), Console(file=out, width=200))
    return out.getvalue()


def test_the_command_explains_every_candidate(pool: Callable[..., list[str]], tmp_path: Path):
    text = run(pool("sampling.quotas={OOD: 5, Rec: 2}", "expansion.per_anchor=1"))
    assert "pool: 20 candidates, 20 with labelled responses" in text and "step 1: 6 anchors" in text
    decisions = [json.loads(line) for line in (tmp_path / "set" / "manifest.jsonl").read_text().splitlines()]
    assert [d["prompt_id"] for d in decisions] == [f"p{i}" for i in range(20)]
    kept = [json.loads(line)["prompt_id"] for line in (tmp_path / "set" / "prompts.jsonl").read_text().splitlines()]
    assert kept == [d["prompt_id"] for d in decisions if d["kept"]]
    manifest = json.loads((tmp_path / "set" / "manifest.json").read_text())
    assert manifest["quotas"]["OOD"]["got"] == 5 and manifest["quotas"]["Rec"]["got"] == 2
    assert sum(manifest["reasons"].values()) == 20
    assert {"p1", "p3", "p5"} <= set(kept)  # the anchors of OOD


def test_a_step_is_not_repeated_and_a_changed_setting_repeats_it(pool: Callable[..., list[str]], tmp_path: Path):
    run(pool())
    anchors = tmp_path / "set" / "anchors.jsonl"
    before = anchors.stat().st_mtime_ns, (tmp_path / "set" / "prompts.jsonl").read_bytes()
    (tmp_path / "set" / "related.jsonl").unlink()  # stopped after the first step
    (tmp_path / "set" / "prompts.jsonl").unlink()
    run(pool())
    assert (anchors.stat().st_mtime_ns, (tmp_path / "set" / "prompts.jsonl").read_bytes()) == before
    run(pool("anchors.min_share=0.9"))
    assert anchors.stat().st_mtime_ns != before[0]


def test_rollouts_of_another_pool_are_refused(pool: Callable[..., list[str]], tmp_path: Path):
    write_responses(tmp_path / "rollouts" / RESPONSES, [response(999, "a")])
    with pytest.raises(ValueError, match="no labelled non-thinking response to a prompt of the pool"):
        run(pool())


def test_the_set_can_be_read_back_with_its_images(pool: Callable[..., list[str]], tmp_path: Path):
    rows = [json.loads(line) for line in (tmp_path / "pool.jsonl").read_text().splitlines()]
    image = base64.b64encode(picture(1)).decode()
    rows[1] |= {"images": [{"base64": image}], "options": ["red", "blue"], "answer_type": "choice", "reference": "A"}
    (tmp_path / "pool.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    run(pool("sampling.checked_share=1.0"))
    taxonomy = {"VG": {"OOD": "", "Rec": ""}}
    before = {one.prompt_id: one for one in read_prompts([tmp_path / "pool.jsonl"], taxonomy, None)}
    kept = read_prompts([tmp_path / "set" / "prompts.jsonl"], taxonomy, None)
    assert kept and all(before[one.prompt_id] == one for one in kept)
    assert before["p1"] in kept and before["p1"].images == (picture(1),)
