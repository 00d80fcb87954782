# SPDX-License-Identifier: GPL-2.0-only
"""Two runs are called different when they are, and seldom when they are not."""

import math
from collections.abc import Callable
from functools import partial

import msgspec
import numpy as np
import pytest

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.reason import Reason
from rtscope.model.run import Asked, LoadWork, Run, RunWarning
from rtscope.statistics.alike import Difference
from rtscope.statistics.comparison import compare, compare_series
from tests.measured import Latencies, latencies, run_of, thread_of

KINDS = ["independent", "wandering", "bursts", "levels", "outliers"]
PAIRS = 120
setting = partial(Difference, "setting")
work = partial(Difference, "load-work", unit="stats")


def a_run(rng: np.random.Generator, kind: str = "independent", spikes: float = 1.0) -> Run:
    return run_of(thread_of(latencies(rng, kind, spikes=spikes)))


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_the_same_system_are_rarely_called_different(kind: str) -> None:
    rng = np.random.default_rng(20)
    called = [compare(a_run(rng, kind), a_run(rng, kind)).outcome for _ in range(PAIRS)]
    assert called.count("better") + called.count("worse") <= 0.05 * PAIRS
    assert called.count("no evidence") >= 0.9 * PAIRS


def test_cpus_disturbed_together_are_not_treated_as_independent() -> None:
    rng = np.random.default_rng(21)

    def together() -> Run:
        shared = latencies(rng, "levels")
        return run_of(*(thread_of(shared + rng.integers(0, 50, len(shared)), n) for n in range(4)))

    called = [compare(together(), together()).outcome for _ in range(40)]
    assert called.count("better") + called.count("worse") <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_median_a_third_higher_is_found(kind: str) -> None:
    rng = np.random.default_rng(22)
    for _ in range(5):
        a, slower = a_run(rng, kind), (latencies(rng, kind) * 4) // 3
        rows = {row.metric: row for row in compare(a, run_of(thread_of(slower))).rows}
        limits = rows["p50"].difference.interval
        assert rows["p50"].effect == "worse"
        assert (limits.low_ns or math.inf) <= 0.333 * np.exp(8) <= (limits.high_ns or 0)


def with_a_spike(values: Latencies) -> Latencies:
    return np.where(np.arange(len(values)) == 100, 50_000_000, values)


