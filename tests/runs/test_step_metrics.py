"""Step metrics against values counted by hand."""

from dataclasses import replace

import pytest
from factories import judge_call, labelled, scored

from foundation.runs.records import Labels, SymbolicLosses, TermValue, Unlabelled, Verdict
from foundation.runs.step_metrics import is_gate_only, reward_metrics, timeout_alarm

FAILED = Unlabelled("unparsable", latency_s=0.5)


def said(value, stage, reason="", latency_s=0.0):
    return Verdict(value, stage, reason, latency_s=latency_s)


def record(value, reward, *, stage="exact", reason="", labels=None, latency_s=0.0, **changes):
    verdict = said(value, stage, reason, latency_s)
    return scored(
        verdict=verdict,
        verifier=said(None, "typed", "number_word") if stage == "judge" else verdict,
        reward=reward,
        labels=labels,
        charged=labels.decided if isinstance(labels, Labels) else None,
        **changes,
    )


BATCH = [
    record(1, 0.95, labels=labelled("cot", latency_s=0.2), penalty=0.05, n_tokens=20),
    record(1, 1.0, z=0),
    record(0, 0.0, stage="typed"),
    record(1, 0.9, stage="judge", labels=labelled("cot", "rep", latency_s=0.4), penalty=0.1, latency_s=2.0),
    record(0, 0.0, stage="judge", group=1, latency_s=1.0),
    record(None, None, stage="judge", group=1, latency_s=3.0),
    record(1, 1.0, labels=FAILED, group=1),
    record(0, 0.0, stage="extract", group=1),
]


def test_shares():
    metrics = reward_metrics(BATCH)
    assert metrics["accuracy"] == 4 / 8
    assert metrics["unscored"] == 1 / 8
    assert metrics["gate_open"] == 7 / 8
    assert metrics["stage/judge"] == 3 / 8 and metrics["stage/exact"] == 3 / 8 and metrics["stage/symbolic"] == 0
    assert metrics["reward/mean"] == pytest.approx((0.95 + 1 + 0.9 + 1) / 7)
    assert metrics["n_tokens/mean"] == pytest.approx(90 / 8)


def test_labels_are_rates_among_the_labelled():
    metrics = reward_metrics(BATCH)
    assert metrics["labelled"] == 2 / 8
    assert metrics["label/cot"] == 1.0 and metrics["label/rep"] == 0.5 and metrics["label/con"] == 0.0
    assert metrics["trigger"] == 1.0
    assert metrics["penalty/mean"] == pytest.approx(0.075)
    assert metrics["penalty/applied_mean"] == pytest.approx(0.15 / 8)


def test_nothing_labelled_gives_no_rate():
    metrics = reward_metrics([record(0, 0.0), record(0, 0.0)])
    assert "trigger" not in metrics and "label/cot" not in metrics
    assert metrics["labelled"] == 0


def test_calls_and_latencies():
    metrics = reward_metrics(BATCH)
    assert metrics["calls/pattern_rm"] == 3 and metrics["calls/pattern_rm_saved"] == 5
    assert metrics["calls/pattern_rm_failed"] == 1
    assert metrics["calls/fallback"] == 3 and metrics["calls/fallback_failed"] == 1
    assert metrics["latency_s/pattern_rm/p50"] == pytest.approx(0.4)
    assert metrics["latency_s/judge/p50"] == pytest.approx(2.0)


def asked(judge, failure=None):
    return judge_call(judge, failure=failure)


def test_what_failed_by_reason_and_what_waited():
    timeouts = (asked("fallback", "timeout"),) * 2
    unscored = record(None, None, stage="judge", reason="judge_timeout", latency_s=120.0, judge_calls=timeouts)
    calls = (
        asked("fallback", "breaker_open"),
        asked("fallback"),
        asked("pattern_rm", "http_503"),
        asked("pattern_rm"),
    )
    waited = record(1, 1.0, stage="judge", labels=labelled(latency_s=30.0), latency_s=12.0, judge_calls=calls)
    nonsense = record(1, 1.0, labels=FAILED, judge_calls=(asked("pattern_rm", "unparsable"),))
    metrics = reward_metrics([unscored, waited, nonsense, record(1, 1.0)])
    assert {name: n for name, n in metrics.items() if name.startswith(("unscored/", "unlabelled/", "waited/"))} == {
        "unscored/judge_timeout": 1,
        "unlabelled/unparsable": 1,
        "waited/rollouts": 2,  # an answer that cannot be read is not waited for
        "waited/longest_s": 120.0,
    }


def test_nothing_failed():
    metrics = reward_metrics([record(1, 1.0)])
    assert (metrics["unscored"], metrics["waited/rollouts"], metrics["waited/longest_s"]) == (0, 0, 0)
    assert not [name for name in metrics if name.startswith(("unscored/", "unlabelled/"))]


