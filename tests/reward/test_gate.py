"""The gate is a function of seed, step, prompt and rollout, and a fair one."""

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reward_workers.gate import Gate


def decisions(gate: Gate, steps=range(1, 6), prompts=range(16), rollouts=range(8)) -> dict[tuple[int, int, int], bool]:
    return {
        (s, p, r): gate.is_open(step=s, group=p, rollout=r) for s, p, r in itertools.product(steps, prompts, rollouts)
    }


def test_order_and_worker_do_not_matter():
    forwards = decisions(Gate(seed=7))
    backwards = {
        key: Gate(seed=7).is_open(step=key[0], group=key[1], rollout=key[2]) for key in reversed(list(forwards))
    }
    assert forwards == backwards


@pytest.mark.parametrize("probability", [0.1, 0.6, 0.9])
def test_share_of_open_gates_is_the_probability(probability):
    gate = Gate(probability=probability, seed=1)
    opened = [gate.is_open(step=s, group=p, rollout=0) for s in range(100) for p in range(200)]
    # 20,000 draws: standard error at most .0035, so four of them are .014
    assert abs(sum(opened) / len(opened) - probability) < 0.015


def test_group_scope_shares_z_and_rollout_scope_does_not():
    groups = decisions(Gate(scope="group", seed=3))
    rollouts = decisions(Gate(scope="rollout", seed=3))
    by_group = {(s, p): {groups[s, p, r] for r in range(8)} for s in range(1, 6) for p in range(16)}
    assert all(len(values) == 1 for values in by_group.values())
    assert any(len({rollouts[s, p, r] for r in range(8)}) == 2 for s in range(1, 6) for p in range(16))


def test_seed_step_prompt_and_rollout_all_enter():
    base = decisions(Gate(seed=1))
    assert base != decisions(Gate(seed=2))
    for axis in range(3):
        shifted = {tuple(k + (i == axis) for i, k in enumerate(key)): value for key, value in base.items()}
        common = base.keys() & shifted.keys()
        assert any(base[key] != shifted[key] for key in common)


def test_numbers_do_not_run_into_each_other():
    """Step 1 prompt 11 and step 11 prompt 1 are different rollouts: over many pairs their gates must differ."""
    gate = Gate(probability=0.5)
    pairs = [
        (
            gate.is_open(step=a, group=int(f"{b}{c}"), rollout=0),
            gate.is_open(step=int(f"{a}{b}"), group=c, rollout=0),
        )
        for a, b, c in itertools.product(range(1, 6), repeat=3)
    ]
    assert any(left != right for left, right in pairs)


@given(st.integers(0, 10**6), st.integers(0, 10**6), st.integers(0, 64), st.floats(0, 1), st.floats(0, 1))
def test_a_higher_probability_never_closes_a_gate(step, prompt, rollout, p, q):
    low, high = sorted((p, q))
    opened = Gate(probability=low).is_open(step=step, group=prompt, rollout=rollout)
    assert not opened or Gate(probability=high).is_open(step=step, group=prompt, rollout=rollout)
