# SPDX-License-Identifier: GPL-2.0-only
"""A limit is kept only where the samples prove it."""

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.budget import parse_limit
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.model.run import Run, RunWarning, Status
from rtscope.statistics.figures import Stalls, missed_share, stalls_of
from rtscope.statistics.verdict import Judgement, exit_code, judge
from rtscope.wording.reason import stalls_text
from rtscope.wording.run import caveats
from tests.measured import run_of, thread_of


def judged(run: Run, limit: str) -> Judgement:
    (judgement,) = judge(run, [parse_limit(limit)])
    return judgement


def run_with(latencies: Sequence[int]) -> Run:
    return run_of(thread_of([1000] * len(latencies), 0), thread_of(latencies, 3))


def test_a_limit_on_a_series_is_for_the_threads_of_its_name_alone() -> None:
    inherit, none = (
        msgspec.structs.replace(thread_of([ns]), name=name, facts={"inversions": count})
        for name, ns, count in (("inherit", 1000, 0.0), ("none", 9000, 7.0))
    )
    run = run_of(inherit, none)
    assert judged(run, "inversions<1").outcome == "fail"
    assert judged(run, "inversions[inherit]<1").outcome == "pass"
    assert judged(run, "inversions[none]<1").outcome == "fail"
    assert judged(run, "max[inherit]<2us").outcome == "pass"
    other = judged(run, "max[other]<2us")
    assert other.outcome == "inconclusive"
    assert other.reason == Reason("no-series", known=["inherit", "none"])


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("max<50us", "fail"),
        ("max<=50us", "pass"),
        ("max<51us", "pass"),
        ("mean<2us", "pass"),
        ("mean<1us", "fail"),
        ("missed<1", "pass"),
        ("p99<50us", "pass"),
        ("p99.9<50us", "inconclusive"),
        ("p99.9<1s", "inconclusive"),
    ],
)
def test_each_limit_against_one_slow_sample_in_two_thousand(limit: str, outcome: str) -> None:
    assert judged(run_with([1000] * 1999 + [50_000]), limit).outcome == outcome


def test_too_few_samples_say_how_many_are_missing() -> None:
    told = judged(run_with([1000] * 400), "p99.9<1s")
    assert told.samples_missing == 9600
    assert told.outcome == "inconclusive"
    assert told.reason == Reason("too-few-samples", 400, 10_000)


def test_ten_samples_above_break_a_quantile_however_short_the_run() -> None:
    assert judged(run_with([1000] * 90 + [50_000] * 10), "p99.9<50us").outcome == "fail"
    assert judged(run_with([1000] * 91 + [50_000] * 9), "p99.9<50us").outcome == "inconclusive"


@given(st.integers(0, 40), st.sampled_from([99.0, 98.0, 99.5]))
def test_a_quantile_is_below_its_limit_as_sorting_the_samples_says(
    slow: int, percent: float
) -> None:
    latencies = [1000] * (2000 - slow) + [50_000] * slow
    rank = -int(-percent * 2000 // 100)
    below = sorted(latencies)[rank - 1] < 50_000
    assert judged(run_with(latencies), f"p{percent:g}<50us").outcome == (
        "pass" if below else "fail"
    )


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("p99<100us", "fail"),
        ("p99<50us", "fail"),
        ("p99<200us", "inconclusive"),
        ("p90<100us", "pass"),
        ("p90<49500ns", "inconclusive"),
    ],
)
def test_what_the_histogram_did_not_keep_decides_nothing(limit: str, outcome: str) -> None:
    histogram = Histogram([0, 49_000], [1000, 1000], [500, 1400], 100, 100_000)
    thread = msgspec.structs.replace(thread_of([500] * 2000), histogram=histogram, max_ns=900_000)
    assert judged(run_of(thread), limit).outcome == outcome


@pytest.mark.parametrize("limit", ["max<1h", "mean<1h", "p50<1h", "missed<999"])
def test_an_empty_run_and_a_silent_cpu_keep_nothing(limit: str) -> None:
    assert judged(run_of(), limit).outcome == "inconclusive"
    assert judged(run_of(thread_of([])), limit).outcome == "inconclusive"
    told = judged(run_of(thread_of([1000] * 100, 0), thread_of([], 1)), limit)
    assert (told.outcome, told.cpu) == ("inconclusive", 1)


