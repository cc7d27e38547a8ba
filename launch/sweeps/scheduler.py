"""The jobs of a sweep: so many at once, another start after a failure that it can mend, and a manifest of it all."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from ray.job_submission import JobSubmissionClient

from launch.job import JobSpec, JobState, look, submit
from launch.settings import Launch, Sweep
from launch.sweeps.manifest import Manifest, Point

Say = Callable[[str], None]


@dataclass(slots=True)
class Active:
    """A point with a job on the cluster. `pending_since`: monotonic seconds, None once the job has started."""

    point: Point
    pending_since: float | None


@dataclass(slots=True)
class Scheduler:
    """Runs points of one sweep to their ends; `changed` is called after every look at the jobs."""

    client: JobSubmissionClient
    launch: Launch
    sweep: Sweep
    manifest: Manifest
    say: Say
    changed: Callable[[], None]
    _restarts: dict[str, int] = field(default_factory=dict)

    def run(self, points: Sequence[Point], specs: Mapping[str, JobSpec], retry_failed: bool) -> None:
        """Run what is not finished.

        A point that failed stays so unless `retry_failed`; one that was running when an earlier command ended is
        watched again, or submitted again where the cluster does not know its job any more.

        Raises:
            ClusterLost: the cluster does not answer; the manifest stays as it is.
        """
        waiting = [p for p in points if p.state in ("waiting", "stopped") or (p.state == "failed" and retry_failed)]
        active = [Active(p, time.monotonic()) for p in points if p.state == "running"]
        not_before = dict.fromkeys((p.name for p in waiting), 0.0)
        while waiting or active:
            ready = [point for point in waiting if time.monotonic() >= not_before[point.name]]
            for point in ready[: max(0, self.sweep.max_concurrent - len(active))]:
                waiting.remove(point)
                active.append(self._start(point, specs[point.name]))
            for job in list(active):
                state = look(self.client, job.point.submissions[-1], self.launch.contact_timeout_s, self.say)
                if not state.ended:
                    self._check_start(job, state)
                    continue
                active.remove(job)
                if self._settle(job.point, state):
                    waiting.insert(0, job.point)  # what has begun goes on first
                    not_before[job.point.name] = time.monotonic() + self.launch.restart_pause_s
            self.changed()
            if waiting or active:
                time.sleep(self.sweep.poll_s)

    def _start(self, point: Point, spec: JobSpec) -> Active:
        name = submit(self.client, spec, self.launch)
        point.submissions.append(name)
        point.state, point.reason, point.exit_code = "running", "", None
        self.manifest.save()
        self.say(f"{point.name}: submitted as {name}")
        return Active(point, time.monotonic())

    def _check_start(self, job: Active, state: JobState) -> None:
        """A job that does not start in time is stopped, so that the others get its turn."""
        if state.status != "PENDING":
            job.pending_since = None
        elif job.pending_since is not None and time.monotonic() - job.pending_since > self.launch.start_timeout_s:
            self.say(f"{state.submission_id} did not start within launch.start_timeout_s and is stopped")
            self.client.stop_job(state.submission_id)
            job.pending_since = None

    def _settle(self, point: Point, state: JobState) -> bool:
        """Note how a job ended; returns whether its run is to be submitted again."""
        point.exit_code, point.reason = state.code, state.reason
        again = False
        if state.status == "SUCCEEDED":
            point.state = "finished"
        elif state.status == "STOPPED":
            point.state = "stopped"
        else:
            used = self._restarts.get(point.name, 0)
            again = state.may_restart and used < self.launch.max_restarts
            self._restarts[point.name] = used + 1
            point.state = "waiting" if again else "failed"
        self.manifest.save()
        self.say(f"{point.name}: {state}" + ("; its run is submitted again" if again else ""))
        return again
