"""When a judge counts as silent: only while somebody waits and nobody is answered."""

from __future__ import annotations

from reward_workers.judges.outage import Outage, Outages


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


def test_silence_is_time_without_any_answer_while_somebody_waits() -> None:
    clock = Clock()
    outages = Outages(clock)
    clock.now = 1000.0  # nobody asked for long: no outage
    assert outages.current() == ()
    with outages.call("fallback") as first:
        clock.now = 1009.0
        assert outages.current() == ()
        clock.now = 1010.0
        assert outages.current() == (Outage("fallback", "no answer", 10.0, 1),)
        with outages.call("fallback") as second:
            second.failed("judge_connection")
            clock.now = 1015.0
            assert outages.current() == (Outage("fallback", "judge_connection", 15.0, 2),)
            second.answered()
        # Answered: the one that still waits counts from that answer on, and without the old reason.
        clock.now = 1020.0
        assert outages.current() == ()
        clock.now = 1026.0
        assert outages.current() == (Outage("fallback", "no answer", 11.0, 1),)
        first.answered()
    assert outages.current() == ()


def test_a_slow_judge_under_load_is_not_silent() -> None:
    clock = Clock()
    outages = Outages(clock)
    with outages.call("pattern_rm"):
        for _ in range(20):
            clock.now += 5.0
            with outages.call("pattern_rm") as other:
                other.answered()
            assert outages.current() == ()


def test_judges_are_told_apart_and_a_call_that_raises_ends() -> None:
    clock = Clock()
    outages = Outages(clock)
    try:
        with outages.call("fallback"):
            raise KeyError
    except KeyError:
        pass
    with outages.call("pattern_rm"):
        clock.now = 60.0
        assert [outage.judge for outage in outages.current()] == ["pattern_rm"]
