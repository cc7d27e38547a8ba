"""Reward table of the paper: 16 label vectors x z x verdict."""

import itertools

import pytest

from foundation.labels import LABELS
from reward_workers.mix import Mix

PAPER = Mix(weights={"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}, cap=0.1)

# Reward of a right answer behind an open gate, by (cot, rep, con, pr); written out by hand.
OPEN_AND_CORRECT = {
    (0, 0, 0, 0): 1.00,
    (0, 0, 0, 1): 0.98,
    (0, 0, 1, 0): 0.98,
    (0, 0, 1, 1): 0.96,
    (0, 1, 0, 0): 0.95,
    (0, 1, 0, 1): 0.93,
    (0, 1, 1, 0): 0.93,
    (0, 1, 1, 1): 0.91,
    (1, 0, 0, 0): 0.95,
    (1, 0, 0, 1): 0.93,
    (1, 0, 1, 0): 0.93,
    (1, 0, 1, 1): 0.91,
    (1, 1, 0, 0): 0.90,
    (1, 1, 0, 1): 0.90,
    (1, 1, 1, 0): 0.90,
    (1, 1, 1, 1): 0.90,
}


@pytest.mark.parametrize(("vector", "reward"), OPEN_AND_CORRECT.items())
def test_reward_table(vector, reward):
    labels = dict(zip(LABELS, map(bool, vector), strict=True))
    assert PAPER.reward(correct=True, gate_open=True, labels=labels) == reward
    assert PAPER.reward(correct=True, gate_open=False, labels=labels) == 1.0
    assert PAPER.reward(correct=False, gate_open=True, labels=labels) == 0.0
    assert PAPER.reward(correct=False, gate_open=False, labels=labels) == 0.0


def test_no_labels_cost_nothing():
    assert PAPER.penalty(None) == 0.0
    assert PAPER.reward(correct=True, gate_open=True, labels=None) == 1.0


def test_probabilities_are_weighed_and_the_sum_is_capped():
    """min(cap, sum w p): .05 * .5 + .05 * .5 + .02 * .5 + .02 * .5 = .07; all certain: .14, capped."""
    assert PAPER.penalty(dict.fromkeys(LABELS, 0.5)) == 0.07
    assert PAPER.penalty(dict.fromkeys(LABELS, 1.0)) == 0.1
    assert PAPER.reward(correct=True, gate_open=True, labels=dict.fromkeys(LABELS, 0.5)) == 0.93


def test_cap_and_weights_are_used():
    mix = Mix(weights={"cot": 0.5, "rep": 0.25, "con": 0.0, "pr": 1.0}, cap=0.6)
    assert mix.penalty({"cot": True, "rep": False, "con": True, "pr": False}) == 0.5
    assert mix.penalty({"cot": True, "rep": True, "con": True, "pr": True}) == 0.6


def test_reward_stays_in_0_to_1_for_a_cap_above_1():
    mix = Mix(weights=dict.fromkeys(LABELS, 1.0), cap=3.0)
    for vector in itertools.product((False, True), repeat=4):
        assert 0.0 <= mix.reward(correct=True, gate_open=True, labels=dict(zip(LABELS, vector, strict=True))) <= 1.0
