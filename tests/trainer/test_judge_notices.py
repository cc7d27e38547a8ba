"""What the terminal says about silent judges and restarted reward workers."""

import pytest

from reward_workers.judges.outage import Outage
from reward_workers.judges.serving.directory import WorkerReport
from trainer.frame.judge_notices import JudgeNotices


class Desk:
    """Notices with a clock that the test turns."""

    def __init__(self, on_unscored="drop_group"):
        self.now, self.lines = 0.0, []
        self.notices = JudgeNotices(
            self.lines.append, max_wait_s=120.0, on_unscored=on_unscored, clock=lambda: self.now
        )

    def hear(self, now, worker="w0", *outages, restarted=False):
        self.now = now
        self.notices.heard(WorkerReport(worker, 1, outages, restarted))


def silent(seconds, judge="fallback", waiting=3, reason="judge_connection"):
    return Outage(judge, reason, seconds, waiting)


def test_a_silent_judge_is_told_with_time_reason_and_consequence():
    desk = Desk()
    desk.hear(10, "w0", silent(11))
    assert desk.lines == [
        "JUDGE SILENT: fallback has answered nothing for 11 s (judge_connection); rollouts that wait: 3, each for 120 "
        "s at most (reward_mix.max_wait_s), then it is unscored and its group teaches nothing (on_unscored=drop_group)"
    ]


@pytest.mark.parametrize(
    ("on_unscored", "text"),
    [("abort", "a checkpoint is written and the run ends"), ("count_as_incorrect", "incorrect")],
)
def test_the_policy_is_told(on_unscored, text):
    desk = Desk(on_unscored)
    desk.hear(10, "w0", silent(11))
    assert text in desk.lines[0]


def test_a_silent_pattern_rm_costs_no_rollout():
    desk = Desk()
    desk.hear(10, "w0", silent(11, judge="pattern_rm"))
    assert "then it has no penalty" in desk.lines[0]


def test_it_is_repeated_every_half_minute_over_all_workers_and_its_end_is_told():
    desk = Desk()
    desk.hear(10, "w0", silent(11))
    for second in range(12, 40, 2):
        desk.hear(second, "w0", silent(second + 1))
        desk.hear(second, "w1", silent(second - 5, waiting=2))
    assert len(desk.lines) == 1
    desk.hear(40, "w0", silent(41))
    assert "for 41 s" in desk.lines[1] and "wait: 5, each" in desk.lines[1]
    desk.hear(42, "w0")
    assert len(desk.lines) == 2  # w1 still waits
    desk.hear(44, "w1")
    assert desk.lines[2:] == ["judge fallback: no rollout waits for it any more (it was silent for about 45 s)"]


def test_a_worker_that_is_gone_is_forgotten():
    desk = Desk()
    desk.hear(10, "w0", silent(11))
    desk.hear(20, "w1")
    assert len(desk.lines) == 1
    desk.hear(26, "w1")
    assert "no rollout waits" in desk.lines[1]


def test_a_restarted_reward_worker_is_told_by_name():
    desk = Desk()
    desk.hear(5, "reward_loop_worker_1", restarted=True)
    assert "reward_loop_worker_1 died and was started again" in desk.lines[0]
