# SPDX-License-Identifier: GPL-2.0-only
"""A limit passes only where the samples prove it."""

from collections.abc import Sequence
from typing import get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.budget import parse_limit
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.model.run import Run, RunWarning, Status, Thread
from rtscope.statistics.metrics import Stalls, missed_share, stalls_of
from rtscope.statistics.verdict import Judgement, exit_code, judge
from rtscope.wording.reason import stalls_text
from rtscope.wording.run import caveats
from tests.measured import run_of, thread_of


def judged(run: Run, limit: str) -> Judgement:
    (judgement,) = judge(run, [parse_limit(limit)])
    return judgement


def run_with(latencies: Sequence[int]) -> Run:
    return run_of(thread_of([1000] * len(latencies), 0), thread_of(latencies, 3))


def a_thread(cpu: int = 0, ns: int = 1000, **fields: object) -> Thread:
    return msgspec.structs.replace(thread_of([ns], cpu), **fields)


ONE_SLOW = run_with([1000] * 1999 + [50_000])
CUT = run_of(
    msgspec.structs.replace(
        thread_of([500] * 2000),
        histogram=Histogram([0, 49_000], [1000, 1000], [500, 1400], 100, 100_000),
        max_ns=900_000,
    )
)
METRICS = {"failed": 0.0, "over": 3.0, "longest_ns": 12_000_000.0, "share": 0.25}
OF_A_PROBE = run_of(a_thread(metrics=METRICS, name="timerfd"), a_thread(1))
SERIES = run_of(
    a_thread(name="inherit", metrics={"inversions": 0.0}),
    a_thread(ns=9000, name="none", metrics={"inversions": 7.0}),
)


@pytest.mark.parametrize(
    ("run", "limit", "outcome"),
    [
        (ONE_SLOW, "max<50us", "fail"),
        (ONE_SLOW, "max<=50us", "pass"),
        (ONE_SLOW, "mean<2us", "pass"),
        (ONE_SLOW, "mean<1us", "fail"),
        (ONE_SLOW, "missed<1", "pass"),
        (ONE_SLOW, "p99<50us", "pass"),
        (ONE_SLOW, "p99.9<50us", "inconclusive"),
        (ONE_SLOW, "p99.9<1s", "inconclusive"),
        (run_with([1000] * 90 + [50_000] * 10), "p99.9<50us", "fail"),
        (run_with([1000] * 91 + [50_000] * 9), "p99.9<50us", "inconclusive"),
        (CUT, "p99<100us", "fail"),
        (CUT, "p99<50us", "fail"),
        (CUT, "p99<200us", "inconclusive"),
        (CUT, "p90<100us", "pass"),
        (CUT, "p90<49500ns", "inconclusive"),
        (run_of(a_thread(missed=None)), "missed<1", "inconclusive"),
        (run_of(a_thread(mean_ns=None)), "mean<1s", "inconclusive"),
        (run_of(a_thread()), "failed<1", "inconclusive"),
        (OF_A_PROBE, "failed<1", "pass"),
        (OF_A_PROBE, "over<3", "fail"),
        (OF_A_PROBE, "over<=3", "pass"),
        (OF_A_PROBE, "longest_ns<12ms", "fail"),
        (OF_A_PROBE, "longest_ns<=12ms", "pass"),
        (OF_A_PROBE, "share<0.5", "pass"),
        (OF_A_PROBE, "share<=0.24", "fail"),
        (SERIES, "inversions<1", "fail"),
        (SERIES, "inversions[inherit]<1", "pass"),
        (SERIES, "inversions[none]<1", "fail"),
        (SERIES, "max[inherit]<2us", "pass"),
    ],
)
def test_a_limit_passes_fails_or_is_inconclusive(run: Run, limit: str, outcome: str) -> None:
    assert judged(run, limit).outcome == outcome


@pytest.mark.parametrize(
    ("run", "limit", "missing", "reason"),
    [
        (run_with([1000] * 400), "p99.9<1s", 9600, Reason("too-few-samples", 400, 10_000)),
        (SERIES, "max[other]<2us", None, Reason("no-series", known=["inherit", "none"])),
        (OF_A_PROBE, "fialed<1", None, Reason("no-metric", of="cyclic", known=sorted(METRICS))),
        (
            run_of(a_thread(), warnings=[RunWarning("load-ended", "load cmd: it ended")]),
            "max<1ms",
            None,
            Reason("load-ended"),
        ),
    ],
)
def test_why_a_limit_is_inconclusive(
    run: Run, limit: str, missing: int | None, reason: Reason
) -> None:
    found = judged(run, limit)
    assert (found.outcome, found.samples_missing or None) == ("inconclusive", missing)
    assert found.reason == reason


