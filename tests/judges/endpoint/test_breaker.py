"""The circuit breaker on a clock of its own: when it opens, whom it lets through, what closes it."""

from __future__ import annotations

import pytest

from reward_workers.judges.endpoint.breaker import Breaker, BreakerSettings
from reward_workers.judges.endpoint.endpoints import EndpointPool


class Clock:
    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


def breaker(clock: Clock, failures: int = 3) -> Breaker:
    return Breaker(BreakerSettings(failures=failures, cooldown_s=10.0), clock)


def fail(it: Breaker, times: int = 1) -> list[bool]:
    return [it.failed(it.begin()) for _ in range(times)]


def test_it_opens_after_so_many_failures_in_a_row(clock: Clock) -> None:
    it = breaker(clock)
    assert fail(it, 3) == [False, False, True]
    assert it.state == "open" and not it.admits()


def test_a_success_between_failures_keeps_it_closed(clock: Clock) -> None:
    it = breaker(clock)
    fail(it, 2)
    it.begin()
    it.succeeded()
    assert fail(it, 2) == [False, False] and it.state == "closed"


def test_after_the_pause_one_call_probes(clock: Clock) -> None:
    it = breaker(clock)
    fail(it, 3)
    clock.now = 9.9
    assert not it.admits()
    clock.now = 10.0
    assert it.state == "half_open" and it.admits()
    it.begin()
    assert not it.admits()
    it.succeeded()
    assert it.state == "closed" and it.admits()
    assert fail(it, 2) == [False, False]  # the count begins anew


def test_a_probe_that_fails_opens_it_for_another_pause(clock: Clock) -> None:
    it = breaker(clock)
    fail(it, 3)
    clock.now = 10.0
    assert fail(it) == [True]
    clock.now = 19.9
    assert not it.admits()
    clock.now = 20.0
    assert it.admits()


def test_a_probe_that_is_given_up_leaves_room_for_another(clock: Clock) -> None:
    it = breaker(clock)
    fail(it, 3)
    clock.now = 10.0
    it.abandoned(it.begin())
    assert it.admits()


def test_calls_from_before_say_nothing_new_when_they_fail(clock: Clock) -> None:
    it = breaker(clock)
    old = [it.begin() for _ in range(4)]
    assert [it.failed(ticket) for ticket in old[:3]] == [False, False, True]
    clock.now = 9.0
    assert not it.failed(old[3])
    clock.now = 10.0
    assert it.admits()  # the pause was not prolonged
    it.begin()
    it.abandoned(old[0])
    it.failed(old[0])
    assert not it.admits()  # and they are not the probe


def test_a_call_from_before_that_succeeds_closes_it(clock: Clock) -> None:
    it = breaker(clock, failures=1)
    it.begin()
    assert fail(it) == [True]
    it.succeeded()
    assert it.state == "closed" and it.admits()


def pool(clock: Clock, *urls: str) -> EndpointPool:
    return EndpointPool(urls, BreakerSettings(failures=2, cooldown_s=10.0), clock)


def begin(it: EndpointPool) -> tuple[object, int]:
    begun = it.begin()
    assert begun is not None
    return begun


def test_the_judge_is_open_when_all_its_servers_are(clock: Clock) -> None:
    it = pool(clock, "a", "b")
    for _ in range(4):
        it.failed(*begin(it), said="down")
        clock.now += 1.0
    assert it.is_open and it.begin() is None
    assert it.last_failures() == "down; down"
    clock.now += 10.0
    assert not it.is_open


def test_traffic_moves_away_from_an_open_server_and_back(clock: Clock) -> None:
    it = pool(clock, "a", "b")
    begun = [begin(it), begin(it)]
    for endpoint, ticket in begun:
        if endpoint.base_url == "a":
            it.failed(endpoint, ticket, said="down")
    a = next(endpoint for endpoint, _ in begun if endpoint.base_url == "a")
    it.failed(a, a.breaker.begin(), said="down")
    a.outstanding = 0
    chosen = [begin(it) for _ in range(5)]
    assert {endpoint.base_url for endpoint, _ in chosen} == {"b"}
    clock.now = 10.0
    probe, _ = begin(it)
    assert probe.base_url == "a" and begin(it)[0].base_url == "b"
    it.succeeded(probe)
    assert begin(it)[0].base_url == "a"  # the least busy one


def test_a_busy_server_is_avoided_for_as_long_as_it_asks_but_not_closed_off(clock: Clock) -> None:
    it = pool(clock, "a", "b")
    endpoint, _ = begin(it)
    it.busy(endpoint, 7.0)
    clock.now = 6.9
    assert endpoint.base_url not in {begin(it)[0].base_url for _ in range(3)}
    clock.now = 7.0
    assert begin(it)[0] is endpoint and endpoint.breaker.state == "closed"


def test_a_server_that_stays_in_the_list_keeps_its_state(clock: Clock) -> None:
    it = pool(clock, "a")
    for _ in range(2):
        it.failed(*begin(it), said="down")
    it.set_base_urls(["a", "b"])
    assert begin(it)[0].base_url == "b"
    it.set_base_urls(["c"])
    assert begin(it)[0].base_url == "c"
