# SPDX-License-Identifier: GPL-2.0-only
"""Two runs are called different when they are, and seldom when they are not."""

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
from tests.measured import latencies, run_of, thread_of

KINDS = ["independent", "wandering", "bursts", "levels", "outliers"]
PAIRS = 120


def a_run(rng: np.random.Generator, kind: str = "independent", spikes: float = 1.0) -> Run:
    return run_of(thread_of(latencies(rng, kind, spikes=spikes)))


@pytest.mark.parametrize("kind", KINDS)
def test_runs_of_the_same_machine_are_rarely_called_different(kind: str) -> None:
    rng = np.random.default_rng(20)
    called = [compare(a_run(rng, kind), a_run(rng, kind)).outcome for _ in range(PAIRS)]
    wrong = sum(outcome in ("better", "worse") for outcome in called)
    assert wrong <= 0.05 * PAIRS
    assert called.count("no evidence") >= 0.9 * PAIRS


def test_cpus_disturbed_together_are_not_taken_for_independent() -> None:
    rng = np.random.default_rng(21)

    def together() -> Run:
        shared = latencies(rng, "levels")
        return run_of(*(thread_of(shared + rng.integers(0, 50, len(shared)), n) for n in range(4)))

    outcomes = [compare(together(), together()).outcome for _ in range(40)]
    assert sum(outcome in ("better", "worse") for outcome in outcomes) <= 2


@pytest.mark.parametrize("kind", KINDS)
def test_a_median_a_third_higher_is_found(kind: str) -> None:
    rng = np.random.default_rng(22)
    for _ in range(5):
        a = a_run(rng, kind)
        slower = (latencies(rng, kind) * 4) // 3
        median = next(
            row for row in compare(a, run_of(thread_of(slower))).rows if row.figure == "p50"
        )
        assert median.effect == "worse"
        low, high = median.difference.interval.low_ns, median.difference.interval.high_ns
        assert low is not None
        assert high is not None
        assert low <= 0.333 * np.exp(8) <= high


def test_a_tail_twice_as_long_is_found_and_decides() -> None:
    rng = np.random.default_rng(23)
    told = compare(a_run(rng), a_run(rng, spikes=2.0))
    assert told.outcome == "worse"
    assert told.decider == "p99.9"
    assert compare(a_run(rng, spikes=2.0), a_run(rng)).outcome == "better"


def test_when_tail_and_median_disagree_both_are_told_and_the_tail_decides() -> None:
    rng = np.random.default_rng(24)
    b = run_of(thread_of(latencies(rng, "independent") + 500))
    told = compare(a_run(rng, spikes=2.0), b)
    assert told.outcome == "better"
    effects = {row.figure: row.effect for row in told.rows}
    assert (effects["p50"], told.decider) == ("worse", "p99.9")


def test_the_maxima_alone_decide_nothing() -> None:
    rng = np.random.default_rng(25)
    values = latencies(rng, "independent")
    spiked = values.copy()
    spiked[100] = 50_000_000
    told = compare(run_of(thread_of(values)), run_of(thread_of(spiked)))
    assert told.outcome == "no evidence"
    assert [row.effect for row in told.rows if row.figure == "max"] == ["untested"]


