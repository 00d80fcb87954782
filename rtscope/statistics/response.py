# SPDX-License-Identifier: GPL-2.0-only
"""Response times: the samples of a periodic thread, with the missed periods filled in.

A thread that wakes v ns after its deadline could not answer at the deadlines that passed meanwhile.
An answer due k periods of I ns later would have been v - k I late, for each k >= 1 with k I < v. A
stall of 50 ms at 1 ms is so one sample and 49 more late answers. Percentiles of the samples alone
leave these out: G. Tene's "coordinated omission". HdrHistogram's
recordValueWithExpectedInterval() fills in the same values; here they are those of real deadlines,
so that values below I count too.

The phase sweep of cyclic moves each deadline by a small part of a period, which changes the number
of filled periods by at most one for each stall. Values are upper limits of the stalls' buckets.
"""

import math
from collections.abc import Mapping, Sequence

import msgspec
import numpy as np

from rtscope.model.histogram import Histogram
from rtscope.model.quantity import PERIODIC
from rtscope.model.reason import Reason
from rtscope.model.run import Run, Thread
from rtscope.statistics.metrics import (
    Integers,
    Quantile,
    as_arrays,
    merge,
    quantiles_or_reason,
)

_EXACT_NS = 2048
_PARTS = 1024
_UNEXPLAINED = 0.01
"""share of the missed periods that need not be explained by late samples"""


class Responses(msgspec.Struct, frozen=True):
    """The response times of one thread."""

    histogram: Histogram
    """the samples and the filled periods"""
    filled: int
    """missed periods that were filled in"""


class ResponseMetrics(msgspec.Struct, frozen=True):
    """The percentiles of response times."""

    threads: list[int]
    """numbers of the threads: one, or all of a series"""
    name: str
    """of the series; "" if the probe has one"""
    count: int
    """samples and filled periods; 0 where the response times are unknown"""
    filled: int
    quantiles: list[Quantile]
    """one for each of PERCENTS; empty where they are unknown"""
    reason: Reason | None = None
    """why they are unknown"""


def response_metrics(run: Run) -> list[ResponseMetrics]:
    """The response times of each thread and of each series; empty for a probe that has none."""
    if run.probe not in PERIODIC or not run.threads:
        return []
    parts = [[thread] for thread in run.threads]
    for name in dict.fromkeys(thread.name for thread in run.threads):
        series = [thread for thread in run.threads if thread.name == name]
        parts += [series] * (len(series) > 1)
    return [_metrics(run, part) for part in parts]


def _metrics(run: Run, threads: Sequence[Thread]) -> ResponseMetrics:
    told, numbers = responses_of_run(run, threads), [thread.thread for thread in threads]
    if isinstance(told, Reason):
        return ResponseMetrics(numbers, threads[0].name, 0, 0, [], told)
    maxima = [thread.max_ns for thread in threads if thread.max_ns is not None]
    histogram = told.histogram
    found = quantiles_or_reason(histogram, histogram.total, max(maxima, default=None))
    return ResponseMetrics(numbers, threads[0].name, histogram.total, told.filled, found)


def responses(run: Run, thread: Thread) -> Responses | Reason:
    """The response times of a thread, or why they are not known."""
    if not thread.missed:
        return Responses(thread.histogram, 0)
    interval_ns = _interval_ns(run, thread)
    if interval_ns is None:
        return Reason("no-deadlines", of=run.probe)
    return responses_at(thread, interval_ns)


def responses_at(thread: Thread, interval_ns: int) -> Responses | Reason:
    """The response times of a thread with this period, or why they are not known."""
    if thread.histogram.total != thread.count or thread.histogram.beyond_count:
        return Reason("histogram-incomplete", thread.histogram.total, thread.count)
    missed, filled = thread.missed or 0, _filled(thread, interval_ns)
    if abs(filled.total - missed) > _rounding(thread, interval_ns) + _UNEXPLAINED * missed:
        return Reason("missed-unexplained", filled.total, missed)
    return Responses(merge([thread.histogram, filled]), filled.total)


def responses_of_run(run: Run, threads: Sequence[Thread]) -> Responses | Reason:
    """The response times of several threads together."""
    estimates = [responses(run, thread) for thread in threads]
    known = [one for one in estimates if isinstance(one, Responses)]
    for one in estimates:
        if isinstance(one, Reason):
            return one
    return Responses(merge([one.histogram for one in known]), sum(one.filled for one in known))


def _interval_ns(run: Run, thread: Thread) -> int | None:
    """The thread's period; None where its samples are not counted from periodic deadlines."""
    if run.probe not in PERIODIC or run.source != "rtscope" or not run.asked.interval_ns:
        return None
    return period_ns(run.asked.interval_ns, thread.thread, run.asked.options)


def period_ns(
    interval_ns: int, thread: int, options: Mapping[str, str | int | float | bool]
) -> int:
    """The period of a thread, which cyclic makes longer by its option distance."""
    return interval_ns + thread * int(options.get("distance_ns", 0))


def _late(thread: Thread, interval_ns: int) -> tuple[Integers, Integers]:
    """The values of the buckets in which a further deadline passed, and their counts."""
    _, last, count = as_arrays(thread.histogram)
    if thread.max_ns is not None:
        last = np.minimum(last, thread.max_ns)
    late = last > interval_ns
    return last[late], count[late]


def _rounding(thread: Thread, interval_ns: int) -> int:
    """By how many periods the filled ones may be wrong: a period for each stall, and those within
    its bucket, which is wide in a run whose agent died, and while measuring.
    """
    if not thread.histogram.total:
        return 0
    lower, last, count = as_arrays(thread.histogram)
    late = last > interval_ns
    return int((((last - lower) // interval_ns + 1) * count)[late].sum())


def _filled(thread: Thread, interval_ns: int) -> Histogram:
    """The responses of the missed periods, in the agent's buckets."""
    values, counts = _late(thread, interval_ns)
    if not len(values):
        return Histogram()
    edges = _edges(int(values[-1]))
    inside = np.zeros(len(edges) - 1, dtype=np.int64)
    for value, count in zip(values.tolist(), counts.tolist(), strict=True):
        periods = (value - 1) // interval_ns
        beyond = np.clip((value - edges) // interval_ns, 0, periods)  # responses of edge and more
        inside += count * -np.diff(beyond)
    kept = np.flatnonzero(inside)
    widths = np.diff(edges)
    return Histogram(edges[kept].tolist(), widths[kept].tolist(), inside[kept].tolist())


def _edges(most_ns: int) -> Integers:
    """The limits of the agent's buckets up to a value: 1 ns wide, then 1/1024 of a power of 2."""
    parts = [np.arange(1, _EXACT_NS)]
    for power in range(int(math.log2(_EXACT_NS)), most_ns.bit_length() + 1):
        parts.append((1 << power) + np.arange(_PARTS) * ((1 << power) // _PARTS))
    return np.concatenate(parts).astype(np.int64)
