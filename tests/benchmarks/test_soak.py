"""What a soak calls flat, grown and undecided: slopes in noise and sawteeth, and what fills during the warm-up."""

from __future__ import annotations

import math
import os
import random
import subprocess
import sys
import time

import pytest
from factories import scored

from benchmarks.soak_figures import Sample, complaints, look, process_name, summary, trend

WARM_UP_S = 600.0


def samples(megabytes, fds=lambda at_s: 10, children=lambda at_s: 1, zombies=0):
    """Half an hour, a sample every ten seconds."""
    return [Sample(s, int(megabytes(s) * 1e6), int(fds(s)), 3, int(children(s)), zombies) for s in range(0, 1801, 10)]


def test_the_trend_is_that_of_a_line_after_the_warm_up():
    # 50 MB during the warm-up, then 100 MB and 12 MB an hour.
    found = trend(samples(lambda s: 50 if s < WARM_UP_S else 100 + 12 * (s - WARM_UP_S) / 3600), "uss_bytes", WARM_UP_S)
    assert found.per_hour == pytest.approx(12e6, rel=0.01)
    assert found.low == pytest.approx(12e6, rel=0.02) and found.high == pytest.approx(12e6, rel=0.02)
    # 1,200 s remain: their thirds have their medians at 200 s and at 1,000 s.
    assert found.begin == pytest.approx(100.67e6, rel=0.001) and found.end == pytest.approx(103.33e6, rel=0.001)


def test_too_few_samples_have_no_trend():
    assert trend(samples(lambda s: 100)[:19], "uss_bytes", 0.0) is None


def test_a_constant_has_no_slope_and_no_uncertainty():
    found = trend(samples(lambda s: 100), "uss_bytes", WARM_UP_S)
    assert (found.per_hour, found.low, found.high) == (0.0, 0.0, 0.0)


def noisy(megabytes, sd=2.0, seed=1):
    """A series with noise around it, in megabytes."""
    draw = random.Random(seed)
    return samples(lambda s: megabytes(s) + draw.gauss(0, sd))


def sawtooth(s):
    """10 MB that pile up over 100 seconds and are freed at once, as a child that is recycled or a collector does."""
    return 300 + 10 * (s % 100) / 100


@pytest.mark.parametrize("seed", range(20))
def test_noise_around_a_level_is_flat(seed):
    assert complaints(noisy(lambda s: 300, sd=5.0, seed=seed), WARM_UP_S) == []


@pytest.mark.parametrize("seed", range(20))
def test_a_sawtooth_is_flat(seed):
    assert complaints(noisy(sawtooth, seed=seed), WARM_UP_S) == []


@pytest.mark.parametrize("size_mb", [30, 300, 3000])
@pytest.mark.parametrize("seed", range(20))
def test_a_leak_above_the_limit_is_found_in_noise_and_in_a_sawtooth(seed, size_mb):
    for shape in (lambda s: size_mb, sawtooth):
        leaking = noisy(lambda s, shape=shape: shape(s) + 75 * s / 3600, seed=seed)
        assert complaints(leaking, WARM_UP_S) == ["memory grow"]


@pytest.mark.parametrize("seed", range(20))
def test_a_leak_of_50_mb_an_hour_is_not_called_flat(seed):
    assert complaints(noisy(lambda s: 300 + 51 * s / 3600, sd=0.5, seed=seed), WARM_UP_S) == ["memory grow"]


def test_a_certain_slope_that_is_too_small_to_matter_is_flat():
    assert complaints(samples(lambda s: 300 + 20 * s / 3600), WARM_UP_S) == []


def test_what_fills_during_the_warm_up_is_flat():
    assert complaints(noisy(lambda s: 300 + 0.1 * min(s, 400)), WARM_UP_S) == []


def test_a_swing_that_is_as_long_as_the_soak_is_undecided():
    swing = samples(lambda s: 300 + 40 * math.sin(2 * math.pi * (s - WARM_UP_S) / 1200 + math.pi / 2))
    assert complaints(swing, WARM_UP_S) == ["memory undecided, soak longer"]


@pytest.mark.parametrize(
    ("series", "complaint"),
    [
        (samples(lambda s: 300 + 40 * s / 1800), "memory grow"),
        (samples(lambda s: 300, fds=lambda s: 20 + s / 40), "descriptors grow"),
        (samples(lambda s: 300, children=lambda s: 1 + s / 200), "children grow"),
        (samples(lambda s: 300, zombies=1), "ended children are not waited for"),
    ],
    ids=["memory", "descriptors", "children", "zombies"],
)
def test_what_leaks_is_named(series, complaint):
    assert complaints(series, WARM_UP_S) == [complaint]
    table, found = summary({0: samples(lambda s: 300), 7: series}, {0: "all processes", 7: "worker"}, WARM_UP_S)
    assert found == [f"worker 7: {complaint}"] and table.row_count == 2


def test_of_all_processes_the_number_is_judged_and_not_the_sum_of_their_memory():
    growing = samples(lambda s: 300 + 400 * s / 3600, children=lambda s: 5 + s / 200)
    _, found = summary({0: growing}, {0: "all processes"}, WARM_UP_S)
    assert found == ["all processes: children grow"]


def test_a_process_that_ended_on_the_way_is_not_judged():
    recycled = samples(lambda s: 300 + s)[:100]
    table, found = summary({0: samples(lambda s: 300), 7: recycled}, {0: "all processes", 7: "child"}, WARM_UP_S)
    assert found == [] and table.row_count == 1


def test_a_soak_that_is_too_short_is_not_called_flat():
    table, found = summary({0: samples(lambda s: 100)[:50]}, {0: "all processes"}, WARM_UP_S)
    assert table.row_count == 0 and found[0].startswith("no verdict")


def test_processes_are_named_by_what_they_are():
    assert process_name(["ray::RewardLoopWorker.compute_score"], "x") == "RewardLoopWorker"
    assert process_name(["ray::IDLE"], "x") == "IDLE"
    assert process_name(["python", "-m", "reward_workers.verifier.symbolic.child_program"], "x") == "symbolic child"
    assert process_name(["/usr/bin/raylet", "--port"], "raylet") == "raylet"


@pytest.mark.integration
def test_a_look_sees_the_children_of_this_process():
    code = "import time; print(flush=True); time.sleep(60)"
    child = subprocess.Popen([sys.executable, "-c", code], close_fds=True, stdout=subprocess.PIPE)
    try:
        assert child.stdout is not None and child.stdout.readline()  # it is Python by now
        seen = look(time.monotonic())
        name, sample = seen[child.pid]
        assert name.startswith("python") and sample.uss_bytes > 1e6 and sample.fds >= 3 and sample.children == 0
        assert seen[0][1].children == len(seen) - 1 and os.getpid() not in seen
    finally:
        child.kill()
        child.communicate()


@pytest.mark.integration
def test_records_are_counted_once_and_only_when_complete(tmp_path):
    from benchmarks.soak_subjects import RecordCounter

    file = tmp_path / "train.jsonl"
    counter = RecordCounter(file)
    assert counter.count() == (0, 0)
    right, unscored, wrong = (scored(value).to_json() for value in (1, None, 0))
    file.write_text(f"{right}\n{unscored}\n{wrong[:8]}")
    assert counter.count() == (2, 1)
    assert counter.count() == (2, 1)
    with file.open("a") as growing:
        growing.write(f"{wrong[8:]}\n")
    assert counter.count() == (3, 1)
