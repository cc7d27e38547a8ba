"""Which judge is asked, when, and what becomes of a rollout that cannot be scored."""

import asyncio
from dataclasses import dataclass, field, replace

import pytest

from foundation.labels import LABELS
from foundation.runs.records import Labels, SymbolicLosses, Unlabelled, Verdict
from reward_workers import scoring
from reward_workers.gate import Gate
from reward_workers.scoring import Rollout, RolloutScorer

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}
RIGHT = Verdict(1, "exact", "equal", "3")
WRONG = Verdict(0, "typed", "other_number", "4")
OPEN, UNRESOLVED = Gate(probability=1.0), Verdict(None, "typed", "number_word", "three")


@dataclass
class Answers:
    """A judge or verifier that gives prepared outcomes (the last one again and again) and keeps what it was asked."""

    outcomes: list
    asked: list[tuple] = field(default_factory=list)

    async def _answer(self, *question):
        self.asked.append(question)
        return self.outcomes[min(len(self.asked), len(self.outcomes)) - 1]

    verify = judge = label = _answer

    def take_losses(self):
        return SymbolicLosses(killed=1) if len(self.asked) == 1 else SymbolicLosses()


LEAKED = Labels({**dict.fromkeys(LABELS, False), "cot": True})
CLEAN = Labels(dict.fromkeys(LABELS, False))
YES = Verdict(1, "judge", "judge_correct")
ROLLOUT = Rollout(
    "p", prompt_index=5, step=2, rollout=1, question="How many?", reference="3", visible=r"\boxed{3}", weights=WEIGHTS
)
LOOP = r"The bar is at 3 now. The bar is at 3 now. \boxed{3}"  # the rules see a repetition and nothing else


def scorer(verdict, *, fallback=(YES,), labels=(LEAKED,), **settings):
    parts = {
        "verifier": Answers([verdict]),
        "answer_judge": Answers(list(fallback)),
        "pattern_rm": Answers(list(labels)) if labels is not None else None,
        "gate": OPEN,
        "cap": 0.1,
    }
    return RolloutScorer(**{**parts, **settings})


def score(it: RolloutScorer, **fields):
    return asyncio.run(it.score(replace(ROLLOUT, **fields)))


def test_right_answer_behind_an_open_gate_is_labelled_and_pays():
    it = scorer(RIGHT)
    record = score(it, n_tokens=7, truncated=True)
    assert (record.reward, record.penalty, record.z) == (0.95, 0.05, 1)
    assert it.pattern_rm.asked == [("How many?", r"\boxed{3}")]
    assert it.answer_judge.asked == []
    assert (record.prompt_id, record.group, record.step, record.rollout) == ("p", 5, 2, 1)
    assert (record.n_tokens, record.truncated) == (7, True)


@pytest.mark.parametrize(("verdict", "gate"), [(WRONG, OPEN), (RIGHT, Gate(probability=0.0))])
def test_pattern_rm_is_not_asked_where_it_cannot_change_the_reward(verdict, gate):
    it = scorer(verdict, gate=gate)
    record = score(it)
    assert it.pattern_rm.asked == [] and record.labels is None
    assert record.reward == float(verdict.value)


def test_monitoring_labels_wrong_answers_without_changing_the_reward():
    it = scorer(WRONG, score_incorrect=True)
    record = score(it)
    assert len(it.pattern_rm.asked) == 1 and record.labels.decided["cot"]
    assert record.reward == 0.0


@pytest.mark.parametrize("verdict", [RIGHT, WRONG])
def test_validation_labels_everything(verdict):
    it = scorer(verdict, gate=Gate(probability=0.0))
    assert score(it, validate=True).labels is not None


def test_base_rl_asks_no_pattern_rm():
    record = score(scorer(RIGHT, labels=None, source=None), validate=True, visible=LOOP)
    assert (record.reward, record.labels, record.penalty, record.charged) == (1.0, None, 0.0, None)
    assert record.rule_labels.seen["rep"]  # seen, for the log


def test_the_rules_label_every_response_and_charge_nothing_by_default():
    for verdict, gate in ((RIGHT, OPEN), (WRONG, OPEN), (RIGHT, Gate(probability=0.0))):
        record = score(scorer(verdict, gate=gate, labels=[CLEAN]), visible=LOOP)
        assert record.rule_labels.seen["rep"] and not record.rule_labels.seen["cot"]
        assert record.reward == float(verdict.value)
    assert score(scorer(RIGHT), visible="").rule_labels is None


def test_rules_as_the_source_need_no_pattern_rm():
    it = scorer(RIGHT, labels=None, source="rules")
    record = score(it, visible=LOOP)
    assert (record.reward, record.penalty, record.labels) == (0.95, 0.05, None)
    assert record.charged == {"cot": 0, "rep": 1, "con": 0, "pr": 0}
    assert score(scorer(RIGHT, labels=None, source="rules", gate=Gate(probability=0.0)), visible=LOOP).reward == 1.0


@pytest.mark.parametrize(("source", "reward"), [("pattern_rm", 0.95), ("union", 0.9), ("agreement", 1.0)])
def test_sources_reach_the_reward(source, reward):
    """PatternRM says cot, the rules say rep; con and pr are clean or abstained."""
    assert score(scorer(RIGHT, source=source), visible=LOOP).reward == reward


