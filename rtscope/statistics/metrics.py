# SPDX-License-Identifier: GPL-2.0-only
"""Count, mean, quantiles and worst case of a thread and of a whole run.

**Which value a quantile reports.** The quantile of p is the sample of rank ceil(p n), the inverse
of the empirical distribution function (Hyndman and Fan, "Sample Quantiles in Statistical Packages",
The American Statistician 50, 1996, definition 1). A histogram gives the bucket of that sample; the
bucket's largest value, lower_ns + width_ns - 1, is reported, because an instrument may overstate a
latency by its resolution but must not understate it. Buckets of 1 ns, which the agent has below
2048 ns, make that exact. A bucket that is known to hold the worst sample ends at that sample.

**When a quantile is reported.** At least ten samples must lie beyond it, n (1 - p) >= 10: ten
events bound the probability of exceeding it to about a factor of two with 95 % confidence
(Jeruchim, "Techniques for Estimating the Bit Error Rate in the Simulation of Digital Communication
Systems", IEEE J. Selected Areas in Communications 2(1), 1984). With fewer it is None and the reason
is given.

Mean and standard deviation are the record's own, made by the agent from every sample.
"""

import math
from collections.abc import Sequence
from fractions import Fraction
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.reason import Reason
from rtscope.model.run import Run, Thread
from rtscope.model.units import LONGEST_NS

PERCENTS: Final = (50.0, 99.0, 99.9, 99.99, 99.999)
SAMPLES_BEYOND: Final = 10

Integers = NDArray[np.int64]


class Quantile(msgspec.Struct, frozen=True):
    """One quantile in ns, or why there is none."""

    percent: float
    value_ns: int | None
    at_least: bool = False
    """the sample lies beyond the histogram's end, so the quantile is `value_ns` or more"""
    reason: Reason | None = None
    """why `value_ns` is None"""


class Metrics(msgspec.Struct, frozen=True):
    """The metrics of a thread or of a run in tables; times in ns, None without samples."""

    count: int
    missed: int | None
    min_ns: int | None
    mean_ns: float | None
    stddev_ns: float | None
    max_ns: int | None
    quantiles: list[Quantile]
    """one for each of PERCENTS, in that order"""

    def quantile(self, percent: float) -> Quantile:
        """The quantile of one of PERCENTS."""
        return self.quantiles[PERCENTS.index(percent)]


@lru_cache(maxsize=64)
def fraction_of(percent: float) -> Fraction:
    """99.9 as exactly 999/1000, so that ranks do not suffer from binary fractions.

    Raises ValueError outside 0 <= percent < 100.
    """
    if not 0 <= percent < 100:
        raise ValueError(f"a quantile is at least 0 % and below 100 %, not {percent} %")
    return Fraction(repr(float(percent))) / 100


def percent_name(percent: float) -> str:
    """p99.9 for 99.9."""
    return f"p{percent!r}".removesuffix(".0")


def samples_needed(percent: float) -> int:
    """How many samples a quantile needs to be reported: 10 / (1 - p)."""
    return math.ceil(SAMPLES_BEYOND / (1 - fraction_of(percent)))


class _Same:
    """A histogram as a key, hashed by identity because hashing its lists is slow."""

    def __init__(self, histogram: Histogram) -> None:
        self.histogram = histogram

    def __hash__(self) -> int:
        return id(self.histogram)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self.histogram is other.histogram


def as_arrays(histogram: Histogram) -> tuple[Integers, Integers, Integers]:
    """Three int64 arrays of shape (buckets,): lowest and highest value in ns, and count.

    They are cached, because a report needs the same ones many times, and therefore read-only.
    """
    return _arrays(_Same(histogram))


@lru_cache(maxsize=512)
def _arrays(same: _Same) -> tuple[Integers, Integers, Integers]:
    histogram = same.histogram
    lower = np.array(histogram.lower_ns, dtype=np.int64)
    last = lower + (np.array(histogram.width_ns, dtype=np.int64) - 1)
    count = np.array(histogram.count, dtype=np.int64)
    for array in (lower, last, count):
        array.flags.writeable = False
    return lower, last, count


def quantile_ns(histogram: Histogram, percent: float, max_ns: int | None = None) -> Quantile:
    """The quantile of a histogram; `max_ns` is the worst sample if it is known."""
    return _quantiles(histogram, [percent], max_ns)[0]


def merge(histograms: Sequence[Histogram], *, keep: bool = True) -> Histogram:
    """One histogram of all samples.

    Buckets that overlap become one. If a histogram has samples beyond its end, the others' buckets
    from there on are beyond the end of the sum too, because their rank is unknown. With `keep` the
    sum and its parts are cached as arrays are. Raises RtscopeError if the counts add up to more
    than 2^63.
    """
    if sum(histogram.total for histogram in histograms) > LONGEST_NS:
        raise RtscopeError(
            "this run's histograms count more than 2^63 samples: it is not a real run"
        )
    filled = [histogram for histogram in histograms if histogram.total]
    if len(filled) < 2:
        return filled[0] if filled else Histogram()
    return _kept(tuple(map(_Same, filled))) if keep else _merged(filled)


@lru_cache(maxsize=16)
def _kept(same: tuple[_Same, ...]) -> Histogram:
    return _merged([one.histogram for one in same])