@given(st.integers(0, 40), st.sampled_from([99.0, 98.0, 99.5]))
def test_a_quantile_is_that_of_sorting(slow: int, percent: float) -> None:
    latencies = [1000] * (2000 - slow) + [50_000] * slow
    rank = -int(-percent * 2000 // 100)
    below = sorted(latencies)[rank - 1] < 50_000
    assert judged(run_with(latencies), f"p{percent:g}<50us").outcome == (
        "pass" if below else "fail"
    )


@pytest.mark.parametrize("limit", ["max<1h", "mean<1h", "p50<1h", "missed<999"])
def test_an_empty_run_and_a_silent_cpu_prove_nothing(limit: str) -> None:
    assert judged(run_of(), limit).outcome == "inconclusive"
    assert judged(run_of(thread_of([])), limit).outcome == "inconclusive"
    found = judged(run_of(thread_of([1000] * 100, 0), thread_of([], 1)), limit)
    assert (found.outcome, found.cpu) == ("inconclusive", 1)


@pytest.mark.parametrize("status", get_args(Status))
def test_a_run_cut_short_breaks_limits_but_proves_none(status: Status) -> None:
    run = run_of(thread_of([1000] * 100), status=status)
    assert judged(run, "max<2us").outcome == ("pass" if status == "complete" else "inconclusive")
    assert judged(run, "max<1us").outcome == "fail"


def test_a_metric_is_judged_by_its_worst_thread_which_is_named() -> None:
    silent = [
        msgspec.structs.replace(thread_of([], n), metrics={"over": float(n)}) for n in (4, 7, 5)
    ]
    found = judged(run_of(*silent), "over<6")
    assert (found.outcome, found.cpu, found.value) == ("fail", 7, 7.0)
    longest, over = (judged(OF_A_PROBE, limit) for limit in ("longest_ns<12ms", "over<3"))
    assert (longest.series, longest.cpu, longest.limit.in_ns) == ("timerfd", 0, True)
    assert (over.series, over.cpu, over.limit.in_ns) == ("timerfd", 0, False)


@pytest.mark.parametrize(
    ("limits", "code"),
    [(["max<2us"], 0), (["max<2us", "max<1us"], 1), (["max<2us", "p99.9<1s"], 1), ([], 0)],
)
def test_only_proven_limits_exit_with_0(limits: list[str], code: int) -> None:
    run = run_with([1000] * 400)
    assert exit_code(judge(run, [parse_limit(limit) for limit in limits])) == code


def test_a_percentile_of_a_run_with_missed_periods_says_that_it_leaves_them_out() -> None:
    stalled = msgspec.structs.replace(thread_of([1000] * 1999 + [50_000_000], 0), missed=49)
    run = run_of(stalled, thread_of([1000] * 2000, 1))
    stalls = Stalls(49, missed_share(stalled))
    assert stalls.share == pytest.approx(49 / 2049)
    limits = ("p99<5us", "max<1s", "missed<100")
    assert [judged(run, limit).stalls for limit in limits] == [stalls, None, None]
    assert stalls_text(stalls) in caveats(run)
    assert stalls_of(run.threads[1:]) is None


@pytest.mark.parametrize(
    ("late", "hours", "outcome", "needs"),
    [
        (0, 3.1, "pass", None),
        (0, 1.0, "inconclusive", 3.0),
        (1, 6.0, "pass", None),
        (1, 3.0, "inconclusive", 6.3),
        (8, 3.0, "fail", None),
        (4, 3.0, "inconclusive", None),
    ],
)
def test_a_rate_is_judged_by_its_exact_limits(
    late: int, hours: float, outcome: str, needs: float | None
) -> None:
    thread = thread_of([1000] * 1000 + [60_000] * late)
    run = msgspec.structs.replace(run_of(thread), elapsed_ns=round(hours * 3600e9))
    one = judged(run, "rate(>50us)<1/h")

    assert one.outcome == outcome
    assert one.value == pytest.approx(late / hours)
    if outcome == "inconclusive":
        assert one.reason is not None
        assert one.reason.cause == ("too-short" if needs else "near-limit")
        assert one.reason.needs == pytest.approx(needs or 0, rel=0.1)
