# SPDX-License-Identifier: GPL-2.0-only
"""How far chance may have moved a metric.

**Quantiles** have distribution-free limits made of order statistics: with Y ~ Bin(n, p), the
samples of rank r and s enclose the quantile of p with the probability P(r <= Y < s) (Conover,
Practical Nonparametric Statistics, 3rd ed. 1999, section 3.2; Hahn and Meeker, Statistical
Intervals, 1991, section 5.2). The low limit is given as its bucket's lowest value, the high limit
as its highest.

**Means** have limits by batch means: consecutive windows are put together into few long batches,
whose means are nearly independent and normal, and Student's t is used on them (Law, Simulation
Modeling and Analysis, section 9.5.3; Alexopoulos and Seila, "Output Data Analysis", in Banks (ed.),
Handbook of Simulation, 1998). There are 20 batches (Schmeiser, "Batch Size Effects in the Analysis
of Simulation Output", Operations Research 30(3), 1982, advises 10 to 30), and fewer, longer ones
while their lag-1 correlation shows that they are not independent.

**Samples of latency are not independent:** one load's burst makes many late wake-ups. Order
statistics are therefore taken of an effective number of samples, n_eff = n / inflation, where the
inflation is the larger of
- the variance of the mean by batch means over that of independent samples, s^2 / n, widened by
  (t / z)^2 for having been estimated from few batches;
- the same of the samples without the largest of each window, for the body's quantiles (up to p99);
- for a tail, the mean size of clusters of late samples: 1 / theta with the blocks estimator
  theta = log(1 - K / W) / (m log(1 - N / n)) of the extremal index, for N of n samples beyond the
  quantile in K of W windows of m samples (Smith and Weissman, "Estimating the Extremal Index",
  J. Royal Statistical Society B 56(3), 1994).
Where there are no windows, as in imported runs, independence is assumed and said to be.
"""

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.histogram import Histogram
from rtscope.model.run import Thread, Windows
from rtscope.statistics.distributions import incomplete_beta, normal_quantile, student_quantile
from rtscope.statistics.metrics import as_arrays, fraction_of

LEVEL: Final = 0.95
_BATCHES: Final = (20, 10, 5)
_BINS_MOVED: Final = 1e-9


class Interval(msgspec.Struct, frozen=True):
    """Confidence limits in ns; None is a side that the data do not bound."""

    low_ns: float | None
    high_ns: float | None
    level: float = LEVEL


class Batches(msgspec.Struct, frozen=True):
    """Batch means of one series; `number` 0 where there were too few windows to make any."""

    number: int = 0
    standard_error_ns: float = 0.0
    """of the mean of all samples"""
    inflation: float = 1.0
    """of the variance of the mean over that of as many independent samples; at least 1"""


class Ranks:
    """A histogram's samples by rank, for many intervals from one pass over it."""

    def __init__(self, histogram: Histogram) -> None:
        self.lower, self.last, count = as_arrays(histogram)
        self.reached = np.cumsum(count)
        self.total = histogram.total
        self.beyond_ns = histogram.beyond_ns

    def stddev_below_ns(self, rank: int) -> float:
        """Standard deviation of the samples up to this rank, each at the middle of its bucket."""
        before = np.concatenate(([0], self.reached[:-1]))
        count = np.clip(rank - before, 0, self.reached - before).astype(np.float64)
        if count.sum() < 2:
            return 0.0
        middle = (self.lower + self.last) / 2
        mean = float((count * middle).sum() / count.sum())
        return math.sqrt(float((count * (middle - mean) ** 2).sum() / count.sum()))

    def bounds_ns(self, rank: int) -> tuple[int, int | None]:
        """Lowest and highest value that the sample of this rank (1 is the smallest) can have."""
        bucket = int(self.reached.searchsorted(rank))
        if bucket == len(self.last):
            return self.beyond_ns, None
        return int(self.lower[bucket]), int(self.last[bucket])


