# SPDX-License-Identifier: GPL-2.0-only
"""Metrics agree with the samples that they were made from, and never flatter them."""

import math
from fractions import Fraction

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.statistics.metrics import merge, metrics, metrics_of_run, quantile_ns, samples_needed
from tests.measured import run_of, thread_of

values = st.lists(st.integers(0, 10**7), min_size=20, max_size=200)
widths = st.integers(1, 5000)


def coarse(latencies: list[int], width: int) -> Histogram:
    """The histogram of a tool with buckets of this width."""
    exact = Histogram.of([latency // width * width for latency in latencies])
    return Histogram(exact.lower_ns, [width] * len(exact.count), exact.count)


@given(values, st.sampled_from([0.0, 1.0, 25.0, 50.0]))
def test_exact_buckets_give_the_sample_of_that_rank(latencies: list[int], percent: float) -> None:
    rank = max(1, math.ceil(Fraction(percent) / 100 * len(latencies)))
    assert quantile_ns(Histogram.of(latencies), percent).value_ns == sorted(latencies)[rank - 1]


@given(values, values, widths, widths)
def test_wide_buckets_overstate_by_less_than_one(
    a: list[int], b: list[int], a_width: int, b_width: int
) -> None:
    exact = quantile_ns(Histogram.of(a), 50.0).value_ns or 0
    assert exact <= (quantile_ns(coarse(a, a_width), 50.0).value_ns or 0) < exact + a_width
    merged = merge([coarse(a, a_width), coarse(b, b_width)])
    assert merged.total == len(a) + len(b)
    median = sorted(a + b)[math.ceil((len(a) + len(b)) / 2) - 1]
    assert (quantile_ns(merged, 50.0).value_ns or 0) >= median


def test_a_quantile_does_not_exceed_the_known_worst_sample() -> None:
    histogram = Histogram([0, 50_000], [50_000, 1000], [10, 30])
    assert quantile_ns(histogram, 50.0).value_ns == 50_999
    assert quantile_ns(histogram, 50.0, max_ns=50_123).value_ns == 50_123


def test_ranks_are_exact_in_decimal() -> None:
    assert quantile_ns(Histogram([1, 2], [1, 1], [9990, 10]), 99.9).value_ns == 1


@pytest.mark.parametrize(
    ("percent", "needed"), [(50.0, 20), (99.0, 1000), (99.9, 10_000), (99.999, 1_000_000)]
)
def test_a_quantile_needs_ten_samples_beyond_it(percent: float, needed: int) -> None:
    assert samples_needed(percent) == needed
    assert quantile_ns(Histogram([5], [1], [needed]), percent).value_ns == 5
    too_few = quantile_ns(Histogram([5], [1], [needed - 1]), percent)
    assert too_few.value_ns is None
    assert too_few.reason == Reason("too-few-samples", needed - 1, needed)


def test_a_quantile_beyond_the_histograms_end_is_a_bound() -> None:
    histogram = Histogram([0], [100], [900], beyond_count=100, beyond_ns=100_000)
    assert quantile_ns(histogram, 50.0).value_ns == 99
    beyond = quantile_ns(histogram, 95.0)
    assert (beyond.value_ns, beyond.at_least) == (100_000, True)


@pytest.mark.parametrize("percent", [-1.0, 100.0, math.nan])
def test_there_is_no_such_quantile(percent: float) -> None:
    with pytest.raises(ValueError, match="below 100 %"):
        quantile_ns(Histogram.of([1]), percent)


def test_samples_above_another_histograms_end_have_no_known_rank() -> None:
    ended = Histogram([1], [1], [100], beyond_count=3, beyond_ns=50)
    merged = merge([ended, Histogram([10, 45, 200], [1, 10, 1], [1, 2, 4])])
    assert merged == Histogram([1, 10], [1, 1], [100, 1], beyond_count=9, beyond_ns=45)


def test_impossible_counts_are_refused_with_a_sentence() -> None:
    with pytest.raises(RtscopeError, match="not a real run"):
        merge([Histogram([1], [1], [2**62]), Histogram([1], [1], [2**62])])


@given(st.lists(st.lists(st.integers(0, 10**6), min_size=1, max_size=40), min_size=1, max_size=4))
def test_a_runs_metrics_are_those_of_all_its_samples(parts: list[list[int]]) -> None:
    every = np.array([latency for part in parts for latency in part])
    assert merge([Histogram.of(part) for part in parts]) == Histogram.of(every.tolist())
    found = metrics_of_run(run_of(*(thread_of(part, cpu) for cpu, part in enumerate(parts))))
    assert (found.count, found.min_ns, found.max_ns) == (len(every), every.min(), every.max())
    assert found.mean_ns == pytest.approx(every.mean())
    assert found.stddev_ns == pytest.approx(every.std(), abs=1e-3)
    assert found.quantiles == [
        quantile_ns(Histogram.of(every.tolist()), quantile.percent) for quantile in found.quantiles
    ]


def test_metrics_that_were_not_measured_are_absent_and_not_zero() -> None:
    empty = metrics_of_run(run_of(thread_of([], 0)))
    assert (empty.count, empty.min_ns, empty.mean_ns, empty.max_ns) == (0, None, None, None)
    assert all(quantile.reason == Reason("no-samples") for quantile in empty.quantiles)
    assert metrics_of_run(run_of()).count == 0
    counted = thread_of([3000] * 50, 0)
    uncounted = msgspec.structs.replace(counted, missed=None)
    assert metrics_of_run(run_of(counted, counted)).missed == 0
    assert metrics_of_run(run_of(counted, uncounted)).missed is None
    without = Histogram(beyond_count=50, beyond_ns=3000)
    imported = metrics(msgspec.structs.replace(counted, histogram=without))
    assert (imported.max_ns, imported.quantile(50.0).reason) == (3000, Reason("no-histogram"))
