"""The weights of each step, written out by hand, and their way through a checkpoint."""

import json

import pytest

from reward_workers.mix import Mix
from trainer.grpo.weight_schedule import STATE_FILE, build_schedule, restore_state, save_state

WEIGHTS = {"cot": 0.05, "rep": 0.05, "con": 0.02, "pr": 0.02}
GUARD = {
    "kind": "accuracy_guard",
    "reference": "best",
    "average_steps": 2,
    "window_steps": 3,
    "margin": 0.05,
    "lower_by": 0.5,
    "raise_by": 1.5,
    "floor": 0.2,
}


def schedule(**section):
    return build_schedule({"weights": WEIGHTS, "cap": 0.1, "schedule": section})


def factors(made, accuracies):
    """The guard's factor after each observed accuracy."""
    found = []
    for accuracy in accuracies:
        made.observe(accuracy)
        found.append(pytest.approx(made.factors(1)["cot"]))
    return found


def test_constant_is_the_default_of_the_paper():
    made = schedule(kind="constant")
    assert [made.weights(step) for step in (1, 600)] == [WEIGHTS, WEIGHTS]
    made.observe(0.0)
    assert made.weights(2) == WEIGHTS and made.state() == {} and made.metrics() == {}


def test_cap_and_weights_travel_together_and_validation_gets_the_set_ones():
    made = schedule(kind="linear_warmup", steps=4)
    assert made.mix(2, validate=False) == Mix(pytest.approx({k: v / 2 for k, v in WEIGHTS.items()}), cap=0.1)
    assert made.mix(2, validate=True) == Mix(WEIGHTS, cap=0.1)


def test_linear_warmup_reaches_the_full_weights_and_stays():
    made = schedule(kind="linear_warmup", steps=4)
    assert [made.weights(step)["cot"] for step in (1, 2, 4, 5)] == pytest.approx([0.0125, 0.025, 0.05, 0.05])
    assert made.weights(3) == pytest.approx({"cot": 0.0375, "rep": 0.0375, "con": 0.015, "pr": 0.015})


def test_labels_join_a_curriculum_at_their_steps():
    made = schedule(kind="curriculum", from_step={"cot": 1, "rep": 1, "con": 3, "pr": 5})
    assert made.weights(2) == WEIGHTS | {"con": 0.0, "pr": 0.0}
    assert made.weights(3) == WEIGHTS | {"pr": 0.0}
    assert made.weights(5) == WEIGHTS


def test_the_guard_cuts_below_its_best_past_and_raises_slowly():
    # means of two:        -    .60   .60   .50 cut    .40 pause  .40 cut    .50    .60
    # best of three before: -    -     .60   .60        .60        .60        .50    .50
    accuracies = [0.6, 0.6, 0.6, 0.4, 0.4, 0.4, 0.6, 0.6]
    assert factors(schedule(**GUARD), accuracies) == [1, 1, 1, 0.5, 0.5, 0.25, 0.375, 0.5625]


def test_a_fall_within_the_margin_is_no_fall():
    # The mean falls from .60 to .57: the margin is .05.
    assert factors(schedule(**GUARD), [0.6, 0.6, 0.57, 0.57]) == [1, 1, 1, 1]


def test_the_guard_keeps_its_floor():
    # Each mean stays below the best of the ten before, so that only the pauses separate the cuts.
    made = schedule(**(GUARD | {"window_steps": 10}))
    accuracies = [0.9, 0.9, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1, 0.1]
    assert factors(made, accuracies) == [1, 1, 0.5, 0.5, 0.25, 0.25, 0.2, 0.2, 0.2]
    assert made.weights(9) == pytest.approx({"cot": 0.01, "rep": 0.01, "con": 0.004, "pr": 0.004})


def test_the_moving_average_follows_a_slow_decline_and_the_best_does_not():
    decline = [0.9 - 0.02 * step for step in range(20)]
    ema, best = (
        schedule(**(GUARD | {"reference": reference, "window_steps": window}))
        for reference, window in (("ema", 3), ("best", 20))
    )
    assert factors(ema, decline)[-1] == 1
    assert factors(best, decline)[-1] == 0.2


def test_the_average_by_hand():
    # alpha = 2 / (3 + 1): .6, then .5 * .6 + .5 * .2 = .4, then .5 * .4 + .5 * .4 = .4; the mean of .3 is a fall
    made = schedule(**(GUARD | {"reference": "ema"}))
    for accuracy in (0.6, 0.2, 0.4):
        made.observe(accuracy)
    assert made.metrics() == pytest.approx(
        {"accuracy_guard/factor": 0.5, "accuracy_guard/accuracy": 0.3, "accuracy_guard/reference": 0.4}
    )


@pytest.mark.parametrize("reference", ["best", "ema"])
def test_a_resume_goes_on_as_if_nothing_had_happened(tmp_path, reference):
    accuracies = [0.6, 0.7, 0.6, 0.4, 0.3, 0.4, 0.6, 0.6, 0.7, 0.2, 0.2]
    whole = factors(schedule(**(GUARD | {"reference": reference})), accuracies)
    assert len({value.expected for value in whole}) > 3
    for stop in range(1, len(accuracies)):
        first = schedule(**(GUARD | {"reference": reference}))
        before = factors(first, accuracies[:stop])
        checkpoint = tmp_path / f"global_step_{stop}"
        save_state(first, checkpoint)
        second = schedule(**(GUARD | {"reference": reference}))
        assert restore_state(second, checkpoint)
        assert before + factors(second, accuracies[stop:]) == [value.expected for value in whole]


def test_a_schedule_without_a_state_writes_nothing(tmp_path):
    made = schedule(kind="linear_warmup", steps=4)
    save_state(made, tmp_path / "global_step_1")
    assert list(tmp_path.iterdir()) == []
    assert restore_state(made, tmp_path / "global_step_1")


def test_a_checkpoint_without_the_state_is_told(tmp_path):
    assert not restore_state(schedule(**GUARD), tmp_path)


def test_the_state_is_json(tmp_path):
    made = schedule(**GUARD)
    factors(made, [0.6, 0.6, 0.3])
    save_state(made, tmp_path)
    assert json.loads((tmp_path / STATE_FILE).read_text()) == made.state()
