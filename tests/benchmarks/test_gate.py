"""The gate study: closed forms against hand calculation, simulation and the project's own gate."""

from __future__ import annotations

import json
import math
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from factories import scored

from benchmarks import gate
from benchmarks.gate_groups import draw_groups, read_groups, resized
from benchmarks.gate_noise import advantages, gate_effect, gate_only_variance, kind_of
from foundation.labels import LABELS
from foundation.runs.scored_rollout import ScoredRollout, write_rollouts
from reward_workers.gate import Gate

RATES = {"cot": 0.3, "rep": 0.4, "con": 0.1, "pr": 0.2}


@pytest.mark.parametrize("n", [8, 16])
@pytest.mark.parametrize("probability", [0.3, 0.6, 1.0])
def test_all_right_and_all_failing_is_pure_noise(n: int, probability: float) -> None:
    """k open gates of n: the squares of the advantages sum to n - 1, unless all rewards are equal."""
    all_equal = probability**n + (1 - probability) ** n
    alone = gate_effect((0.05,) * n, probability, "rollout")
    assert alone.mean == pytest.approx([0.0] * n, abs=1e-9)
    assert alone.variance == pytest.approx([(n - 1) / n * (1 - all_equal)] * n, abs=1e-4)
    assert alone.zero_variance == pytest.approx(all_equal)
    assert gate_only_variance((0.05,) * n, probability, "rollout") == pytest.approx(1 - all_equal)
    shared = gate_effect((0.05,) * n, probability, "group")
    assert (shared.mean, shared.variance, shared.zero_variance) == ((0.0,) * n, (0.0,) * n, pytest.approx(1.0))
    assert gate_only_variance((0.05,) * n, probability, "group") == 0.0


def test_the_figures_of_the_requirements() -> None:
    """By hand: mean square .86 in the group above; about -.42 and -.43 for a failing rollout at 60 % failing."""
    assert gate_effect((0.05,) * 8, 0.6, "rollout").variance[0] == pytest.approx(0.86, abs=0.005)
    rng = np.random.default_rng(0)
    groups = [tuple(0.05 if failing else 0.0 for failing in rng.random(8) < 0.6) for _ in range(1500)]
    for scope in ("rollout", "group"):
        means = [
            mean
            for group in groups
            for mean, penalty in zip(gate_effect(group, 0.6, scope).mean, group, strict=True)
            if penalty
        ]
        assert np.mean(means) == pytest.approx(-0.425, abs=0.015)


def test_two_rollouts_by_hand() -> None:
    """One clean, one with a penalty: where its gate opens the advantages are +-1 / sqrt(2), else both are 0."""
    half = 1 / math.sqrt(2)
    for scope in ("rollout", "group"):
        effect = gate_effect((0.0, 0.05), 0.6, scope)
        assert effect.mean == pytest.approx((0.6 * half, -0.6 * half), abs=1e-4)
        assert effect.variance == pytest.approx([0.24 * 0.5] * 2, abs=1e-4)
        assert effect.ungated == pytest.approx((half, -half), abs=1e-4)
        assert effect.zero_variance == pytest.approx(0.4)


@pytest.mark.parametrize("scope", ["rollout", "group"])
@pytest.mark.parametrize("probability", [0.3, 0.6])
@pytest.mark.parametrize(
    "group",
    [
        (0.05, 0.05, 0.0, 0.1, 0.02, 0.05, 0.0, 0.09),
        (None, 0.05, 0.0, None, 0.1, 0.05, 0.05, 0.0),
        (None, None, None, 0.05),
        (None, None),
    ],
)
def test_closed_forms_against_redraws_of_z(group: tuple[float | None, ...], probability: float, scope: Any) -> None:
    draws = 20_000
    rng = np.random.default_rng(1)
    z = rng.random((draws, len(group) if scope == "rollout" else 1)) < probability
    right = np.array([penalty is not None for penalty in group])
    penalty = np.array([q or 0.0 for q in group])
    rewards = right * (1.0 - z * penalty)
    simulated = np.array([advantages(row) for row in rewards])
    effect = gate_effect(group, probability, scope)
    assert effect.mean == pytest.approx(simulated.mean(axis=0), abs=0.03)
    assert effect.variance == pytest.approx(simulated.var(axis=0), abs=0.03)
    assert effect.zero_variance == pytest.approx(np.mean(np.ptp(rewards, axis=1) == 0), abs=0.02)