def pooled_windows(threads: list[Thread]) -> Windows:
    """Windows of all threads together; those that end at the same time become one."""
    series = [thread.windows for thread in threads]
    if len(series) == 1:
        return series[0]
    ends = np.array([end for windows in series for end in windows.end_ns], dtype=np.int64)
    end, place = np.unique(ends, return_inverse=True)
    count = np.array([n for windows in series for n in windows.count], dtype=np.float64)
    mean = np.array([m for windows in series for m in windows.mean_ns], dtype=np.float64)
    maximum = np.array([m for windows in series for m in windows.max_ns], dtype=np.int64)
    total = np.bincount(place, count, len(end))
    share = count / np.maximum(total, 1)[place]
    maxima = np.zeros(len(end), dtype=np.int64)
    np.maximum.at(maxima, place, maximum)
    return Windows(
        end.tolist(),
        [int(n) for n in total],
        np.bincount(place, share * mean, len(end)).tolist(),
        maxima.tolist(),
    )


def batch_means(windows: Windows, stddev_ns: float | None) -> Batches:
    """Standard error of the mean and variance inflation; `stddev_ns` is of single samples."""
    count = np.array(windows.count, dtype=np.float64)
    mean = np.array(windows.mean_ns, dtype=np.float64)
    return _batch_means(count[count > 0], mean[count > 0], stddev_ns)


def _batch_means(
    count: NDArray[np.float64], mean: NDArray[np.float64], stddev_ns: float | None
) -> Batches:
    if len(count) < _BATCHES[-1]:
        return Batches()
    for number in (n for n in _BATCHES if n <= len(count)):
        groups = np.array_split(np.arange(len(count)), number)
        starts = [int(group[0]) for group in groups]
        sizes = np.add.reduceat(count, starts)
        means = np.add.reduceat(count * mean, starts) / sizes
        if not _correlated(means):
            break
    overall = float((sizes * means).sum() / sizes.sum())
    variance = float((sizes * (means - overall) ** 2).sum() / (number - 1))
    inflation = 1.0
    if stddev_ns:
        student = student_quantile(number - 1, 0.5 + LEVEL / 2)
        normal = normal_quantile(0.5 + LEVEL / 2)
        inflation = max(1.0, variance / stddev_ns**2 * (student / normal) ** 2)
    return Batches(number, math.sqrt(variance / float(sizes.sum())), inflation)


def body_batches(windows: Windows, ranks: Ranks) -> Batches:
    """As batch_means, of each window without its largest sample, against samples without theirs.

    A few large outliers make s^2 so large that a drift of all the other samples, which is what
    moves a median, would not show beside it.
    """
    count = np.array(windows.count, dtype=np.float64)
    kept = count > 1
    number = int(kept.sum())
    if number < _BATCHES[-1]:
        return Batches()
    count = count[kept]
    mean = np.array(windows.mean_ns, dtype=np.float64)[kept]
    largest = np.array(windows.max_ns, dtype=np.float64)[kept]
    body = (count * mean - largest) / (count - 1)
    return _batch_means(count - 1, body, ranks.stddev_below_ns(ranks.total - number))


def _correlated(means: NDArray[np.float64]) -> bool:
    """Whether lag-1 correlation is beyond chance (von Neumann's ratio, one-sided 5 %)."""
    deviation = means - means.mean()
    squares = float((deviation**2).sum())
    if squares == 0:
        return False
    correlation = float((deviation[1:] * deviation[:-1]).sum()) / squares
    return correlation > 1.645 / math.sqrt(len(means))


def mean_interval(
    mean_ns: float, stddev_ns: float, count: int, batches: Batches, level: float = LEVEL
) -> Interval:
    """Limits of the mean; of independent samples where there are no batches."""
    if batches.number:
        error = max(batches.standard_error_ns, stddev_ns / math.sqrt(count))
        half = error * student_quantile(batches.number - 1, 0.5 + level / 2)
    else:
        half = stddev_ns / math.sqrt(count) * normal_quantile(0.5 + level / 2)
    return Interval(mean_ns - half, mean_ns + half, level)