def _merged(filled: Sequence[Histogram]) -> Histogram:
    columns = [as_arrays(histogram) for histogram in filled]
    lower, last, count = (np.concatenate(column) for column in zip(*columns, strict=True))
    order = np.argsort(lower, kind="stable")
    lower, last, count = lower[order], np.maximum.accumulate(last[order]), count[order]
    if len(lower):
        starts = np.flatnonzero(np.r_[True, lower[1:] > last[:-1]])
        ends = np.r_[starts[1:], len(lower)] - 1
        lower, last, count = lower[starts], last[ends], np.add.reduceat(count, starts)
    beyond_count = sum(histogram.beyond_count for histogram in filled)
    beyond_ns = 0
    if beyond_count:
        beyond_ns = min(histogram.beyond_ns for histogram in filled if histogram.beyond_count)
        kept = int(np.searchsorted(last, beyond_ns))
        if kept < len(lower):
            beyond_ns = min(beyond_ns, int(lower[kept]))
            beyond_count += int(count[kept:].sum())
        lower, last, count = lower[:kept], last[:kept], count[:kept]
    return Histogram(
        lower.tolist(), (last - lower + 1).tolist(), count.tolist(), beyond_count, beyond_ns
    )


def missed_share(thread: Thread) -> float:
    """Share of a thread's periods that passed without a sample, because the thread was late.

    Plain percentiles leave these periods out: a stall of 50 ms at 1 ms is one sample, and 49
    periods without one.
    """
    missed = thread.missed or 0
    return missed / (thread.count + missed) if missed else 0.0


class Stalls(msgspec.Struct, frozen=True):
    """Missed periods, which plain percentiles leave out."""

    missed: int
    share: float
    """the largest of any thread's periods"""


def stalls_of(threads: Sequence[Thread]) -> Stalls | None:
    """The missed periods of these threads, if there are any."""
    missed = sum(thread.missed or 0 for thread in threads)
    return Stalls(missed, max(missed_share(thread) for thread in threads)) if missed else None


def metrics(thread: Thread) -> Metrics:
    """The metrics of one thread."""
    return Metrics(
        thread.count,
        thread.missed,
        thread.min_ns,
        thread.mean_ns,
        thread.stddev_ns,
        thread.max_ns,
        quantiles_or_reason(thread.histogram, thread.count, thread.max_ns),
    )


def metrics_of_run(run: Run) -> Metrics:
    """The metrics of all threads together.

    Mean and variance are pooled with their counts:
    s^2 = sum n_i (s_i^2 + (m_i - m)^2) / sum n_i.
    Raises RtscopeError as `merge` does.
    """
    threads = [thread for thread in run.threads if thread.count]
    count = sum(thread.count for thread in threads)
    missed = [thread.missed for thread in run.threads]
    max_ns = _all_or_none([thread.max_ns for thread in threads])
    return Metrics(
        count,
        sum(known) if len(known := [m for m in missed if m is not None]) == len(missed) else None,
        min(minima) if (minima := _all_or_none([thread.min_ns for thread in threads])) else None,
        *_pooled(threads, count),
        max(max_ns) if max_ns else None,
        quantiles_or_reason(
            merge([thread.histogram for thread in threads]), count, max(max_ns) if max_ns else None
        ),
    )


def _all_or_none(values: list[int | None]) -> list[int] | None:
    known = [value for value in values if value is not None]
    return known if known and len(known) == len(values) else None


def _pooled(threads: list[Thread], count: int) -> tuple[float | None, float | None]:
    known = [(t.count / count, t.mean_ns) for t in threads if t.mean_ns is not None]
    if not known or len(known) < len(threads):
        return None, None
    mean = sum(share * mean_ns for share, mean_ns in known)
    deviations = [thread.stddev_ns for thread in threads]
    variance = 0.0
    for (share, mean_ns), deviation in zip(known, deviations, strict=True):
        if deviation is None:
            return mean, None
        variance += share * (deviation * deviation + (mean_ns - mean) * (mean_ns - mean))
    return mean, math.sqrt(variance)


def quantiles_or_reason(histogram: Histogram, count: int, max_ns: int | None) -> list[Quantile]:
    """One quantile for each of PERCENTS; without values where `count` samples are not all in it."""
    reason = None
    if not count:
        reason = Reason("no-samples")
    elif not histogram.count:
        reason = Reason("no-histogram")
    elif histogram.total < count:
        reason = Reason("histogram-incomplete", histogram.total, count)
    if reason:
        return [Quantile(percent, None, reason=reason) for percent in PERCENTS]
    return _quantiles(histogram, PERCENTS, max_ns)


def _quantiles(
    histogram: Histogram, percents: Sequence[float], max_ns: int | None
) -> list[Quantile]:
    total = histogram.total
    _, last, count = as_arrays(histogram)
    reached = np.cumsum(count)
    result = []
    for percent in percents:
        needed = samples_needed(percent)
        if total < needed:
            too_few = Reason("too-few-samples", total, needed)
            reason = too_few if total else Reason("no-samples")
            result.append(Quantile(percent, None, reason=reason))
            continue
        rank = max(1, math.ceil(fraction_of(percent) * total))
        bucket = int(np.searchsorted(reached, rank))
        if bucket == len(last):
            result.append(Quantile(percent, histogram.beyond_ns, at_least=True))
            continue
        value = int(last[bucket])
        if max_ns is not None and histogram.lower_ns[bucket] <= max_ns < value:
            value = max_ns
        result.append(Quantile(percent, value))
    return result
