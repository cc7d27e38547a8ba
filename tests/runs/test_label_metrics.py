"""Label rates, agreement of the two sources, charged labels and weights, counted by hand."""

import pytest
from factories import labelled, scored
from factories import ruled as rule_labels

from foundation.labels import LABELS
from foundation.runs.label_metrics import agreement, label_metrics
from foundation.runs.records import Unlabelled

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.01}
FAILED = Unlabelled("timeout", 0.5)


def vector(digits, p=0.5):
    return labelled(*(label for label, digit in zip(LABELS, digits, strict=True) if digit == "1"), p=p)


def ruled(digits):
    """0, 1, or - where the rules abstain."""
    said = {"0": False, "1": True, "-": None}
    return rule_labels(**dict(zip(LABELS, (said[digit] for digit in digits), strict=True)))


def record(labels, rules, *, value=1, weights=WEIGHTS, **changes):
    return scored(value, labels=labels, rule_labels=rules, weights=weights, **changes)


BATCH = [
    record(vector("1000"), ruled("10--"), charged=dict(zip(LABELS, (1, 0, 0, 0), strict=True)), penalty=0.05),
    record(vector("1100"), ruled("11--"), charged=dict(zip(LABELS, (1, 1, 0, 0), strict=True)), penalty=0.1, z=0),
    record(vector("0000", p=None), ruled("1010"), charged=dict.fromkeys(LABELS, 0)),
    record(vector("0010"), ruled("0000"), charged=dict(zip(LABELS, (0, 0, 1, 0), strict=True)), penalty=0.02, value=0),
    record(FAILED, ruled("01-1")),
    record(None, ruled("00--"), weights=WEIGHTS | {"cot": 0.0}),
    record(None, None),
    record(None, ruled("00--")),
]


def test_rates_of_both_sources():
    metrics = label_metrics(BATCH)
    assert metrics["labelled"] == 4 / 8
    assert [metrics[f"label/{label}"] for label in LABELS] == [0.5, 0.25, 0.25, 0.0]
    assert metrics["trigger"] == 0.75
    assert metrics["label/without_probability"] == 0.25
    assert [metrics[f"rules/label/{label}"] for label in LABELS] == pytest.approx([3 / 7, 2 / 7, 1 / 7, 1 / 7])
    assert metrics["rules/trigger"] == pytest.approx(4 / 7)
    assert [metrics[f"rules/abstained/{label}"] for label in LABELS] == pytest.approx([0, 0, 5 / 7, 4 / 7])


def test_agreement_where_both_decided():
    found = agreement(BATCH)
    # cot: (1,1) (1,1) (0,1) (0,0): 3 of 4 equal; by chance .5 * .75 + .5 * .25 = .5
    assert found["cot"] == pytest.approx({"n": 4, "share": 0.75, "kappa": 0.5})
    # rep: (0,0) (1,1) (0,0) (0,0): equal; by chance .25 * .25 + .75 * .75 = .625
    assert found["rep"] == pytest.approx({"n": 4, "share": 1.0, "kappa": 1.0})
    # con: (0,1) (1,0): never equal; by chance .5
    assert found["con"] == pytest.approx({"n": 2, "share": 0.0, "kappa": -1.0})
    # pr: both always 0: there is nothing that chance could miss
    assert found["pr"] == {"n": 2, "share": 1.0}
    assert label_metrics(BATCH)["agreement/cot/kappa"] == pytest.approx(0.5)


def test_what_is_charged_and_what_it_took():
    metrics = label_metrics(BATCH)
    assert [metrics[f"charged/{label}"] for label in LABELS] == [0.5, 0.25, 0.25, 0.0]
    assert metrics["penalty/mean"] == pytest.approx(0.17 / 4)
    assert metrics["penalty/applied_mean"] == pytest.approx(0.05 / 8)  # right, and the gate open
    assert metrics["weight/cot"] == pytest.approx(0.05 * 7 / 8)
    assert metrics["weight/pr"] == pytest.approx(0.01)


def test_what_nobody_said_is_no_rate():
    metrics = label_metrics([record(None, None)])
    assert metrics == {"labelled": 0, "penalty/applied_mean": 0, **{f"weight/{k}": v for k, v in WEIGHTS.items()}}
