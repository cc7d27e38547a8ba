"""What the questions to the judges cost, against counts made by hand."""

from factories import judge_call, scored

from foundation.runs.judge_metrics import describe_totals, judge_metrics, judge_totals


def asked(*calls):
    return scored(judge_calls=calls)


RECORDS = [
    asked(judge_call(attempts=3, retries=2), judge_call("pattern_rm")),
    asked(judge_call(answered_by="memory", attempts=0), judge_call("pattern_rm", answered_by="disk", attempts=0)),
    asked(),
    asked(
        judge_call(failure="http_503", attempts=3, retries=2, openings=1),  # asked three times: the judge was away
        judge_call(failure="breaker_open", attempts=0, cache_off=True),
        judge_call(answered_by="shared", attempts=0),
    ),
]


def test_totals_of_each_judge():
    assert judge_totals(RECORDS) == {
        "fallback": {
            "calls": 5,
            "answered_by": {"server": 3, "memory": 1, "shared": 1},
            "attempts": 6,
            "retries": 4,
            "failures": {"http_503": 1, "breaker_open": 1},
            "breaker_openings": 1,
            "cache_off": 1,
        },
        "pattern_rm": {
            "calls": 2,
            "answered_by": {"server": 1, "disk": 1},
            "attempts": 1,
            "retries": 0,
            "failures": {},
            "breaker_openings": 0,
            "cache_off": 0,
        },
    }


def test_metrics_are_the_totals_by_name():
    metrics = judge_metrics(RECORDS)
    assert metrics["judge/fallback/calls"] == 5 and metrics["judge/fallback/retries"] == 4
    assert metrics["judge/fallback/failures"] == 2 and metrics["judge/fallback/failures/breaker_open"] == 1
    assert metrics["judge/fallback/saved/memory"] == metrics["judge/fallback/saved/shared"] == 1
    assert metrics["judge/pattern_rm/saved/disk"] == 1 and metrics["judge/pattern_rm/saved/memory"] == 0
    assert metrics["judge/fallback/breaker_openings"] == 1 and metrics["judge/pattern_rm/breaker_openings"] == 0


def test_a_judge_that_nobody_asked_has_no_metrics():
    assert judge_metrics([asked()]) == {}


def test_a_line_for_people():
    line = describe_totals("fallback", judge_totals(RECORDS)["fallback"])
    assert line == (
        "judge fallback: 5 questions = 3 to its servers (6 requests, 4 of them retries) + 1 shared with one in flight "
        "+ 1 from memory + 0 from the cache; 2 failed (breaker_open 1, http_503 1); circuit breakers opened 1 times; "
        "cache out of use for 1"
    )
