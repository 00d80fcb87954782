# SPDX-License-Identifier: GPL-2.0-only
"""Confidence limits hold the true value as often as they say."""

import math

import numpy as np
import pytest

from rtscope.model.histogram import Histogram
from rtscope.model.run import Windows
from rtscope.statistics import confidence
from tests.measured import latencies, thread_of


def holds(interval: confidence.Interval, truth: float) -> bool:
    return (interval.low_ns or math.inf) <= truth <= (interval.high_ns or 0)


def test_limits_are_those_of_the_binomial_tables_or_open_beyond_the_data() -> None:
    """Conover's table of the binomial: n = 20, p = 0.5 gives the 6th and the 15th sample."""
    ranks = confidence.Ranks(Histogram.of(list(range(1, 21))))
    assert confidence.quantile_interval(ranks, 50.0) == confidence.Interval(6, 15)
    assert confidence.quantile_interval(ranks, 99.0).high_ns is None
    assert confidence.quantile_interval(confidence.Ranks(Histogram()), 50.0) == confidence.Interval(
        None, None
    )
    ended = confidence.Ranks(Histogram([1], [1], [900], 100, 5000))
    assert confidence.quantile_interval(ended, 99.0) == confidence.Interval(5000, None)


@pytest.mark.parametrize("percent", [50.0, 99.0])
def test_95_percent_limits_hold_the_quantile_of_independent_samples(percent: float) -> None:
    rng = np.random.default_rng(1)
    truth = np.quantile(np.exp(rng.normal(8, 0.3, 2_000_000)), percent / 100)
    held = 0
    for _ in range(400):
        ranks = confidence.Ranks(thread_of(latencies(rng, "independent", 3000)).histogram)
        held += holds(confidence.quantile_interval(ranks, percent), truth)
    assert 0.92 <= held / 400 <= 0.985


def test_95_percent_limits_of_the_mean_hold_it_for_dependent_samples() -> None:
    rng = np.random.default_rng(2)
    truth = float(np.exp(8 + 0.2**2 / 2 + 0.2**2 / 2))
    held = naive = 0
    for _ in range(300):
        thread = thread_of(latencies(rng, "levels"))
        mean, deviation = thread.mean_ns or 0, thread.stddev_ns or 0
        batches = confidence.batch_means(thread.windows, deviation)
        held += holds(confidence.mean_interval(mean, deviation, thread.count, batches), truth)
        naive += abs(mean - truth) <= 1.96 * deviation / thread.count**0.5
    assert held / 300 >= 0.92
    assert naive / 300 < 0.5, "the samples were meant to be dependent"


@pytest.mark.parametrize(("kind", "least", "most"), [("independent", 0, 2), ("levels", 30, 1e9)])
def test_dependent_samples_inflate_the_variance(kind: str, least: float, most: float) -> None:
    rng = np.random.default_rng(3)
    threads = [thread_of(latencies(rng, kind)) for _ in range(9)]
    inflation = np.median(
        [confidence.batch_means(t.windows, t.stddev_ns).inflation for t in threads]
    )
    assert least < inflation < most


def test_spikes_that_come_together_count_as_one_cluster() -> None:
    rng = np.random.default_rng(4)
    scattered = latencies(rng, "independent", 60_000)
    clustered = scattered.copy()
    clustered[scattered.argsort()[-600:]] = 3000
    for start in range(0, 60_000, 6000):
        clustered[start : start + 60] = 100_000 + rng.integers(0, 1000, 60)
    threads = [thread_of(values, windows=600) for values in (scattered, clustered)]
    alone, together = (
        confidence.cluster_size(confidence.Ranks(t.histogram), t.windows, 99.5) for t in threads
    )
    assert alone < 1.5
    assert 20 < together < 90


def test_too_few_windows_make_no_batches() -> None:
    assert confidence.batch_means(Windows(), 10.0).number == 0
    assert confidence.batch_means(thread_of([1, 2, 3, 4], windows=4).windows, 1.0).number == 0
    assert confidence.batch_means(thread_of([7] * 100).windows, 0.0).inflation == 1.0


def test_windows_of_several_cpus_are_pooled_by_their_end() -> None:
    a = thread_of([1000, 3000, 5000], 0, windows=3)
    b = thread_of([2500, 2500, 9000, 9000], 1, windows=2)
    ends = [1_000_000_000, 2_000_000_000, 3_000_000_000]
    pooled = confidence.pooled_windows([a, b])
    assert (pooled.end_ns, pooled.count, pooled.max_ns) == (ends, [3, 3, 1], [2500, 9000, 5000])
    assert pooled.mean_ns == pytest.approx([2000, 7000, 5000])
    assert confidence.pooled_windows([]) == Windows()


def test_the_difference_is_at_least_as_uncertain_as_either() -> None:
    interval = confidence.difference_interval(
        100, confidence.Interval(90, 120), 200, confidence.Interval(170, 210)
    )
    assert (interval.low_ns, interval.high_ns) == pytest.approx(
        (100 - np.hypot(30, 20), 100 + np.hypot(10, 10))
    )
    assert (
        confidence.difference_interval(
            1, confidence.Interval(None, 3), 2, confidence.Interval(1, None)
        ).high_ns
        is None
    )
