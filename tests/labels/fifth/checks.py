"""What a fifth label reaches, in a process whose table has five rows: `test_fifth_label` runs this file."""

from __future__ import annotations

import asyncio
import copy
import csv
import json
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from omegaconf import DictConfig, OmegaConf

from corpora.toy.oracle import label_response
from evaluation.pattern_eval.published import policy_rows, published_pairs, published_rows
from evaluation.report.content import Report
from evaluation.report.files import write_report
from foundation.labels import LABELS, as_lines
from foundation.runs.evaluation_records import Response
from foundation.runs.label_metrics import label_metrics
from foundation.runs.mode_rates import aggregate, pairs_of, rows_of
from foundation.runs.records import Labels, RuleLabels, SymbolicLosses, Verdict
from foundation.runs.scored_rollout import ScoredRollout
from foundation.settings.compose import ConfigError, compose_config
from foundation.settings.judges import JudgeSettings
from foundation.settings.run_settings import Settings, read_settings
from launch.wandb_sections import metrics_of, sections
from reward_workers.detectors import DETECTORS, Detector, detect_patterns
from reward_workers.gate import Gate
from reward_workers.judges.endpoint.client import JudgeReply
from reward_workers.judges.pattern_rm import ANSWERS, PatternRM
from reward_workers.judges.prompts.render import prompt_version, render
from reward_workers.judges.replies import ParsedLabels, ParseFailure, parse_labels
from reward_workers.mix import Mix
from reward_workers.scoring import RolloutScorer
from reward_workers.terms.pattern_term import PatternTerm
from reward_workers.terms.term import Rollout
from reward_workers.terms.verifier_term import VerifierTerm
from trainer.checks.plan import describe_reward
from trainer.grpo.weight_schedule import build_schedule

CITED = {**dict.fromkeys(LABELS, False), "cit": True}
CLAIM = r"According to a study, most bars are blue. \boxed{blue}"
SET = ("+reward_mix.weights.cit=0.03", "+reward_mix.threshold.cit=0.5")


def cites(text: Any) -> str | None:
    return "study" if "according to a study" in text.visible.lower() else None


@pytest.fixture
def detector(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DETECTORS, "cit", Detector(cites, decides=True))


# --- configuration --------------------------------------------------------------------------------------------------


@cache
def composed(*overrides: str) -> DictConfig:
    return compose_config(["experiment=quickstart", *overrides])


def settings_of(*overrides: str, **changes: float) -> Settings:
    """The checked settings of a command line, with further keys below `reward_mix` (`weights__cit`) after composing."""
    config = copy.deepcopy(composed(*overrides))
    for key, value in changes.items():
        OmegaConf.update(config, f"reward_mix.{key.replace('__', '.')}", value, force_add=True)
    return read_settings(config)


def test_a_configuration_without_a_weight_for_it_is_refused_by_name() -> None:
    with pytest.raises(ConfigError) as caught:
        settings_of()
    assert caught.value.problems == (
        "reward_mix.weights.cit is missing: set it",
        "reward_mix.threshold.cit is missing: set it",
    )


def test_an_override_of_a_key_that_no_file_has_says_how_to_set_it() -> None:
    with pytest.raises(ConfigError, match=r"write \+reward_mix\.weights\.cit="):
        settings_of("reward_mix.weights.cit=0.03")


def test_its_weight_is_checked_and_counts() -> None:
    mix = settings_of(*SET).reward_mix
    assert mix.weights.model_dump() == {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02, "cit": 0.03}
    assert "0.02 pr + 0.03 cit" in describe_reward(mix)
    assert build_schedule(mix.model_dump()).weights(1)["cit"] == 0.03
    with pytest.raises(ConfigError, match=r"reward_mix\.weights\.cit=-0\.03: set at least 0"):
        settings_of(*SET, weights__cit=-0.03)


def test_a_curriculum_asks_for_its_step() -> None:
    later = (*SET, "reward_mix/schedule=curriculum")
    with pytest.raises(ConfigError, match=r"reward_mix\.schedule\.from_step\.cit is missing"):
        settings_of(*later)
    schedule = build_schedule(settings_of(*later, schedule__from_step__cit=3).reward_mix.model_dump())
    assert (schedule.weights(2)["cit"], schedule.weights(3)["cit"]) == (0.0, 0.03)


# --- judges ---------------------------------------------------------------------------------------------------------


def prompt(name: str, language: str, **fields: str) -> str:
    return render(name, language, **fields)[0]["content"]


