"""What becomes of a submission: states, exit codes, restarts."""

import pytest

from launch.follow import run_to_end
from launch.job import ClusterLost, JobSpec, find, look, submissions, submit

SPEC = JobSpec(
    "mine", "/shared/runs/mine", ("experiment=quickstart", "run.name='a b'"), {"env_vars": {"KEY": "s3cret"}}
)
RUNNING = ("RUNNING", None)


def end(jobs, settings, spec=SPEC):
    said, written = [], []
    state = run_to_end(jobs, spec, settings.launch, said.append, written.append)
    return state, said, "".join(written)


def test_a_job_that_succeeds_is_followed_to_its_end(fake_jobs, launch_settings):
    jobs = fake_jobs([("PENDING", None), RUNNING, ("SUCCEEDED", 0)])
    state, said, written = end(jobs, launch_settings())
    assert state.code == 0
    assert written == "output of mine-1\n"
    assert said[0] == "submitted as mine-1"


def test_the_command_reaches_the_shell_quoted(fake_jobs, launch_settings):
    jobs = fake_jobs([RUNNING])
    submit(jobs, SPEC, launch_settings("launch.python=/env/bin/python", "launch.gpu_wait_s=7").launch)
    (job,) = jobs.submitted
    assert job["entrypoint"] == (
        "exec /env/bin/python -m launch.job_start 7 experiment=quickstart 'run.name='\"'\"'a b'\"'\"''"
    )
    assert job["metadata"] == {"patternrl.run": "mine", "patternrl.run_dir": "/shared/runs/mine"}


@pytest.mark.parametrize(
    ("status", "code", "expected"),
    [("SUCCEEDED", 0, 0), ("FAILED", 7, 7), ("FAILED", -9, 137), ("FAILED", None, 1), ("STOPPED", None, 130)],
)
def test_exit_codes(fake_jobs, launch_settings, status, code, expected):
    jobs = fake_jobs([(status, code)])
    assert end(jobs, launch_settings("launch.max_restarts=0"))[0].code == expected


@pytest.mark.parametrize(("code", "starts"), [(1, 3), (-9, 3), (70, 3), (None, 3), (2, 1)])
def test_a_failure_is_started_again_unless_the_input_is_wrong(fake_jobs, launch_settings, code, starts):
    jobs = fake_jobs(*[[RUNNING, ("FAILED", code)]] * 3)
    state, _, _ = end(jobs, launch_settings("launch.max_restarts=2"))
    assert state.status == "FAILED"
    assert [job["id"] for job in jobs.submitted] == [f"mine-{n + 1}" for n in range(starts)]
    assert len({job["entrypoint"] for job in jobs.submitted}) == 1


def test_a_restart_that_succeeds_is_a_success(fake_jobs, launch_settings):
    jobs = fake_jobs([("FAILED", -9)], [RUNNING, ("SUCCEEDED", 0)])
    state, said, _ = end(jobs, launch_settings())
    assert state.code == 0
    assert any("from its last checkpoint" in line for line in said)


def test_a_stopped_job_is_not_started_again(fake_jobs, launch_settings):
    jobs = fake_jobs([RUNNING, ("STOPPED", None)])
    assert end(jobs, launch_settings())[0].code == 130
    assert len(jobs.submitted) == 1


def test_a_job_that_does_not_start_is_stopped(fake_jobs, launch_settings):
    jobs = fake_jobs([("PENDING", None)])
    state, said, _ = end(jobs, launch_settings("launch.start_timeout_s=0.01"))
    assert jobs.stopped == ["mine-1"]
    assert state.status == "STOPPED"
    assert any("did not start within launch.start_timeout_s=0.01 s" in line for line in said)


def test_a_job_that_the_cluster_forgot_is_lost_and_worth_a_restart(fake_jobs):
    state = look(fake_jobs(), "gone-1", 1.0, print)
    assert (state.status, state.may_restart, state.code) == ("LOST", True, 1)


def test_names_of_submissions_are_not_used_twice(fake_jobs, launch_settings):
    jobs = fake_jobs([RUNNING], [RUNNING], [RUNNING])
    other = JobSpec("mine-1", "/x", (), {})
    launch = launch_settings().launch
    assert [submit(jobs, spec, launch) for spec in (SPEC, other, SPEC)] == ["mine-1", "mine-1-1", "mine-2"]


@pytest.mark.parametrize("error", [RuntimeError("status code 500: Traceback\nValueError: no"), ConnectionError("gone")])
def test_a_cluster_that_takes_no_job_is_one_line(fake_jobs, launch_settings, monkeypatch, error):
    def fail(**job):
        raise error

    jobs = fake_jobs()
    monkeypatch.setattr(jobs, "submit_job", fail)
    with pytest.raises(ClusterLost, match=r"^the cluster did not take mine: (ValueError: no|gone)$"):
        submit(jobs, SPEC, launch_settings().launch)


def test_a_job_is_found_by_run_and_by_submission(fake_jobs, launch_settings):
    jobs = fake_jobs([("FAILED", 1)], [RUNNING])
    for _ in range(2):
        submit(jobs, SPEC, launch_settings().launch)
    ours = submissions(jobs)
    assert find(ours, "mine").submission_id == "mine-2"
    assert find(ours, "mine-1").submission_id == "mine-1"
    assert find(ours, "other") is None


def test_a_spec_does_not_show_its_environment():
    assert "s3cret" not in repr(SPEC)