def test_agreement_with_clean_rules_asks_nobody():
    """A bare answer is clean by every rule, so both cannot agree on any label."""
    it = scorer(RIGHT, source="agreement")
    record = score(it)
    assert it.pattern_rm.asked == [] and record.reward == 1.0
    assert record.charged == dict.fromkeys(WEIGHTS, 0)
    assert score(it, validate=True).labels is not None


def test_an_expected_penalty_charges_probabilities():
    unsure = Labels(LEAKED.decided, dict(zip(LABELS, (0.6, 0.2, 0.5, None), strict=True)))
    record = score(scorer(RIGHT, labels=[unsure], penalty="expected"))
    # .05 * .6 + .05 * .2 + .02 * .5 + .02 * 0 (no probability: the hard label counts)
    assert (record.penalty, record.reward) == (0.05, 0.95)
    capped = Labels(dict.fromkeys(LABELS, True), dict(zip(LABELS, (1.0, 0.9, 1.0, 1.0), strict=True)))
    assert score(scorer(RIGHT, labels=[capped], penalty="expected")).reward == 0.9


def test_the_weights_of_the_rollout_count():
    record = score(scorer(RIGHT), weights=WEIGHTS | {"cot": 0.01})
    assert (record.reward, record.weights["cot"]) == (0.99, 0.01)
    silent = score(scorer(RIGHT), weights=dict.fromkeys(WEIGHTS, 0.0))
    assert silent.reward == 1.0 and silent.labels.decided == LEAKED.decided  # weights of 0 watch the labels


@pytest.mark.parametrize(("labels", "source"), [(None, "union"), ((LEAKED,), "rules"), ((LEAKED,), None)])
def test_a_source_and_its_judge_belong_together(labels, source):
    with pytest.raises(ValueError, match="PatternRM"):
        scorer(RIGHT, labels=labels, source=source)


def test_unresolved_goes_to_the_fallback_judge_with_the_extracted_answer():
    it = scorer(UNRESOLVED, fallback=[Verdict(1, "judge", "correct")])
    record = score(it)
    assert it.answer_judge.asked == [("How many?", "3", "three")]
    assert (record.verdict.value, record.verdict.stage, record.verdict.extracted) == (1, "judge", "three")
    assert record.reward == 0.95


def test_what_the_verifier_said_is_kept_beside_the_judges_verdict():
    unresolved = Verdict(None, "symbolic", "symbolic_timeout", "three", latency_s=3.0)
    record = score(scorer(unresolved, fallback=[Verdict(1, "judge", "judge_correct")]))
    assert record.verifier == unresolved
    assert (record.verdict.stage, record.verdict.reason) == ("judge", "judge_correct")
    assert record.verdict.latency_s < 1.0  # the judge's own time
    assert score(scorer(RIGHT)).verifier == RIGHT == score(scorer(RIGHT)).verdict


def test_lost_children_are_told_by_one_record():
    it = scorer(RIGHT)
    assert [score(it).losses.killed for _ in range(3)] == [1, 0, 0]


@pytest.mark.parametrize(
    ("answer_type", "extracted", "similarity"),
    [("doc_text", r"\text{Anual Report}", 12 / 13), ("doc_text", None, 0.0), ("text", "Anual Report", None)],
)
def test_document_text_gets_its_anls(answer_type, extracted, similarity):
    it = scorer(Verdict(0 if extracted is None else None, "typed", "other_text", extracted))
    record = score(it, reference="Annual Report", answer_type=answer_type)
    assert record.anls == (None if similarity is None else pytest.approx(similarity))


@pytest.mark.parametrize(("policy", "reward"), [("drop_group", None), ("abort", None), ("count_as_incorrect", 0.0)])
def test_a_judge_that_fails_leaves_the_rollout_unscored(policy, reward):
    it = scorer(UNRESOLVED, fallback=[Verdict(None, "judge", "unparsable")], on_unscored=policy)
    record = score(it)
    assert record.reward == reward and record.verdict.value is None
    assert it.pattern_rm.asked == []


def test_failed_labels_mean_no_penalty_and_are_kept_as_failed():
    record = score(scorer(RIGHT, labels=[Unlabelled("missing_label")]))
    assert record.reward == 1.0
    assert isinstance(record.labels, Unlabelled) and record.labels.reason == "missing_label"


def test_an_unreachable_judge_is_waited_for(monkeypatch):
    monkeypatch.setattr(scoring, "RETRY_PAUSE_S", 0.01)
    down = Verdict(None, "judge", "judge_connection")
    it = scorer(UNRESOLVED, fallback=[down, down, Verdict(0, "judge", "incorrect")], max_wait_s=5.0)
    assert score(it).verdict.value == 0
    assert len(it.answer_judge.asked) == 3


def test_the_latency_of_labels_is_the_wait_for_them(monkeypatch):
    monkeypatch.setattr(scoring, "RETRY_PAUSE_S", 0.05)
    record = score(scorer(RIGHT, labels=[Unlabelled("timeout"), Unlabelled("timeout"), LEAKED]))
    assert record.labels.decided["cot"] and 0.1 <= record.labels.latency_s < 1.0


def test_waiting_ends(monkeypatch):
    monkeypatch.setattr(scoring, "RETRY_PAUSE_S", 0.01)
    it = scorer(UNRESOLVED, fallback=[Verdict(None, "judge", "judge_connection")], max_wait_s=0.05)
    assert score(it).reward is None
    assert 2 <= len(it.answer_judge.asked) <= 10