def test_closed_forms_against_the_gate_of_the_reward() -> None:
    """The hash that decides z in training, over 4,000 steps of one prompt."""
    group = (0.05, 0.05, 0.0, 0.1)
    for scope in ("rollout", "group"):
        hashed = Gate(probability=0.6, scope=scope, seed=5)
        simulated = np.array(
            [
                advantages([1.0 - q * hashed.is_open(step=step, group=3, rollout=i) for i, q in enumerate(group)])
                for step in range(4000)
            ]
        )
        effect = gate_effect(group, 0.6, scope)
        assert effect.mean == pytest.approx(simulated.mean(axis=0), abs=0.06)
        assert effect.variance == pytest.approx(simulated.var(axis=0), abs=0.06)


@pytest.mark.integration
def test_advantages_are_verls() -> None:
    import torch

    rewards = [1.0, 0.95, 0.0, 0.9]
    values = torch.tensor(rewards)
    expected = (values - values.mean()) / (torch.std(values) + 1e-6)
    assert advantages(rewards) == pytest.approx(expected.tolist(), abs=1e-5)
    assert advantages([1.0, 1.0]).tolist() == [0.0, 0.0]


def test_kinds() -> None:
    groups = [(None, None), (0.0, 0.0), (0.05, 0.05), (0.05, 0.0), (None, 0.05)]
    assert [kind_of(group) for group in groups] == list(gate.KINDS)
    assert all(gate_only_variance(group, 0.6, "rollout") == 0 for group in groups if group != (0.05, 0.05))


def test_simulated_groups_have_the_rates_asked_for() -> None:
    groups = draw_groups(3000, 8, accuracy=0.6, rates=RATES, concentration=2.0, seed=3)
    right = [penalty for group in groups for penalty in group if penalty is not None]
    assert len(right) / (3000 * 8) == pytest.approx(0.6, abs=0.03)
    # no label at all: .7 * .6 * .9 * .8
    assert right.count(0.0) / len(right) == pytest.approx(0.3024, abs=0.03)
    assert max(right) == 0.1 and {0.02, 0.05, 0.07} <= set(right)
    assert groups == draw_groups(3000, 8, accuracy=0.6, rates=RATES, concentration=2.0, seed=3)


def row(value: int | None, penalty: float | None, *, group: int = 0, attempt: int = 0) -> ScoredRollout:
    """A record; penalty None: nobody knows the labels."""
    charged = None if penalty is None else dict.fromkeys(LABELS, 1.0)
    return scored(value, group=group, attempt=attempt, charged=charged, penalty=penalty or 0.0)


def write(path: Path, rows: list[ScoredRollout]) -> Path:
    path.touch()
    for content in rows:
        write_rollouts(path, content.attempt, [content])
    return path


def test_unknown_labels_are_drawn_from_the_labelled_of_the_group(tmp_path: Path) -> None:
    rows = [
        *(row(1, 0.05), row(1, None), row(0, None), row(1, 0.05)),
        *(row(1, 0.1, group=1), row(None, None, group=1)),  # an unscored rollout: no group
        *(row(1, None, group=2), row(0, 0.02, group=2)),  # a wrong answer's labels say nothing of right ones
        *(row(1, 0.0, attempt=1), row(1, 0.0, attempt=1)),  # a repeated step is a group of its own
        row(1, 0.02, group=3),  # alone
    ]
    found = read_groups(write(tmp_path / "train.jsonl", rows), seed=0)
    assert found.groups[0] == (0.05, 0.05, None, 0.05)
    assert found.groups[1][1] is None and found.groups[1][0] in (0.0, 0.05)
    assert found.groups[2] == (0.0, 0.0)
    assert len(found.groups) == 3 and found.imputed == pytest.approx(2 / 6)


