"""The state of the reward service as metrics and in the summary, from reports made by hand."""

from factories import judge_call, scored

from foundation.runs.records import Verdict
from foundation.runs.service_summary import FAMILIES, failure_counts, service_lines, state_figures
from reward_workers.judges.serving.directory import WorkerReport
from reward_workers.judges.serving.health import CacheHealth, JudgeHealth, ServerHealth, WorkerHealth
from trainer.frame.service_metrics import ServiceMetrics


class Desk:
    """Service metrics with a clock that the test turns."""

    def __init__(self):
        self.now = 0.0
        self.service = ServiceMetrics(clock=lambda: self.now)

    def hear(self, now, worker, health, restarted=False):
        self.now = now
        self.service.heard(WorkerReport(worker, 1, (), restarted, health))


def seen(admitting, in_memory=10, folder="/cache/a", size=2_000_000, is_off=False):
    return WorkerHealth({"fallback": JudgeHealth(2, admitting, in_memory)}, CacheHealth(folder, size, is_off))


def test_every_state_has_its_metric():
    desk = Desk()
    desk.hear(1, "w0", seen(admitting=2))
    desk.hear(1, "w1", seen(admitting=1, in_memory=5))  # the same node, the same cache
    desk.hear(1, "w2", seen(admitting=2, in_memory=1, folder="/cache/b", size=500_000, is_off=True), restarted=True)
    metrics = desk.service.metrics({"fallback": ServerHealth(replicas=2, ready=1, restarts=3, moves=1)})
    assert metrics == {
        "servers/fallback/replicas": 2,
        "servers/fallback/ready": 1,
        "servers/fallback/restarts": 3,
        "servers/fallback/moves": 1,
        "endpoints/fallback/known": 2,
        "endpoints/fallback/admitting": 1,
        "memory/fallback": 16,
        "cache/mb": 2.5,
        "cache/workers_off": 1,
        "reward_workers/reporting": 3,
        "reward_workers/restarts": 1,
    }
    assert {name.split("/")[0] for name in metrics} == set(FAMILIES)


def test_without_workers_cache_and_servers_there_is_nothing_to_tell():
    assert Desk().service.metrics({}) == {"reward_workers/reporting": 0, "reward_workers/restarts": 0}
    desk = Desk()
    desk.hear(0, "w0", WorkerHealth({"fallback": JudgeHealth(1, 1, 0)}))
    assert "cache/mb" not in desk.service.metrics({})


def test_a_worker_that_is_gone_no_longer_counts():
    desk = Desk()
    desk.hear(0, "w0", seen(admitting=0))
    desk.hear(16, "w1", seen(admitting=2))
    metrics = desk.service.metrics({})
    assert metrics["endpoints/fallback/admitting"] == 2 and metrics["reward_workers/reporting"] == 1


def lost(reason, group, rollout):
    verdict = Verdict(None, "judge", reason, latency_s=125.0)
    return scored(verdict=verdict, group=group, rollout=rollout, judge_calls=(judge_call(failure="timeout"),))


FAILURES = failure_counts([lost("judge_timeout", 0, 0), lost("judge_timeout", 0, 1), lost("judge_null", 1, 0)])


def test_failures_of_a_run():
    assert FAILURES == {
        "unscored": {"judge_timeout": 2, "judge_null": 1},
        "unlabelled": {},
        "groups_dropped": 2,
        "waited": {"rollouts": 3, "longest_s": 125.0},
    }


STEPS = [
    {
        "reward_mix/endpoints/fallback/known": 2.0,
        "reward_mix/endpoints/fallback/admitting": 2.0,
        "reward_mix/unscored": 0,
    },
    {"reward_mix/endpoints/fallback/known": 2.0, "reward_mix/endpoints/fallback/admitting": 0.0},
    {"reward_mix/endpoints/fallback/known": 2.0, "reward_mix/endpoints/fallback/admitting": 1.0},
    {"reward_mix/accuracy_guard/factor": 0.25, "reward_mix/reward_workers/restarts": 0.0},
    {"reward_mix/accuracy_guard/factor": 0.5, "reward_mix/reward_workers/restarts": 1.0, "reward_mix/cache/mb": 1234.5},
]


def test_states_over_the_steps():
    states = state_figures(STEPS)
    assert states["endpoints/fallback/admitting"] == {"last": 1.0, "least": 0.0, "largest": 2.0}
    assert states["accuracy_guard/factor"] == {"last": 0.5, "least": 0.25, "largest": 0.5}
    assert "unscored" not in states


def test_lines_for_people():
    assert service_lines(FAILURES, state_figures(STEPS)) == [
        "unscored training rollouts: 3 (judge_timeout 2, judge_null 1); groups that taught nothing for it: 2",
        "rollouts that waited for a judge: 3, the longest 125 s",
        "servers of fallback that could be asked at the end of a step: 0 at the least",
        "reward workers started again: 1 times",
        "judge cache on disk: 1,234.5 MB",
        "accuracy guard: all weights x 0.50 at the end, x 0.25 at the least",
    ]


def test_a_run_without_trouble_needs_no_lines():
    calm = [{"reward_mix/endpoints/fallback/known": 2.0, "reward_mix/endpoints/fallback/admitting": 2.0}]
    assert service_lines(failure_counts([]), state_figures(calm)) == []
