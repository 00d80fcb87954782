# SPDX-License-Identifier: GPL-2.0-only
"""What is drawn holds every sample, and the tail exactly."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from rtscope.model.histogram import Histogram
from rtscope.report.page.bins import drawing
from tests.measured import latencies, run_of, thread_of

samples = st.lists(st.integers(0, 10**8), min_size=1, max_size=300)


@given(st.lists(samples, min_size=1, max_size=3))
def test_no_sample_is_lost_and_every_bin_holds_its_own(parts: list[list[int]]) -> None:
    run = run_of(*(thread_of(part, cpu) for cpu, part in enumerate(parts)))
    drawn = drawing([run]).series
    assert len(drawn) == len(parts) + 1
    everything = [*parts, [value for part in parts for value in part]]
    for line, values in zip(drawn, everything, strict=True):
        for bins in (line.linear, line.log):
            assert sum(bins.count) == len(values)
            edges = [edge for pair in zip(bins.low, bins.high, strict=True) for edge in pair]
            assert edges == sorted(edges)
            assert bins.low[0] == min(values) / 1000
            assert bins.high[-1] == (max(values) + 1) / 1000
            for low, high, count in zip(bins.low, bins.high, bins.count, strict=True):
                assert count == sum(low <= value / 1000 < high for value in values)


def test_lone_samples_of_the_tail_are_drawn_where_they_are() -> None:
    rng = np.random.default_rng(1)
    values = latencies(rng, "independent").tolist()
    spikes = [50_000, 50_500, 777_777, 12_345_678]
    line = drawing([run_of(thread_of(values + spikes))]).series[0]
    assert len(line.log.count) < 500
    for bins in (line.linear, line.log):
        assert bins.low[-2:].tolist() == [777.777, 12345.678]
        assert bins.high[-2:].tolist() == [777.778, 12345.679]
        assert bins.count[-2:].tolist() == [1, 1]
    assert line.curve.y[-3:].tolist() == [777.777, 12345.678, 12345.678]
    assert line.worst == 12345.678


def test_the_percentile_curve_passes_through_the_percentiles() -> None:
    line = drawing([run_of(thread_of(list(range(1, 10_001))))]).series[0]
    x, y = np.array(line.curve.x), np.array(line.curve.y)
    assert np.all(np.diff(x) >= 0)
    for percentile in (50, 90, 99, 99.9):
        at = y[np.searchsorted(x, 100 / (100 - percentile) * 1.000001) - 1]
        assert at == pytest.approx(percentile / 10, rel=0.03)
    assert x[-1] == 10_000
    assert y[-1] == 10.0


def test_time_keeps_the_worst_of_long_runs() -> None:
    rng = np.random.default_rng(2)
    values = latencies(rng, "independent", 20_000)
    values[12_345] = 9_999_999
    line = drawing([run_of(thread_of(values, windows=5000))]).series[0]
    assert len(line.time.t) <= 301
    assert float(np.nanmax(line.time.max)) == 9999.999
    means = line.time.mean
    assert means.mean() == pytest.approx(values.mean() / 1000, rel=0.01)


def test_a_cpu_has_its_colour_in_every_run() -> None:
    a = run_of(thread_of([1], 0), thread_of([1], 3))
    b = run_of(thread_of([1], 3), thread_of([1], None))
    drawn = drawing([a, b]).series
    colours = {(line.run, line.name): line.colour for line in drawn}
    assert colours[0, "CPU 3"] == colours[1, "CPU 3"] == 1
    assert [(line.run, line.name) for line in drawn if line.total] == [
        (0, "all CPUs"),
        (1, "all CPUs"),
    ]
    assert len({colours[0, "CPU 0"], colours[0, "CPU 3"], colours[1, "thread 0"]}) == 3


@pytest.mark.parametrize(
    "histogram",
    [
        Histogram(),
        Histogram(beyond_count=5, beyond_ns=3000),
        Histogram([0], [2**63 - 1], [5]),
        Histogram([2**63 - 1], [1], [2**63 - 1]),
        Histogram([0, 1000], [1000, 1000], [9, 1], 4, 5000),
    ],
)
def test_odd_histograms_are_drawn(histogram: Histogram) -> None:
    thread = thread_of([])
    line = drawing([run_of(thread, type(thread)(1, 1, "other", 0, histogram.total, histogram))])
    drawn = line.series[1]
    assert sum(drawn.log.count) + histogram.beyond_count == histogram.total
    assert drawn.beyond == (
        (histogram.beyond_ns / 1000, histogram.beyond_count) if histogram.beyond_count else None
    )