def test_the_prompts_ask_for_it_in_both_languages() -> None:
    english, chinese = (prompt("pattern_judge", language, question="q", response="r") for language in ("en", "zh"))
    for text, language in ((english, "en"), (chinese, "zh")):
        assert Path(__file__).with_name(f"cit.{language}.txt").read_text(encoding="utf-8").strip() in text
    assert "five separate yes/no decisions" in english and "5. Cit: unsupported citation\n" in english
    assert english.endswith("4. PR: <digit> - <reason>\n5. Cit: <digit> - <reason>")
    assert "五种" in chinese and "5. Cit：无据引用\n" in chinese
    assert chinese.endswith("4. PR：<数字> - <理由>\n5. Cit：<数字> - <理由>")
    assert "Before you decide 3 and 4:" in english  # it need not stand beside leaked deliberation
    assert prompt("labels_reminder", "en").endswith("\nPR:\nCit:")


def test_no_score_of_four_labels_is_taken_for_one_of_five() -> None:
    """Said to `test_fifth_label`, which compares them with those of a table of four."""
    print("VERSIONS", json.dumps([prompt_version(name) for name in ("pattern_judge", "pattern_rm", "labels_reminder")]))


@pytest.mark.parametrize(
    "reply",
    [
        as_lines(CITED),
        "1. CoT: 0 - a\n2. Rep: 0 - b\n3. Con: 0 - c\n4. PR: 0 - d\n5. Cit: 1 - it names a study",
        "第一项：思维链：否\n第二项：重复：否\n第三项：矛盾：无\n第四项：表演式推理：无\n第五项：无据引用：有",
        "1. 0\n2. 0\n3. 0\n4. 0\n5. 1",
        '{"CoT": 0, "Rep": 0, "Con": 0, "PR": 0, "unsupported_citation": 1}',
    ],
)
def test_a_reply_with_five_decisions_is_read(reply: str) -> None:
    parsed = parse_labels(reply)
    assert isinstance(parsed, ParsedLabels), parsed
    assert parsed.decided == CITED


@pytest.mark.parametrize(
    ("reply", "reason"),
    [
        ("CoT: 0\nRep: 0\nCon: 0\nPR: 1", "missing_labels"),
        ("1. 0\n2. 0\n3. 0\n4. 0", "missing_labels"),
        (f"{as_lines(CITED)}\n6. Overall: 1", "extra_decision"),
        ("CoT: 0\nRep: 0\nCon: 0\nCit: 1\nPR: 0", "out_of_order"),
    ],
)
def test_four_or_six_decisions_are_refused(reply: str, reason: str) -> None:
    failure = parse_labels(reply)
    assert isinstance(failure, ParseFailure) and failure.reason == reason


def pattern_rm(monkeypatch: pytest.MonkeyPatch, reply: str) -> tuple[PatternRM, list[Any]]:
    section = {
        "model": "m",
        "base_urls": ["http://127.0.0.1:9/v1"],
        "serve": None,
        "prompt": "pattern_rm",
        "language": "en",
        "api_key_env": None,
        "temperature": 0.0,
        "max_tokens": 64,
        "timeout_s": 5.0,
        "total_timeout_s": 8.0,
        "max_attempts": 1,
        "breaker": {"failures": 10, "cooldown_s": 30.0},
        "concurrency": 8,
    }
    judge = PatternRM(JudgeSettings.from_config(section, "pattern_rm"), dict.fromkeys(LABELS, 0.5))
    asked: list[Any] = []

    async def complete(messages: Any, **request: Any) -> Any:
        asked.append(request)
        return answer_of(reply)

    monkeypatch.setattr(judge.client, "complete", complete)
    return judge, asked


def answer_of(text: str) -> JudgeReply:
    return JudgeReply(text, "stop", None, latency_s=0.1, attempts=1, openings=0, base_url="http://127.0.0.1:9/v1")


def test_pattern_rm_chooses_among_32_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    judge, asked = pattern_rm(monkeypatch, as_lines(CITED))
    labels = asyncio.run(judge.label("q", "r"))
    assert isinstance(labels, Labels) and labels.decided == CITED and labels.trigger
    (request,) = asked
    choice = request["extra_body"]["structured_outputs"]["choice"]
    assert choice == ANSWERS and len(set(choice)) == 32 and all(answer.count("\n") == 4 for answer in choice)


# --- reward ---------------------------------------------------------------------------------------------------------