@pytest.mark.parametrize(
    ("spikes", "change", "outcome", "decider", "median"),
    [
        ((1.0, 2.0), lambda ns: ns, "worse", "p99.9", "same"),
        ((2.0, 1.0), lambda ns: ns, "better", "p99.9", "same"),
        ((2.0, 1.0), lambda ns: ns + 500, "better", "p99.9", "worse"),
        ((1.0, 1.0), with_a_spike, "no evidence", None, "same"),
        ((1.0, 1.0), lambda ns: ns * 1001 // 1000, "no evidence", None, "same"),
    ],
    ids=["longer-tail", "shorter-tail", "tail-before-median", "maximum", "tiny"],
)
def test_the_deepest_tail_decides(
    spikes: tuple[float, float],
    change: Callable[[Latencies], Latencies],
    outcome: str,
    decider: str | None,
    median: str,
) -> None:
    rng = np.random.default_rng(24)
    a, b = (latencies(rng, "independent", spikes=one) for one in spikes)
    found = compare(run_of(thread_of(a)), run_of(thread_of(change(b))))
    effects = {row.metric: row.effect for row in found.rows}
    assert (found.outcome, found.decider) == (outcome, decider)
    assert (effects["p50"], effects["max"]) == (median, "untested")


def test_a_significant_difference_below_2_percent_is_no_effect() -> None:
    found = compare(run_of(thread_of([1000] * 20_000)), run_of(thread_of([1010] * 20_000)))
    [median] = [row for row in found.rows if row.metric == "p50"]
    assert (found.outcome, median.effect) == ("no evidence", "same")
    assert (median.p_value or 1) < 0.05


def test_too_few_samples_are_reported_for_each_run() -> None:
    found = compare(run_of(thread_of([1000] * 5)), run_of(thread_of([9000] * 5)))
    assert found.outcome == "too few"
    a, b = found.rows[1].reasons
    assert (a, b.side) == (Reason("too-few-samples", 5, 20, "A"), "B")
    assert compare(run_of(), run_of()).outcome == "too few"


def test_series_are_compared_by_their_names() -> None:
    def run(**latencies_ns: int) -> Run:
        threads = [
            msgspec.structs.replace(thread_of([ns] * 5000), thread=number, name=name)
            for number, (name, ns) in enumerate(latencies_ns.items())
        ]
        return run_of(*threads)

    found = compare_series(run(coarse=5000, fine=1000), run(fine=2000, coarse=4000, tai=1))
    assert [(one.series, one.outcome) for one in found] == [("coarse", "better"), ("fine", "worse")]
    assert all(Difference("only", side="B", names=["tai"]) in one.differences for one in found)
    (one,) = compare_series(run(relative=2000), run(absolute=1000))
    assert (one.series, one.outcome) == ("", "better")
    with pytest.raises(RtscopeError, match="A measured a, b and B c: they have nothing in common"):
        compare_series(run(a=1, b=2), run(c=3))
    plain = run_of(thread_of([1000] * 5000, 0), thread_of([1000] * 5000, 1))
    assert [one.series for one in compare_series(plain, plain)] == [""]


def test_different_probes_are_not_compared() -> None:
    rng = np.random.default_rng(27)
    other = msgspec.structs.replace(a_run(rng, spikes=3.0), probe="signal")
    found = compare(a_run(rng), other)
    assert (found.outcome, found.probes) == ("not comparable", ("cyclic", "signal"))
    assert {row.effect for row in found.rows} == {"untested"}


@pytest.mark.parametrize(
    ("field", "value", "difference"),
    [
        ("status", "interrupted", Difference("partial", "interrupted", side="B")),
        ("machine", Machine(high_resolution_timers=False), Difference("low-resolution", side="B")),
        ("machine", Machine(kernel_release="6.1"), setting("kernel", "6.12.1", "6.1")),
        ("asked", Asked(interval_ns=200_000), setting("interval", None, "200us")),
        ("load", "mixed", setting("load", "idle", "mixed")),
        ("warnings", [RunWarning("x", "no lock")], Difference("warning", "no lock", side="B")),
        ("loads", [LoadWork("files", 2, 1, 1.0, {"stats": 109})], None),
        ("loads", [LoadWork("files", 2, 1, 1.0, {"stats": 112})], work("files", 100, 112)),
        ("loads", [LoadWork("files", 2, 1, 1.0, {"stats": 0})], work("files", 100, 0)),
    ],
)
def test_differences_of_the_runs_are_named(
    field: str, value: object, difference: Difference | None
) -> None:
    files = LoadWork("files", 2, 1, 10.0, {"stats": 1000})
    run = run_of(thread_of([1000] * 50), loads=[files])
    other = msgspec.structs.replace(run, **{field: value})
    found = compare(run, other).differences
    assert difference in found if difference else not found
    assert compare(run, run).differences == []


def test_a_warning_of_both_runs_is_reported_once() -> None:
    run = run_of(thread_of([1000] * 50), warnings=[RunWarning("x", "not locked")])
    assert compare(run, run).differences == [Difference("warning", "not locked")]


def test_imports_without_latency_over_time_say_that_independence_was_assumed() -> None:
    found = compare(*(run_of(thread_of([ns] * 5000, windows=1)) for ns in (1000, 2000)))
    assert found.outcome == "worse"
    assert found.differences[-1] == Difference("assumed-independent", names=["A", "B"])


def test_a_tail_beyond_the_histograms_end_is_worse_than_one_inside() -> None:
    inside = run_of(thread_of([1000] * 5000))
    ended = msgspec.structs.replace(
        inside.threads[0], histogram=Histogram([1000], [1], [4000], 1000, 100_000), max_ns=200_000
    )
    found = compare(inside, run_of(ended))
    assert found.outcome == "worse"
    assert [row.b.at_least for row in found.rows if row.metric == "p99"] == [True]


def test_percentiles_of_responses_are_shown_where_a_period_was_missed() -> None:
    quiet = msgspec.structs.replace(
        run_of(thread_of([5_000] * 20_000)), probe="cyclic", asked=Asked(interval_ns=10**6)
    )
    (thread,) = quiet.threads
    # A stall of 50 ms: one sample, and 49 periods that pass without one.
    values = [5_000] * 19_999 + [50_000_000]
    stalled = msgspec.structs.replace(thread_of(values), missed=49)
    other = msgspec.structs.replace(quiet, threads=[stalled])
    rows = {row.metric: row for row in compare(quiet, other).rows}

    assert rows["p99.9"].b.value_ns == pytest.approx(5_000, rel=0.01)
    row = rows["p99.9.response"]
    assert row.a.value_ns == pytest.approx(5_000, rel=0.01)
    assert row.b.value_ns == pytest.approx(30e6, rel=0.05)  # the 20th of 50 late answers
    assert (row.effect, [one.cause for one in row.reasons]) == ("untested", ["one-stall"])
    assert not [name for name in {r.metric for r in compare(quiet, quiet).rows} if "resp" in name]
    assert thread.missed == 0