def test_a_sure_but_tiny_difference_is_not_called() -> None:
    rng = np.random.default_rng(26)
    values = latencies(rng, "independent")
    told = compare(run_of(thread_of(values)), run_of(thread_of(values * 1001 // 1000)))
    assert told.outcome == "no evidence"
    sure = compare(run_of(thread_of([1000] * 20_000)), run_of(thread_of([1010] * 20_000)))
    [median] = [row for row in sure.rows if row.figure == "p50"]
    assert (sure.outcome, median.effect) == ("no evidence", "same")
    assert (median.p_value or 1) < 0.05


def test_too_few_samples_are_said_to_be_too_few() -> None:
    told = compare(run_of(thread_of([1000] * 5)), run_of(thread_of([9000] * 5)))
    assert told.outcome == "too few"
    assert told.rows[1].reasons == [
        Reason("too-few-samples", 5, 20, "A"),
        Reason("too-few-samples", 5, 20, "B"),
    ]
    assert compare(run_of(), run_of()).outcome == "too few"


def test_series_are_compared_by_their_names() -> None:
    def run(**latencies_ns: int) -> Run:
        threads = [
            msgspec.structs.replace(thread_of([ns] * 5000), thread=number, name=name)
            for number, (name, ns) in enumerate(latencies_ns.items())
        ]
        return run_of(*threads)

    told = compare_series(run(coarse=5000, fine=1000), run(fine=2000, coarse=4000, tai=1))
    assert [(one.series, one.outcome) for one in told] == [("coarse", "better"), ("fine", "worse")]
    assert all(Difference("only", side="B", names=["tai"]) in one.differences for one in told)
    (one,) = compare_series(run(relative=2000), run(absolute=1000))
    assert (one.series, one.outcome) == ("", "better")
    with pytest.raises(RtscopeError, match="A measured a, b and B c: they have nothing in common"):
        compare_series(run(a=1, b=2), run(c=3))
    plain = run_of(thread_of([1000] * 5000, 0), thread_of([1000] * 5000, 1))
    assert [one.series for one in compare_series(plain, plain)] == [""]


def test_different_probes_are_not_compared() -> None:
    rng = np.random.default_rng(27)
    other = msgspec.structs.replace(a_run(rng, spikes=3.0), probe="signal")
    told = compare(a_run(rng), other)
    assert told.outcome == "not comparable"
    assert told.probes == ("cyclic", "signal")
    assert all(row.effect == "untested" for row in told.rows)


@pytest.mark.parametrize(
    ("change", "difference"),
    [
        ({"status": "interrupted"}, Difference("partial", "interrupted", side="B")),
        (
            {"machine": Machine(high_resolution_timers=False)},
            Difference("low-resolution", side="B"),
        ),
        (
            {"machine": Machine(kernel_release="6.1")},
            Difference("setting", "kernel", "6.12.1", "6.1"),
        ),
        ({"machine": Machine(cpu_model="Z80")}, Difference("setting", "CPU model", None, "Z80")),
        ({"asked": Asked(interval_ns=200_000)}, Difference("setting", "interval", None, "200us")),
        ({"load": "mixed"}, Difference("setting", "load", "idle", "mixed")),
        (
            {"source": "cyclictest"},
            Difference("setting", "measuring tool", "rtscope", "cyclictest"),
        ),
        (
            {"warnings": [RunWarning("x", "not locked")]},
            Difference("warning", "not locked", side="B"),
        ),
    ],
)
def test_runs_that_were_not_alike_are_told_so(
    change: dict[str, object], difference: Difference
) -> None:
    run = run_of(thread_of([1000] * 50))
    assert compare(run, run).differences == []
    assert difference in compare(run, run_of(*run.threads, **change)).differences


@pytest.mark.parametrize(("work", "told"), [(109, False), (112, True), (0, True)])
def test_loads_that_worked_10_percent_apart_are_told(work: int, told: bool) -> None:
    thread = thread_of([1000] * 50)
    a = run_of(thread, loads=[LoadWork("files", 2, 1, 10.0, {"stats": 1000})])
    b = run_of(thread, loads=[LoadWork("files", 2, 1, 1.0, {"stats": work})])
    assert bool(compare(a, b).differences) is told


def test_imports_without_latency_over_time_say_that_independence_was_assumed() -> None:
    a = run_of(thread_of([1000] * 5000, windows=1))
    b = run_of(thread_of([2000] * 5000, windows=1))
    told = compare(a, b)
    assert told.outcome == "worse"
    assert told.differences[-1] == Difference("assumed-independent", names=["A", "B"])


def test_a_tail_beyond_the_histograms_end_is_worse_than_one_inside() -> None:
    inside = run_of(thread_of([1000] * 5000))
    ended = msgspec.structs.replace(
        inside.threads[0], histogram=Histogram([1000], [1], [4000], 1000, 100_000), max_ns=200_000
    )
    told = compare(inside, run_of(ended))
    assert told.outcome == "worse"
    assert [row.b.at_least for row in told.rows if row.figure == "p99"] == [True]
