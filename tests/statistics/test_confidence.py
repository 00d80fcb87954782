# SPDX-License-Identifier: GPL-2.0-only
"""Confidence limits hold the true value as often as they say."""

import numpy as np
import pytest

from rtscope.model.histogram import Histogram
from rtscope.model.run import Windows
from rtscope.statistics.confidence import (
    Interval,
    Ranks,
    batch_means,
    cluster_size,
    difference_interval,
    mean_interval,
    pooled_windows,
    quantile_interval,
)
from tests.measured import latencies, thread_of


def test_ranks_are_those_of_the_binomial_tables() -> None:
    """Conover's table of the binomial: n = 20, p = 0.5 gives the 6th and the 15th sample."""
    interval = quantile_interval(Ranks(Histogram.of(list(range(1, 21)))), 50.0)
    assert (interval.low_ns, interval.high_ns) == (6, 15)


def test_limits_that_the_data_do_not_reach_are_open() -> None:
    interval = quantile_interval(Ranks(Histogram.of(list(range(1, 21)))), 99.0)
    assert interval.low_ns is not None
    assert interval.high_ns is None
    assert quantile_interval(Ranks(Histogram()), 50.0) == Interval(None, None)
    ended = Ranks(Histogram([1], [1], [900], 100, 5000))
    assert quantile_interval(ended, 99.0) == Interval(5000, None)


@pytest.mark.parametrize("percent", [50.0, 99.0])
def test_95_percent_limits_hold_the_quantile_of_independent_samples(percent: float) -> None:
    rng = np.random.default_rng(1)
    truth = np.quantile(np.exp(rng.normal(8, 0.3, 2_000_000)), percent / 100)
    held = 0
    for _ in range(400):
        ranks = Ranks(thread_of(latencies(rng, "independent", 3000)).histogram)
        interval = quantile_interval(ranks, percent)
        assert interval.low_ns is not None
        assert interval.high_ns is not None
        held += interval.low_ns <= truth <= interval.high_ns
    assert 0.92 <= held / 400 <= 0.985


def test_95_percent_limits_of_the_mean_hold_it_for_dependent_samples() -> None:
    rng = np.random.default_rng(2)
    truth = float(np.exp(8 + 0.2**2 / 2 + 0.2**2 / 2))
    held = naive = 0
    for _ in range(300):
        thread = thread_of(latencies(rng, "levels"))
        assert thread.mean_ns is not None
        assert thread.stddev_ns is not None
        batches = batch_means(thread.windows, thread.stddev_ns)
        low, high = _sides(mean_interval(thread.mean_ns, thread.stddev_ns, thread.count, batches))
        held += low <= truth <= high
        naive += abs(thread.mean_ns - truth) <= 1.96 * thread.stddev_ns / thread.count**0.5
    assert held / 300 >= 0.92
    assert naive / 300 < 0.5, "the samples were meant to be dependent"


def _sides(interval: Interval) -> tuple[float, float]:
    assert interval.low_ns is not None
    assert interval.high_ns is not None
    return interval.low_ns, interval.high_ns


def test_inflation_is_near_1_for_independent_samples_and_large_for_dependent_ones() -> None:
    rng = np.random.default_rng(3)

    def typical(kind: str) -> float:
        threads = [thread_of(latencies(rng, kind)) for _ in range(9)]
        return float(np.median([batch_means(t.windows, t.stddev_ns).inflation for t in threads]))

    assert typical("independent") < 2
    assert typical("levels") > 30


def test_spikes_that_come_together_count_as_one_cluster() -> None:
    rng = np.random.default_rng(4)
    scattered = latencies(rng, "independent", 60_000)
    clustered = scattered.copy()
    clustered[scattered.argsort()[-600:]] = 3000
    for start in range(0, 60_000, 6000):
        clustered[start : start + 60] = 100_000 + rng.integers(0, 1000, 60)
    sizes = []
    for values in (scattered, clustered):
        thread = thread_of(values, windows=600)
        sizes.append(cluster_size(Ranks(thread.histogram), thread.windows, 99.5))
    assert sizes[0] < 1.5
    assert 20 < sizes[1] < 90


def test_too_few_windows_make_no_batches() -> None:
    assert batch_means(Windows(), 10.0).number == 0
    assert batch_means(thread_of([1, 2, 3, 4], windows=4).windows, 1.0).number == 0
    assert batch_means(thread_of([7] * 100).windows, 0.0).inflation == 1.0


def test_windows_of_several_cpus_are_pooled_by_their_end() -> None:
    a = thread_of([1000, 3000, 5000], 0, windows=3)
    b = thread_of([2000, 2000, 9000, 9000], 1, windows=2)
    pooled = pooled_windows([a, b])
    assert pooled.end_ns == [1_000_000_000, 2_000_000_000, 3_000_000_000]
    assert pooled.count == [3, 3, 1]
    assert pooled.mean_ns == pytest.approx([5000 / 3, 7000, 5000])
    assert pooled.max_ns == [2000, 9000, 5000]
    assert pooled_windows([]) == Windows()


def test_the_difference_is_at_least_as_uncertain_as_either() -> None:
    interval = difference_interval(100, Interval(90, 120), 200, Interval(170, 210))
    assert interval.low_ns == pytest.approx(100 - np.hypot(30, 20))
    assert interval.high_ns == pytest.approx(100 + np.hypot(10, 10))
    assert difference_interval(1, Interval(None, 3), 2, Interval(1, None)).high_ns is None
