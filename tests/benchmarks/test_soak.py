"""What a soak calls growth: a real slope that matters, not noise, and not what fills during the warm-up."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import time

import pytest

from benchmarks.soak_figures import Sample, complaints, look, process_name, summary, trend

WARM_UP_S = 450.0


def samples(megabytes, fds=lambda at_s: 10, zombies=0):
    """Half an hour, a sample every ten seconds."""
    return [Sample(s, int(megabytes(s) * 1e6), int(fds(s)), 3, 1, zombies) for s in range(0, 1801, 10)]


def test_the_trend_is_that_of_a_line_after_the_warm_up():
    # 50 MB during the warm-up, then 100 MB and 12 MB an hour.
    found = trend(samples(lambda s: 50 if s < WARM_UP_S else 100 + 12 * (s - WARM_UP_S) / 3600), "uss_bytes", WARM_UP_S)
    assert found.per_hour == pytest.approx(12e6, rel=0.01)
    assert found.low == pytest.approx(12e6, rel=0.02) and found.high == pytest.approx(12e6, rel=0.02)
    # 1,350 s remain: their thirds have their medians at 225 s and at 1,125 s.
    assert found.begin == pytest.approx(100.75e6, rel=0.001) and found.end == pytest.approx(103.75e6, rel=0.001)


def test_too_few_samples_have_no_trend():
    assert trend(samples(lambda s: 100)[:19], "uss_bytes", 0.0) is None


def test_a_constant_has_no_slope_and_no_uncertainty():
    found = trend(samples(lambda s: 100), "uss_bytes", WARM_UP_S)
    assert (found.per_hour, found.low, found.high) == (0.0, 0.0, 0.0)


def test_noise_around_a_level_is_flat():
    draw = random.Random(1)
    grown = [complaints(samples(lambda s: 300 + draw.gauss(0, 5)), WARM_UP_S) for _ in range(20)]
    assert grown == [[]] * 20


def test_a_certain_slope_that_is_too_small_to_matter_is_flat():
    assert complaints(samples(lambda s: 300 + s / 1800), WARM_UP_S) == []  # 1 MB in half an hour


@pytest.mark.parametrize(
    ("series", "complaint"),
    [
        (samples(lambda s: 300 + 40 * s / 1800), "memory grow"),
        (samples(lambda s: 300, fds=lambda s: 20 + s / 200), "descriptors grow"),
        (samples(lambda s: 300, zombies=1), "ended children are not waited for"),
    ],
    ids=["memory", "descriptors", "zombies"],
)
def test_what_leaks_is_named(series, complaint):
    assert complaints(series, WARM_UP_S) == [complaint]
    table, found = summary({0: series}, {0: "all processes"}, WARM_UP_S)
    assert found == [f"all processes: {complaint}"] and table.row_count == 1


def test_a_soak_that_is_too_short_is_not_called_flat():
    table, found = summary({0: samples(lambda s: 100)[:50]}, {0: "all processes"}, WARM_UP_S)
    assert table.row_count == 0 and found[0].startswith("no verdict")


def test_processes_are_named_by_what_they_are():
    assert process_name(["ray::RewardLoopWorker.compute_score"], "x") == "RewardLoopWorker"
    assert process_name(["ray::IDLE"], "x") == "IDLE"
    assert process_name(["python", "-m", "reward_workers.verifier.symbolic_worker"], "x") == "symbolic child"
    assert process_name(["/usr/bin/raylet", "--port"], "raylet") == "raylet"


@pytest.mark.integration
def test_a_look_sees_the_children_of_this_process():
    child = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"], close_fds=True)
    try:
        seen = look(time.monotonic())
        name, sample = seen[child.pid]
        assert name.startswith("python") and sample.uss_bytes > 1e6 and sample.fds >= 3 and sample.children == 0
        assert seen[0][1].children == len(seen) - 1 and os.getpid() not in seen
    finally:
        child.kill()
        child.wait()


@pytest.mark.integration
def test_records_are_counted_once_and_only_when_complete(tmp_path):
    from benchmarks.soak_subjects import RecordCounter

    file = tmp_path / "train.jsonl"
    counter = RecordCounter(file)
    assert counter.count() == (0, 0)
    file.write_text('{"reward": 1.0}\n{"reward": null}\n{"rew')
    assert counter.count() == (2, 1)
    assert counter.count() == (2, 1)
    with file.open("a") as growing:
        growing.write('ard": 0.0}\n')
    assert counter.count() == (3, 1)
