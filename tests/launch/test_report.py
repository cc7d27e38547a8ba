"""The report of a sweep from written summaries: means, spread, Pareto front, what is said of differences."""

from __future__ import annotations

import csv
import io
import json
import math
import re

import pytest
from rich.console import Console
from scipy import stats

from foundation.labels import LABELS
from foundation.settings.compose import ConfigError
from foundation.settings.terminal import FILE_WIDTH
from launch.sweep_report import main, write_report
from launch.sweeps.manifest import Manifest, Point
from launch.sweeps.objective import read_objective
from launch.sweeps.report.load import Run, SweepRuns, load_sweep
from launch.sweeps.report.statistics import Arm, arms_of, difference, effects, mean_of, pareto_front


def rates(trigger: float, **labels: float) -> dict:
    return {name: {"value": labels.get(name, trigger / 4)} for name in LABELS} | {"trigger": {"value": trigger}}


def summary(accuracy: float, trigger: float, judges=("oracle", "rules")) -> dict:
    last = {"step": 60, "accuracy": {"value": accuracy}, "tokens": 20.0} | {j: rates(trigger) for j in judges}
    first = {"step": 0, "accuracy": {"value": 0.5}, "tokens": 30.0} | {j: rates(0.6) for j in judges}
    return {
        "heldout": [first, last],
        "calls": {"pattern_rm": {"asked": 100}, "fallback": {"asked": 50}},
        "seconds_per_step": {"step": 6.0},
    }


@pytest.fixture
def sweep_dir(tmp_path):
    """Two arms, three seeds: base_rl triggers much more, and its accuracy is no different beyond its spread."""
    results = {
        ("base_rl", 0): (0.60, 0.70),
        ("base_rl", 1): (0.64, 0.74),
        ("base_rl", 2): (0.62, 0.66),
        ("pattern_rl", 0): (0.61, 0.08),
        ("pattern_rl", 1): (0.65, 0.06),
        ("pattern_rl", 2): (0.60, 0.10),
    }
    manifest = Manifest(tmp_path / "manifest.json", "<demo>", {})
    for (mix, seed), figures in results.items():
        name = f"{mix}-{seed}"
        folder = tmp_path / name
        folder.mkdir()
        (folder / "summary.json").write_text(json.dumps(summary(*figures)))
        values = {"reward_mix": mix, "seed": str(seed)}
        manifest.points[name] = Point(name, values, [], name, str(folder), state="finished")
    manifest.points["late"] = Point(
        "late", {"seed": "9"}, [], "late", "/nowhere", state="failed", reason="out of memory"
    )
    manifest.save()
    return tmp_path


def run(seed: str, accuracy: float, **factors: str) -> Run:
    return Run(seed, factors, seed, {"accuracy": accuracy}, {}, {}, None)


def arm(*accuracies: float) -> Arm:
    return Arm({"a": "1"}, tuple(run(str(i), value) for i, value in enumerate(accuracies)))


def test_mean_and_spread_by_hand():
    mean = mean_of([0.2, 0.4, 0.6])
    assert mean.value == pytest.approx(0.4)
    assert mean.spread == pytest.approx(0.2)  # sqrt((.04 + 0 + .04) / 2)
    assert math.isnan(mean_of([0.3]).spread)
    assert mean_of([]) is None


def test_a_difference_is_welchs_interval_over_seeds():
    first, second = [0.61, 0.65, 0.60], [0.60, 0.64, 0.62]
    found = difference(arm(*first), arm(*second), "accuracy")
    interval = stats.ttest_ind(first, second, equal_var=False).confidence_interval(0.95)
    assert found.value == pytest.approx(0.0)
    assert (found.low, found.high) == pytest.approx((interval.low, interval.high))
    assert found.verdict == "inside the seed spread"


@pytest.mark.filterwarnings("error")
def test_an_arm_that_is_equal_in_every_seed_has_the_other_ones_interval():
    found = difference(arm(0.6, 0.6), arm(0.4, 0.5), "accuracy")
    # Student's t with one degree of freedom, 12.706, times sqrt(.005 / 2) = .05
    assert (found.value, found.low, found.high) == pytest.approx((0.15, 0.15 - 0.6353, 0.15 + 0.6353), abs=1e-4)


def test_what_can_be_said_depends_on_the_spread():
    assert difference(arm(0.9, 0.91, 0.92), arm(0.1, 0.12, 0.11), "accuracy").verdict == "beyond the seed spread"
    assert difference(arm(0.9), arm(0.1), "accuracy").verdict == "one seed: spread unknown"
    assert difference(arm(0.5, 0.5), arm(0.5, 0.5), "accuracy").verdict == "inside the seed spread"
    assert difference(arm(0.6, 0.6), arm(0.5, 0.5), "accuracy").clear is True
    assert difference(arm(0.6), arm(0.5), "trigger") is None


def test_pareto_front():
    # accuracy up, Trigger down: b beats c; a and d are extremes; e equals b.
    points = {"a": (0.9, 0.5), "b": (0.8, 0.2), "c": (0.7, 0.3), "d": (0.6, 0.1), "e": (0.8, 0.2)}
    front = [list(points)[i] for i in pareto_front(list(points.values()))]
    assert front == ["a", "b", "d", "e"]