def verified(verifier, *, killed=0, died=0, anls=None):
    losses = SymbolicLosses(killed, died)
    return replace(record(verifier.value, 0.0), verifier=verifier, losses=losses, anls=anls)


VERIFIED = [
    verified(said(1, "exact", "identical", 0.001), anls=1.0),
    verified(said(0, "typed", "other_text", 0.003), anls=0.5),
    verified(said(1, "typed", "equal_number", 0.001)),
    verified(said(1, "symbolic", "symbolic_equal", 0.5), killed=2),
    verified(said(None, "symbolic", "symbolic_timeout", 3.0), died=1),
    verified(said(None, "symbolic", "symbolic_timeout", 3.0)),
    verified(said(None, "typed", "guard_tower", 0.002)),
    verified(said(None, "symbolic", "symbolic_died", 1.0), killed=1),
]


def test_what_the_verifier_did():
    metrics = reward_metrics(VERIFIED)
    assert metrics["verifier/unresolved"] == 4 / 8
    assert metrics["verifier/symbolic"] == 4 / 8
    assert metrics["verifier/symbolic_timeouts"] == 2 / 8
    assert metrics["verifier/guard_blocked"] == 1 / 8
    assert (metrics["verifier/children_killed"], metrics["verifier/children_died"]) == (3, 1)
    assert metrics["anls/doc_text"] == 0.75


def test_latency_of_each_stage_that_was_reached():
    metrics = reward_metrics(VERIFIED)
    assert metrics["latency_s/exact/p50"] == 0.001
    assert metrics["latency_s/typed/p50"] == 0.002
    assert metrics["latency_s/symbolic/p50"] == 2.0  # between 1.0 and 3.0
    assert metrics["latency_s/typed/p95"] == pytest.approx(0.0029)
    assert "latency_s/extract/p50" not in metrics and "latency_s/judge/p50" not in metrics


def test_no_document_text_gives_no_anls():
    assert "anls/doc_text" not in reward_metrics(BATCH)


@pytest.mark.parametrize(("timeouts", "alarmed"), [(0, False), (1, False), (2, True)])
def test_alarm_above_half_a_percent(timeouts, alarmed):
    slow = verified(said(None, "symbolic", "symbolic_timeout", 3.0))
    fine = verified(said(1, "exact", "identical"))
    line = timeout_alarm(reward_metrics([slow] * timeouts + [fine] * (200 - timeouts)), timeout_s=3.0)
    assert (line is not None) == alarmed
    if line is not None:
        assert line.startswith("ALARM: the symbolic stage timed out for 1.0% of 200 rollouts")
        assert "reward_mix.verifier.symbolic_timeout_s=3" in line


def test_an_empty_step_is_an_error():
    with pytest.raises(ValueError, match="no rollout"):
        reward_metrics([])


def penalised(n, z=1, penalty=0.05):
    labels = labelled("cot") if z else None
    return [record(1, 1 - penalty * z, z=z, labels=labels, penalty=penalty if z else 0.0)] * n


@pytest.mark.parametrize(
    ("group", "gate_only"),
    [
        (penalised(5) + penalised(3, z=0), True),  # all right, all failing, z differs: pure gate noise
        (penalised(8), False),  # no variance at all
        (penalised(4) + penalised(4, penalty=0.02), False),  # labels differ
        ([*penalised(4), record(0, 0.0)], False),  # verdicts differ
        ([record(1, 1.0, labels=labelled())] * 4 + penalised(2), False),  # clean and failing rollouts
    ],
)
def test_gate_only_groups(group, gate_only):
    assert is_gate_only(group) is gate_only


def test_group_shares():
    batch = [
        replace(r, group=g)
        for g, group in enumerate([penalised(2) + penalised(2, z=0), penalised(4), [record(0, 0.0), record(1, 1.0)]])
        for r in group
    ]
    metrics = reward_metrics(batch)
    assert metrics["groups/gate_only_variance"] == pytest.approx(1 / 3)
    assert metrics["groups/zero_variance"] == pytest.approx(1 / 3)
    assert metrics["groups/pattern_only_variance"] == pytest.approx(1 / 3)


def test_each_term_has_its_mean_and_its_missing_share():
    lost = {"consistency": TermValue("factor", None, "consistency_timeout")}
    kept = {"consistency": TermValue("factor", 0.0)}
    rows = [scored(1, terms=scored(1).terms | kept), scored(1, reward=None, terms=scored(1).terms | lost)]
    metrics = reward_metrics(rows)
    assert metrics["term/verifier/mean"] == 1.0 and metrics["term/verifier/missing"] == 0.0
    assert metrics["term/consistency/mean"] == 0.0 and metrics["term/consistency/missing"] == 0.5
    assert metrics["unscored/consistency_timeout"] == 1 and metrics["unscored"] == 0.5
