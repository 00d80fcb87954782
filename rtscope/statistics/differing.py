# SPDX-License-Identifier: GPL-2.0-only
"""CPUs of a run that differ from the others.

Each CPU is compared with the median CPU, whose deepest known quantile is the median of all CPUs'
(the lower of two). A few bad CPUs do not move it, unlike the merged samples of all others. The test
is that of two runs (comparison.py), with p-values multiplied by the number of compared CPUs
(Bonferroni). Differences below 10 % are ignored, because CPUs of one kind differ by as much. If the
limits of the medians' difference allow 10 %, there are too few data.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from rtscope.model.finding import CpuDiffers, CpusAlike, CpusUndecided, Finding
from rtscope.model.histogram import Histogram
from rtscope.model.run import Run, Thread
from rtscope.statistics.comparison import Row, compare_sides, side_of
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.metrics import PERCENTS, percent_name, quantile_ns

SMALLEST_DIFFERENCE: Final = 0.1


class Different(msgspec.Struct, frozen=True):
    """A CPU that differs, and the deepest metric in which it does; a is the median CPU."""

    thread: Thread
    row: Row


class Spread(msgspec.Struct, frozen=True):
    """The differences between the CPUs of a run."""

    middle: Thread
    different: list[Different]
    undecided: list[Thread]
    """CPUs with too few data to decide whether their median differs by as much"""
    tested: int
    """CPUs that were compared with the median CPU"""


def differing(run: Run) -> list[Finding]:
    """The CPUs that differ, and those that are undecided; empty for a single CPU."""
    spread = spread_of(run)
    if spread is None:
        return []
    middle = spread.middle.cpu
    found: list[Finding] = [
        CpuDiffers(
            cpu=one.thread.cpu,
            metric="median" if one.row.metric == percent_name(50.0) else one.row.metric,
            ns=one.row.b.value_ns or 0,
            median_cpu=middle,
            median_cpu_ns=one.row.a.value_ns or 0,
            limits_ns=(one.row.difference.interval.low_ns, one.row.difference.interval.high_ns),
            cpus=spread.tested + 1,
        )
        for one in spread.different
    ]
    least = SMALLEST_DIFFERENCE
    if cpus := [one.cpu for one in spread.undecided if one.cpu is not None]:
        found.append(CpusUndecided(cpus=cpus, median_cpu=middle, least=least, severity="undecided"))
    if alike := spread.tested - len(spread.different) - len(spread.undecided):
        found.append(CpusAlike(count=alike, of=spread.tested, least=least))
    return found


def spread_of(run: Run) -> Spread | None:
    """The threads that differ from the median thread, in order.

    None where fewer than two threads, all pinned and without names, have samples to compare.
    """
    threads = [thread for thread in run.threads if thread.count]
    if len(threads) < 2 or any(t.cpu is None or t.name for t in threads):
        return None
    middle = _middle(threads)
    if middle is None:
        return None
    others = [thread for thread in threads if thread is not middle]
    found, undecided = [], []
    one = _only(run, middle)
    side = side_of(one)
    for thread in others:
        width = max(_width_ns(held.histogram) for held in (middle, thread))
        other = _only(run, thread)
        rows = compare_sides(one, side, other, side_of(other)).rows
        sure = [row for row in rows if _differs(row, len(others))]
        if sure:
            found.append(Different(thread, sure[-1]))
        elif any(row.metric == percent_name(50.0) and _may_differ(row, width) for row in rows):
            undecided.append(thread)
    return Spread(middle, found, undecided, len(others))


def _middle(threads: Sequence[Thread]) -> Thread | None:
    for percent in reversed(PERCENTS):
        quantiles = [quantile_ns(thread.histogram, percent) for thread in threads]
        known = [q.value_ns for q in quantiles if q.value_ns is not None and not q.at_least]
        if len(known) == len(threads):
            order = sorted(range(len(threads)), key=lambda index: known[index])
            return threads[order[(len(order) - 1) // 2]]
    return None


def _differs(row: Row, tests: int) -> bool:
    if row.effect not in ("better", "worse") or row.p_value is None:
        return False
    a, difference = row.a.value_ns or 0.0, row.difference.value_ns or 0.0
    return row.p_value * tests <= 1 - LEVEL and abs(difference) >= SMALLEST_DIFFERENCE * a


def _may_differ(row: Row, width_ns: int) -> bool:
    """Whether more samples may show a difference; they do not make buckets narrower."""
    low, high = row.difference.interval.low_ns, row.difference.interval.high_ns
    if row.effect == "untested" or low is None or high is None:
        return True
    return max(-low, high) - width_ns > SMALLEST_DIFFERENCE * (row.a.value_ns or 0.0)


def _width_ns(histogram: Histogram) -> int:
    """Width of the bucket that holds the median; the median is not beyond the histogram's end."""
    return histogram.width_ns[int(np.searchsorted(np.cumsum(histogram.count), histogram.total / 2))]


def _only(run: Run, thread: Thread) -> Run:
    return msgspec.structs.replace(run, threads=[thread])
