# SPDX-License-Identifier: GPL-2.0-only
"""Response times: every deadline that passed while a thread was late is a late answer."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.budget import parse_limit
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.model.run import Asked, Member, Run
from rtscope.report.tables.ensemble import member_columns
from rtscope.report.tables.response import response_table
from rtscope.statistics.history import metric_of
from rtscope.statistics.metrics import quantile_ns
from rtscope.statistics.response import Responses, response_metrics, responses
from rtscope.statistics.verdict import judge
from tests.measured import run_of, thread_of

INTERVAL_NS = 1_000_000


def stalled(latencies_ns: list[int], missed: int, *, interval_ns: int = INTERVAL_NS) -> Run:
    """A run of cyclic with one thread."""
    thread = msgspec.structs.replace(thread_of(latencies_ns), missed=missed)
    run = run_of(thread)
    return msgspec.structs.replace(run, probe="cyclic", asked=Asked(interval_ns=interval_ns))


def answers(latencies_ns: list[int], interval_ns: int) -> list[int]:
    """Each deadline's response time, deadline by deadline."""
    return sorted(late - passed for late in latencies_ns for passed in range(0, late, interval_ns))


@given(
    st.lists(st.integers(1, 50_000_000), min_size=1, max_size=20),
    st.integers(1_000_000, 3_000_000),
    st.sampled_from([50.0, 90.0]),
)
def test_they_are_those_of_a_walk_over_the_deadlines(
    latencies_ns: list[int], interval_ns: int, percent: float
) -> None:
    expected = answers(latencies_ns, interval_ns)
    run = stalled(latencies_ns, len(expected) - len(latencies_ns), interval_ns=interval_ns)
    reported = responses(run, run.threads[0])
    assert isinstance(reported, Responses)
    assert reported.histogram.total == len(expected)
    lower, width = reported.histogram.lower_ns, reported.histogram.width_ns
    at = 0
    for low, wide, count in zip(lower, width, reported.histogram.count, strict=True):
        inside = expected[at : at + count]
        assert low <= inside[0]
        assert inside[-1] < low + wide
        at += count
    assert all(wide <= max(1, low / 1000) for low, wide in zip(lower, width, strict=True))


def test_one_stall_of_fifty_periods_decides_the_tail_that_the_samples_hide() -> None:
    run = stalled([5_000] * 1950 + [50_000_000], 49)
    thread = run.threads[0]
    reported = responses(run, thread)
    assert isinstance(reported, Responses)
    assert quantile_ns(thread.histogram, 99.0, thread.max_ns).value_ns == 5_000
    assert quantile_ns(reported.histogram, 99.0, thread.max_ns).value_ns == pytest.approx(
        30e6, rel=0.001
    )
    plain, late = judge(run, [parse_limit("p99<1ms"), parse_limit("p99.response<1ms")])
    assert (plain.outcome, late.outcome) == ("pass", "fail")
    assert plain.stalls is not None
    assert late.stalls is None
    [(_, columns)] = response_table(run)
    assert [column.title for column in columns][:4] == ["thread", "responses", "p50", "p99"]


def test_the_json_of_a_run_and_its_history_have_them() -> None:
    run = stalled([5_000] * 1950 + [50_000_000], 49)
    (told,) = response_metrics(run)
    assert (told.threads, told.count, told.filled) == ([0], 2000, 49)
    values = {one.percent: one.value_ns for one in told.quantiles}
    assert values[99.0] == metric_of(run, "p99.response")
    assert metric_of(run, "p99") == 5_000
    unknown = stalled([5_000] * 1950 + [50_000_000], 500)
    (told,) = response_metrics(unknown)
    assert (told.quantiles, told.reason) == ([], Reason("missed-unexplained", 49, 500))
    assert metric_of(unknown, "p99.response") is None
    other = msgspec.structs.replace(run, probe="pi")
    assert (response_metrics(other), metric_of(other, "p99.response")) == ([], None)


def test_threads_of_a_series_have_theirs_together() -> None:
    run = stalled([5_000] * 1950 + [50_000_000], 49)
    second = msgspec.structs.replace(thread_of([5_000] * 1000), thread=1)
    told = response_metrics(msgspec.structs.replace(run, threads=[*run.threads, second]))
    assert [(one.threads, one.count) for one in told] == [([0], 2000), ([1], 1000), ([0, 1], 3000)]


def test_the_seeds_of_an_ensemble_have_theirs() -> None:
    run = stalled([5_000] * 11_950 + [50_000_000], 49)
    punctual = thread_of([5_000] * 12_000)
    members = [Member(1, "complete", [punctual]), Member(2, "complete", list(run.threads))]
    ensemble = msgspec.structs.replace(run, members=members)
    (column,) = [one for one in member_columns(ensemble) if one.title == "p99.9 response"]
    punctual_ms, late_ms = (float(str(cell).split()[0]) for cell in column.cells)
    assert (punctual_ms < 1, late_ms > 30) == (True, True)
    ensemble = msgspec.structs.replace(run, members=members[:1])
    assert not [one for one in member_columns(ensemble) if "response" in one.title]


def test_without_missed_periods_they_are_the_samples() -> None:
    run = stalled([5_000] * 100, 0)
    assert responses(run, run.threads[0]) == Responses(run.threads[0].histogram, 0)
    assert response_table(run) == []


def test_missed_periods_that_no_sample_explains_leave_them_unknown() -> None:
    run = stalled([5_000] * 1950 + [50_000_000], 500)
    assert responses(run, run.threads[0]) == Reason("missed-unexplained", 49, 500)
    (reported,) = judge(run, [parse_limit("p99.response<1s")])
    assert (reported.outcome, reported.reason) == (
        "inconclusive",
        Reason("missed-unexplained", 49, 500),
    )


def test_a_probe_without_periodic_deadlines_has_none() -> None:
    run = msgspec.structs.replace(stalled([5_000, 50_000_000], 49), probe="pi")
    assert responses(run, run.threads[0]) == Reason("no-deadlines", of="pi")


def test_a_day_of_missed_periods_takes_no_time() -> None:
    day_ns = 86_400_000_000_000
    run = stalled([1_000, day_ns], day_ns // 100_000 - 1, interval_ns=100_000)
    reported = responses(run, run.threads[0])
    assert isinstance(reported, Responses)
    assert reported.filled == day_ns // 100_000 - 1
    assert len(reported.histogram.count) < 50_000
    assert isinstance(reported.histogram, Histogram)
