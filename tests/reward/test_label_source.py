"""What the penalty charges, by source and kind; every expected value is written out by hand."""

import pytest

from foundation.labels import LABELS
from foundation.runs.records import Labels, RuleLabels, Unlabelled
from reward_workers.label_source import asks_pattern_rm, charged_labels, decided_by_rules


def vector(*values):
    return dict(zip(LABELS, values, strict=True))


def ruled(*seen):
    return RuleLabels(vector(*seen))


JUDGED = Labels(vector(True, False, True, False), vector(0.9, 0.2, 0.6, 0.1))
RULES = ruled(False, True, None, True)


@pytest.mark.parametrize(
    ("source", "kind", "charged"),
    [
        ("pattern_rm", "hard", (1, 0, 1, 0)),
        ("pattern_rm", "expected", (0.9, 0.2, 0.6, 0.1)),
        ("rules", "hard", (0, 1, 0, 1)),
        ("union", "hard", (1, 1, 1, 1)),
        ("union", "expected", (0.9, 1, 0.6, 1)),
        ("agreement", "hard", (0, 0, 1, 0)),  # con: the rules abstain, PatternRM decides
        ("agreement", "expected", (0, 0.2, 0.6, 0.1)),
    ],
)
def test_sources(source, kind, charged):
    found = charged_labels(source, kind, JUDGED, RULES)
    assert found == dict(zip(("cot", "rep", "con", "pr"), charged, strict=True))


def test_a_missing_probability_counts_as_the_hard_label():
    judged = Labels(vector(True, False, True, False), vector(None, None, 0.6, 0.1))
    assert charged_labels("pattern_rm", "expected", judged, RULES) == {"cot": 1, "rep": 0, "con": 0.6, "pr": 0.1}


@pytest.mark.parametrize("judged", [None, Unlabelled("timeout")])
def test_without_pattern_rm(judged):
    """Not asked: nothing is known. Asked and failed: it costs nothing, and what the rules saw stands in a union."""
    assert charged_labels("pattern_rm", "hard", judged, RULES) is None
    assert charged_labels("agreement", "hard", judged, RULES) is None
    union = charged_labels("union", "hard", judged, RULES)
    assert union == (None if judged is None else {"cot": 0, "rep": 1, "con": 0, "pr": 1})
    assert charged_labels("rules", "hard", judged, RULES) == {"cot": 0, "rep": 1, "con": 0, "pr": 1}


def test_an_empty_response_is_charged_nothing():
    assert charged_labels("rules", "hard", None, None) is None


NOTHING = ruled(False, False, False, False)
EVERYTHING = ruled(True, True, True, True)


@pytest.mark.parametrize(
    ("source", "rules", "decided"),
    [
        ("agreement", NOTHING, True),
        ("agreement", ruled(False, False, None, False), False),
        ("agreement", EVERYTHING, False),
        ("union", EVERYTHING, True),
        ("union", NOTHING, False),
        ("pattern_rm", NOTHING, False),
        ("pattern_rm", EVERYTHING, False),
        ("rules", RULES, True),
    ],
)
def test_pattern_rm_is_needed_unless_the_rules_decide(source, rules, decided):
    assert decided_by_rules(source, rules) is decided
    if decided:  # then it is known without PatternRM, and the same whatever PatternRM would say
        known = charged_labels(source, "hard", None, rules)
        for judged in (Labels(vector(*4 * [False])), Labels(vector(*4 * [True]))):
            assert charged_labels(source, "hard", judged, rules) == known is not None


def test_who_needs_a_server():
    def asks(penalty, source):
        return asks_pattern_rm({"pattern_penalty": penalty, "labels": {"source": source}})

    assert [asks(True, source) for source in ("pattern_rm", "rules", "union", "agreement")] == [True, False, True, True]
    assert not asks(False, "pattern_rm")