def test_other_sizes_are_drawn_from_the_group() -> None:
    made = resized([(0.05, None), (0.0, 0.0, 0.0, 0.0)], 4, seed=0)
    assert len(made[0]) == 4 and set(made[0]) <= {0.05, None}
    assert made[1] == (0.0, 0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ([], "no group"),
        ([row(1, 0.0)], "no group"),
        ([row(1, None), row(1, None)], "no right rollout has labels"),
    ],
)
def test_files_without_groups_are_refused(tmp_path: Path, rows: list[ScoredRollout], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_groups(write(tmp_path / "train.jsonl", rows), seed=0)


def test_a_record_of_another_version_is_named(tmp_path: Path) -> None:
    file = write(tmp_path / "train.jsonl", [row(1, 0.0)])
    file.write_text(file.read_text() + json.dumps({"step": 1, "group": 0}) + "\n")
    with pytest.raises(ValueError, match=r"train\.jsonl:2: a rollout record of schema 1"):
        read_groups(file, seed=0)


def run(monkeypatch: pytest.MonkeyPatch, *arguments: str) -> None:
    monkeypatch.setattr(sys, "argv", ["gate", *arguments])
    gate.main()


def test_the_command_writes_figures_and_a_picture(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    groups = [[0.05] * 4, [0.05, 0.0, 0.1, 0.05], [0.0, 0.0, 0.0, 0.0]]
    rows = [row(1, penalty, group=number) for number, group in enumerate(groups) for penalty in group]
    rows += [row(value, None if value == 0 else 0.0, group=9) for value in (0, 1, 0, 0)]
    records = write(tmp_path / "train.jsonl", rows)
    out, plot = tmp_path / "gate.json", tmp_path / "gate.png"
    run(monkeypatch, "--records", str(records), "--sizes", "4", "--out", str(out), "--plot", str(plot))
    assert "labels of 0.0% of the right rollouts" in capsys.readouterr().out
    written = json.loads(out.read_text())
    assert [row["probability"] for row in written["rows"]] == [0.3, 0.3, 0.6, 0.6, 1.0, 1.0]
    of = {(row["probability"], row["scope"]): row for row in written["rows"]}
    assert of[0.6, "rollout"]["noise_by_kind"]["all right, same penalty"] == pytest.approx(
        0.75 * (1 - 0.6**4 - 0.4**4), abs=1e-4
    )
    assert of[0.6, "rollout"]["gate_only_variance"] == pytest.approx((1 - 0.6**4 - 0.4**4) / 4)
    assert of[0.6, "group"]["gate_only_variance"] == 0
    assert of[1.0, "rollout"]["noise"] == pytest.approx(0, abs=1e-9)
    assert of[1.0, "rollout"]["cosine"] == pytest.approx(1)
    assert of[1.0, "rollout"]["zero_variance"] == pytest.approx(0.5)  # the clean group and the all-failing one
    assert plot.read_bytes().startswith(b"\x89PNG")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((), "--records --simulate"),
        (("--simulate", "--accuracy", "1"), "--accuracy 1"),
        (("--simulate", "--probabilities", "1.5"), "--probabilities 1.5"),
        (("--simulate", "--sizes", "1"), "--sizes 1"),
        (("--records", "absent.jsonl"), "absent.jsonl holds no group"),
    ],
)
def test_wrong_arguments_exit_with_2(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], arguments: tuple[str, ...], message: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        run(monkeypatch, *arguments)
    assert ended.value.code == 2
    assert message in capsys.readouterr().err