@pytest.mark.parametrize("status", get_args(Status))
def test_a_run_cut_short_breaks_limits_but_keeps_none(status: Status) -> None:
    run = run_of(thread_of([1000] * 100), status=status)
    assert judged(run, "max<2us").outcome == ("pass" if status == "complete" else "inconclusive")
    assert judged(run, "max<1us").outcome == "fail"


def test_figures_that_were_not_recorded_are_not_kept() -> None:
    thread = msgspec.structs.replace(thread_of([1000]), missed=None, mean_ns=None)
    assert judged(run_of(thread), "missed<1").outcome == "inconclusive"
    assert judged(run_of(thread), "mean<1s").outcome == "inconclusive"


@pytest.mark.parametrize(
    ("limit", "outcome"),
    [
        ("failed<1", "pass"),
        ("over<3", "fail"),
        ("over<=3", "pass"),
        ("longest_ns<12ms", "fail"),
        ("longest_ns<=12ms", "pass"),
        ("share<0.5", "pass"),
        ("share<=0.24", "fail"),
    ],
)
def test_facts_of_the_probe_are_judged_in_their_own_units(limit: str, outcome: str) -> None:
    facts = {"failed": 0.0, "over": 3.0, "longest_ns": 12_000_000.0, "share": 0.25}
    thread = msgspec.structs.replace(thread_of([1000]), facts=facts, name="timerfd")
    told = judged(run_of(thread, thread_of([1000], 1)), limit)
    assert told.outcome == outcome
    assert (told.series, told.cpu) == ("timerfd", 0)
    assert told.limit.in_ns is limit.startswith("longest")


def test_a_fact_is_judged_in_a_thread_without_samples_and_by_its_worst_thread() -> None:
    threads = [
        msgspec.structs.replace(thread_of([], cpu), facts={"over": float(cpu)}) for cpu in (4, 7, 5)
    ]
    told = judged(run_of(*threads), "over<6")
    assert (told.outcome, told.cpu, told.value) == ("fail", 7, 7.0)


def test_an_unknown_fact_is_not_proven_and_the_known_ones_are_listed() -> None:
    thread = msgspec.structs.replace(thread_of([1000]), facts={"over": 0.0, "failed": 0.0})
    told = judged(run_of(thread), "fialed<1")
    assert told.outcome == "inconclusive"
    assert told.reason == Reason("no-metric", of="cyclic", known=["failed", "over"])
    assert judged(run_of(thread_of([1000])), "failed<1").outcome == "inconclusive"


def test_only_proven_limits_exit_with_0() -> None:
    run = run_with([1000] * 400)
    assert exit_code(judge(run, [parse_limit("max<2us")])) == 0
    assert exit_code(judge(run, [parse_limit("max<2us"), parse_limit("max<1us")])) == 1
    assert exit_code(judge(run, [parse_limit("max<2us"), parse_limit("p99.9<1s")])) == 1
    assert exit_code([]) == 0


def test_a_run_whose_load_ended_early_proves_no_limit() -> None:
    run = run_of(thread_of([1000] * 50), warnings=[RunWarning("load-ended", "load cmd: it ended")])
    judgement = judged(run, "max<1ms")
    assert judgement.outcome == "inconclusive"
    assert judgement.reason == Reason("load-ended")


def test_a_percentile_of_a_run_with_missed_periods_says_that_it_leaves_them_out() -> None:
    stalled = msgspec.structs.replace(thread_of([1000] * 1999 + [50_000_000], 0), missed=49)
    run = run_of(stalled, thread_of([1000] * 2000, 1))
    stalls = Stalls(49, missed_share(stalled))
    assert stalls.share == pytest.approx(49 / 2049)
    limits = ("p99<5us", "max<1s", "missed<100")
    assert [judged(run, limit).stalls for limit in limits] == [stalls, None, None]
    assert stalls_text(stalls) in caveats(run)
    assert stalls_of(run.threads[1:]) is None