def cluster_size(ranks: Ranks, windows: Windows, percent: float) -> float:
    """Mean number of samples beyond the quantile that come together; 1 where they come alone.

    Also 1 where every window has one: the windows are too long, and batch means decide.
    """
    rank = math.ceil(fraction_of(percent) * ranks.total)
    _, limit = ranks.bounds_ns(max(rank, 1))
    if limit is None or not windows.count:
        return 1.0
    bucket = int(np.searchsorted(ranks.reached, max(rank, 1)))
    beyond = ranks.total - int(ranks.reached[bucket])
    counts = np.array(windows.count, dtype=np.float64)
    maxima = np.array(windows.max_ns, dtype=np.int64)[counts > 0]
    hit = int((maxima > limit).sum())
    if not 0 < hit < len(maxima) or not beyond:
        return 1.0
    size = float(counts[counts > 0].mean())
    theta = math.log1p(-hit / len(maxima)) / (size * math.log1p(-beyond / ranks.total))
    return max(1.0, 1.0 / theta)


def quantile_interval(
    ranks: Ranks, percent: float, effective: float | None = None, level: float = LEVEL
) -> Interval:
    """Limits of a quantile; `effective` is n_eff where the samples are not independent."""
    total = ranks.total
    if not total:
        return Interval(None, None, level)
    n = max(1.0, min(float(total), effective or float(total)))
    beyond = _share_beyond(percent)
    stretch = total / n
    first = _most(n, beyond, (1 - level) / 2)
    low = None
    if first >= 0:
        low = ranks.bounds_ns(min(total, math.floor(first * stretch) + 1))[0]
    rank = math.ceil((n - _most(n, 1 - beyond, (1 - level) / 2)) * stretch - _BINS_MOVED)
    high = ranks.bounds_ns(rank)[1] if rank <= total else None
    return Interval(low, high, level)


@lru_cache(maxsize=64)
def _share_beyond(percent: float) -> float:
    return float(1 - fraction_of(percent))


@lru_cache(maxsize=1 << 14)
def _most(n: float, failure: float, chance: float) -> int:
    """Largest k with P(Y <= k) <= chance for Y ~ Bin(n, 1 - failure); -1 where there is none.

    P(Y <= k) is the regularised incomplete beta function I_failure(n - k, k + 1), which takes an
    n that is not whole.
    """
    low, high = -1, math.ceil(n)
    while high - low > 1:
        middle = (low + high) // 2
        if incomplete_beta(n - middle, middle + 1, failure) <= chance:
            low = middle
        else:
            high = middle
    return low


def holm(p_values: Sequence[float]) -> list[float]:
    """p-values after Holm's step-down correction for their number, in the order given.

    "A Simple Sequentially Rejective Multiple Test Procedure", Scandinavian Journal of Statistics 6,
    1979: the probability that any of them is a false finding stays at the level.
    """
    corrected = [1.0] * len(p_values)
    least = 0.0
    for position, index in enumerate(sorted(range(len(p_values)), key=lambda i: p_values[i])):
        least = max(least, min(1.0, p_values[index] * (len(p_values) - position)))
        corrected[index] = least
    return corrected


def difference_interval(a_ns: float, a: Interval, b_ns: float, b: Interval) -> Interval:
    """Limits of b - a from those of each, by squaring and adding the distances to each limit.

    Zou and Donner, "Construction of confidence limits about effect measures: a general approach",
    Statistics in Medicine 27(10), 2008 (after Newcombe's method for proportions).
    """
    low = high = None
    if b.low_ns is not None and a.high_ns is not None:
        low = b_ns - a_ns - math.hypot(b_ns - b.low_ns, a.high_ns - a_ns)
    if b.high_ns is not None and a.low_ns is not None:
        high = b_ns - a_ns + math.hypot(b.high_ns - b_ns, a_ns - a.low_ns)
    return Interval(low, high, a.level)