class Stub:
    """Verifier and PatternRM that give one answer."""

    def __init__(self, outcome: Any) -> None:
        self.outcome = outcome

    async def _answer(self, *_: Any) -> Any:
        return self.outcome

    verify = judge = label = _answer

    def take_losses(self) -> SymbolicLosses:
        return SymbolicLosses()


def scored(source: str) -> Any:
    right = Stub(Verdict(1, "exact", "equal", "blue"))
    judge = None if source == "rules" else Stub(Labels(CITED))
    terms = (VerifierTerm(right, right), PatternTerm(judge, Gate(probability=1.0), source=source))
    mix = Mix(settings_of(*SET).reward_mix.weights.model_dump(), cap=0.1)
    rollout = Rollout("p", 0, 1, 0, "Which colour?", "blue", CLAIM, mix)
    return asyncio.run(RolloutScorer(terms).score(rollout))


@pytest.mark.parametrize("source", ["pattern_rm", "rules", "union", "agreement"])
@pytest.mark.usefixtures("detector")
def test_the_reward_charges_it(source: str) -> None:
    record = scored(source)
    assert (record.penalty, record.reward) == (0.03, 0.97)
    assert record.rule_labels.seen["cit"] is True and "cit:study" in record.rule_labels.reasons


def test_rules_abstain_without_a_detector() -> None:
    assert detect_patterns(CLAIM).seen["cit"] is None
    assert scored("agreement").reward == 0.97  # PatternRM alone
    assert scored("rules").reward == 1.0


def test_the_toy_world_never_shows_it() -> None:
    assert label_response("q", CLAIM) == dict.fromkeys(LABELS, False)


# --- metrics and pages ----------------------------------------------------------------------------------------------


def test_the_metrics_of_a_step_have_it() -> None:
    record = scored_rollout(scored("pattern_rm"))
    again = ScoredRollout.from_json(record.to_json())
    assert again == record and again.labels.decided["cit"]
    found = label_metrics([record])
    assert (found["label/cit"], found["trigger"], found["charged/cit"], found["weight/cit"]) == (1.0, 1.0, 1.0, 0.03)


def scored_rollout(record: Any) -> ScoredRollout:
    return ScoredRollout.of(
        record, mode="nt", question="q", reference="blue", visible=CLAIM, flags=(), judge_calls=(), attempt=0
    )


def test_the_workspace_shows_it() -> None:
    shown = set().union(*(metrics_of(panel) for section in sections() for panel in section.panels))
    assert {"reward_mix/label/cit", "reward_mix/weight/cit", "heldout/label/cit"} <= shown


def test_a_record_of_four_labels_is_refused() -> None:
    four = {label: False for label in LABELS if label != "cit"}
    with pytest.raises(ValueError, match="cit"):
        Labels(four)
    with pytest.raises(ValueError, match="cit"):
        RuleLabels(four)


def test_the_page_of_an_evaluation_shows_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("evaluation.report.files.draw_all", lambda report, folder: [])
    responses = [
        Response(
            "model",
            mode,
            f"p{number}",
            "VG",
            "OOD",
            visible=CLAIM,
            correct=1,
            labels=CITED if mode == "nt" else dict.fromkeys(LABELS, False),
            evidence={"cit": "“According to a study”"} if mode == "nt" else {},
        )
        for number in range(4)
        for mode in ("nt", "t")
    ]
    rows = [*rows_of(responses), *published_rows()]  # the paper's models have no rate of it
    pairs = [*pairs_of(responses, 100, 0), *published_pairs()]
    report = Report(
        "five labels",
        rows,
        pairs,
        aggregate(rows, pairs),
        {"VG": {"OOD": "OOD"}},
        responses=responses,
        policies=policy_rows(),
    )
    page = write_report(report, tmp_path, examples_per_label=2, text_budget_mb=8).read_text(encoding="utf-8")
    head = page.split('<section id="main">')[1].split("</thead>")[0]
    assert "source that neither image nor question contains" in head and ">Cit</th>" in head
    assert '<option value="cit">unsupported citation</option>' in page and "<h3>Unsupported citation</h3>" in page
    data = json.loads(page.split('type="application/json">')[1].split("</script>")[0])
    assert list(data["label_names"]) == list(LABELS) and data["labels"] == [16, 0] * 4
    found = json.loads((tmp_path / "results.json").read_text(encoding="utf-8"))["rows"]
    assert found[0]["rates"]["cit"]["value"] == 100.0 and found[-1]["rates"]["cit"]["value"] is None
    assert {row["cit"] for row in csv.DictReader((tmp_path / "responses.csv").open(encoding="utf-8"))} == {"0", "1"}