def test_arms_are_in_the_order_of_numbers_and_effects_average_over_the_rest():
    runs = [
        run("0", 0.1, w="0.1", p="1"),
        run("0", 0.2, w="0.02", p="1"),
        run("0", 0.3, w="0.1", p="2"),
        run("0", 0.4, w="0.02", p="2"),
    ]
    factors = {"w": ["0.02", "0.1"], "p": ["1", "2"]}
    assert [a.name for a in arms_of(runs, factors)] == ["w=0.02 p=1", "w=0.02 p=2", "w=0.1 p=1", "w=0.1 p=2"]
    found = {(e.factor, e.value): e.mean.value for e in effects(runs, factors, ["accuracy"])}
    assert found == pytest.approx({("w", "0.02"): 0.3, ("w", "0.1"): 0.2, ("p", "1"): 0.15, ("p", "2"): 0.35})


def test_an_arm_that_names_another_setting_is_an_arm_of_its_own():
    runs = (run("0", 0.1, mix="a"), run("0", 0.2, mix="b"), run("0", 0.3, mix="b", scope="group"))
    sweep = SweepRuns("s", runs, "rules", ())
    assert sweep.factors == {"mix": ["a", "b"], "scope": ["default", "group"]}
    assert [arm.name for arm in arms_of(runs, sweep.factors)] == ["mix=a", "mix=b", "mix=b scope=group"]


def test_only_a_judge_of_every_run_is_compared(sweep_dir):
    assert load_sweep(Manifest.read(sweep_dir / "manifest.json")).judge == "toy oracle"
    path = sweep_dir / "base_rl-0" / "summary.json"
    path.write_text(json.dumps(summary(0.6, 0.3, judges=("rules",))))
    assert load_sweep(Manifest.read(sweep_dir / "manifest.json")).judge == "rules"


def test_the_report_is_written_and_says_what_the_seeds_allow(sweep_dir):
    console = Console(width=200, highlight=False, record=True, file=io.StringIO())
    write_report(load_sweep(Manifest.read(sweep_dir / "manifest.json")), sweep_dir / "report", console)
    text = console.export_text()
    assert "61.2" not in text and "62.0 ± 2.0" in text  # base_rl: mean of 60, 64, 62; deviation 2
    assert "8.0 ± 2.0" in text  # Trigger of pattern_rl: 8, 6, 10
    assert (
        "reward_mix=pattern_rl against reward_mix=base_rl: accuracy +0.0 points (inside the seed spread), trigger "
        "-62.0 points (beyond the seed spread)."
    ) in text
    assert "left out: late: failed (out of memory)" in text
    html = (sweep_dir / "report" / "report.html").read_text()
    assert html.count("data:image/png;base64,") == 3
    assert "&lt;demo&gt;" in html and "<demo>" not in html
    assert not re.search(r"(src|href)=\"http", html)
    for name in ("pareto.png", "effects.png", "cost.png"):
        assert (sweep_dir / "report" / name).read_bytes().startswith(b"\x89PNG")
    rows = list(csv.DictReader((sweep_dir / "report" / "runs.csv").open()))
    assert len(rows) == 6
    assert (rows[3]["reward_mix"], rows[3]["seed"], rows[3]["trigger"]) == ("pattern_rl", "0", "0.08")


def test_names_of_arms_are_whole_in_a_log_file(sweep_dir):
    console = Console(width=FILE_WIDTH, highlight=False, record=True, file=io.StringIO())
    write_report(load_sweep(Manifest.read(sweep_dir / "manifest.json")), sweep_dir / "report", console)
    rows = [line for line in console.export_text().splitlines() if line.startswith("│ * reward_mix=pattern_rl ")]
    assert len(rows) == 2  # rates, cost
    assert "62.0 ± 2.6" in rows[0] and "8.0 ± 2.0" in rows[0]  # accuracy of 61, 65, 60
    assert "100 ± 0" in rows[1] and "6.00 ± 0.00" in rows[1]


def test_one_arm_has_nothing_to_compare(sweep_dir, capsys):
    manifest = Manifest.read(sweep_dir / "manifest.json")
    manifest.points = {"base_rl-0": manifest.points["base_rl-0"]}
    manifest.save()
    assert main([str(sweep_dir)]) == 0
    assert "nothing to compare" in capsys.readouterr().out


def test_runs_can_lie_elsewhere(sweep_dir, tmp_path, capsys):
    manifest = Manifest.read(sweep_dir / "manifest.json")
    for point in manifest.points.values():
        point.run_dir = f"/cluster/runs/{point.name}"
    manifest.save()
    assert main([str(sweep_dir)]) == 2
    assert "is not on this machine" in capsys.readouterr().err
    assert main([str(sweep_dir), "--runs", str(sweep_dir)]) == 0


def test_a_folder_without_a_sweep_is_refused(tmp_path, capsys):
    assert main([str(tmp_path)]) == 2
    assert "manifest.json does not exist" in capsys.readouterr().err


def test_the_objective_of_a_search(sweep_dir):
    folder = sweep_dir / "pattern_rl-0"
    assert read_objective(folder, ["trigger"]) == 0.08
    assert read_objective(folder, ["accuracy", "trigger"]) == (0.61, 0.08)
    with pytest.raises(ConfigError, match=r"sweep\.objective=reward: choose among accuracy"):
        read_objective(folder, ["reward"])
    with pytest.raises(ConfigError, match="is not on this machine"):
        read_objective(sweep_dir / "absent", ["trigger"])
