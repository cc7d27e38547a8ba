"""Points, manifest and scheduler, without a cluster."""

import json

import pytest

from foundation.settings.compose import ConfigError
from launch.job import JobSpec
from launch.sweeps.manifest import Manifest, Point
from launch.sweeps.points import check_folders, fixed_keys, point_name, varied
from launch.sweeps.scheduler import Scheduler

OK = [("RUNNING", None), ("SUCCEEDED", 0)]
WRONG = [("RUNNING", None), ("FAILED", 2)]
KILLED = [("RUNNING", None), ("FAILED", -9)]


def point(name: str, **changes) -> Point:
    return Point(name, {"seed": name}, [f"seed={name}"], f"s-{name}", f"/runs/s/{name}", **changes)


def run(jobs, settings, manifest, points, retry_failed=False):
    said = []
    specs = {p.name: JobSpec(p.run, p.run_dir, tuple(p.overrides), {}) for p in points}
    scheduler = Scheduler(jobs, settings.launch, settings.sweep, manifest, said.append, lambda: None)
    scheduler.run(manifest.take_up(points), specs, retry_failed)
    return said


def states(manifest):
    return {p.name: p.state for p in manifest.points.values()}


def test_what_varies_names_a_point():
    command = [
        "experiment=quickstart",
        "reward_mix.weights.cot=0.02,0.1",
        "reward_mix=base_rl,pattern_rl",
        "seed=range(0,2)",
    ]
    fixed = fixed_keys(command)
    assert fixed == {"experiment"}
    values = varied(["experiment=quickstart", "reward_mix.weights.cot=0.1", "reward_mix=base_rl", "seed=1"], fixed)
    assert point_name(values) == "cot_0.1-reward_mix_base_rl-seed_1"


def test_names_stay_apart_and_are_folders():
    assert point_name({"a.x": "1", "b.x": "1"}) == "a.x_1-b.x_1"
    assert point_name({"judges.args": "[--a, '../b']"}) == "args__--a_.._b"
    assert point_name({}) == "point"
    long = [point_name({"key": "v" * 200 + end}) for end in "ab"]
    assert long[0] != long[1] and max(map(len, long)) <= 100


def test_two_points_with_one_folder_are_refused():
    check_folders([("a", "/runs/a"), ("b", "/runs/b")])
    with pytest.raises(ConfigError, match=r"run\.dir=/runs/a is the folder of two points \(a and b\)"):
        check_folders([("a", "/runs/a"), ("b", "/runs/a")])


@pytest.mark.parametrize("at_once", [1, 2])
def test_every_point_becomes_a_job_and_no_more_than_allowed_run_at_once(fake_jobs, launch_settings, tmp_path, at_once):
    jobs = fake_jobs(OK, OK, OK)
    manifest = Manifest.open(tmp_path, "s")
    run(jobs, launch_settings(f"sweep.max_concurrent={at_once}"), manifest, [point(n) for n in "abc"])
    assert states(manifest) == dict.fromkeys("abc", "finished")
    assert jobs.most_at_once == at_once
    assert json.loads((tmp_path / "manifest.json").read_text())["points"][2]["submissions"] == ["s-c-1"]


def test_finished_points_are_skipped_and_failed_ones_wait_for_retry_failed(fake_jobs, launch_settings, tmp_path):
    manifest = Manifest.open(tmp_path, "s")
    points = [point(n) for n in "ab"]
    run(fake_jobs(OK, WRONG), launch_settings(), manifest, points)
    assert states(manifest) == {"a": "finished", "b": "failed"}
    assert manifest.points["b"].exit_code == 2

    again = fake_jobs()
    run(again, launch_settings(), Manifest.open(tmp_path, "s"), points)
    assert again.submitted == []

    retried = fake_jobs(OK)
    manifest = Manifest.open(tmp_path, "s")
    run(retried, launch_settings(), manifest, points, retry_failed=True)
    assert [job["id"] for job in retried.submitted] == ["s-b-1"]
    assert states(manifest) == {"a": "finished", "b": "finished"}


def test_a_killed_point_is_submitted_again_as_often_as_allowed(fake_jobs, launch_settings, tmp_path):
    manifest = Manifest.open(tmp_path, "s")
    run(fake_jobs(KILLED, KILLED, OK), launch_settings("launch.max_restarts=2"), manifest, [point("a")])
    assert manifest.points["a"].submissions == ["s-a-1", "s-a-2", "s-a-3"]
    assert states(manifest) == {"a": "finished"}

    other = Manifest.open(tmp_path / "other", "s")
    run(fake_jobs(KILLED, KILLED), launch_settings("launch.max_restarts=1"), other, [point("a")])
    assert states(other) == {"a": "failed"}
    assert other.points["a"].exit_code == 137


def test_a_point_whose_job_does_not_start_makes_room_for_the_others(fake_jobs, launch_settings, tmp_path):
    manifest = Manifest.open(tmp_path, "s")
    jobs = fake_jobs([("PENDING", None)], OK)
    said = run(jobs, launch_settings("launch.start_timeout_s=0.01"), manifest, [point(n) for n in "ab"])
    assert states(manifest) == {"a": "stopped", "b": "finished"}
    assert jobs.stopped == ["s-a-1"]
    assert "s-a-1 did not start within launch.start_timeout_s and is stopped" in said


def test_a_job_of_an_earlier_command_is_watched_on(fake_jobs, launch_settings, tmp_path):
    jobs = fake_jobs(OK)
    jobs.submit_job(entrypoint="", submission_id="s-a-1", runtime_env={}, metadata={})
    manifest = Manifest(tmp_path / "manifest.json", "s", {"a": point("a", state="running", submissions=["s-a-1"])})
    run(jobs, launch_settings(), manifest, [point("a")])
    assert states(manifest) == {"a": "finished"}
    assert len(jobs.submitted) == 1


def test_a_job_that_the_cluster_lost_meanwhile_is_submitted_again(fake_jobs, launch_settings, tmp_path):
    jobs = fake_jobs(OK)
    manifest = Manifest(tmp_path / "manifest.json", "s", {"a": point("a", state="running", submissions=["s-a-7"])})
    run(jobs, launch_settings(), manifest, [point("a")])
    assert manifest.points["a"].submissions == ["s-a-7", "s-a-1"]
    assert states(manifest) == {"a": "finished"}


def test_a_stopped_point_goes_on_with_the_next_command(fake_jobs, launch_settings, tmp_path):
    manifest = Manifest.open(tmp_path, "s")
    run(fake_jobs([("STOPPED", None)]), launch_settings(), manifest, [point("a")])
    assert states(manifest) == {"a": "stopped"}
    run(fake_jobs(OK), launch_settings(), manifest, [point("a")])
    assert states(manifest) == {"a": "finished"}


def test_a_point_with_other_settings_does_not_take_the_place_of_an_old_one(tmp_path):
    manifest = Manifest.open(tmp_path, "s")
    manifest.take_up([point("a")])
    other = point("a")
    other.overrides = ["seed=a", "trainer.total_training_steps=3"]
    with pytest.raises(ConfigError, match=r"point a was run with other settings \(trainer\.total_training_steps=3\)"):
        manifest.take_up([other])


def test_a_broken_manifest_is_named(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(ConfigError, match=r"manifest\.json is no manifest"):
        Manifest.open(tmp_path, "s")
    with pytest.raises(ConfigError, match=r"does not exist"):
        Manifest.read(tmp_path / "absent" / "manifest.json")
