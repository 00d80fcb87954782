# SPDX-License-Identifier: GPL-2.0-only
"""Few enough points to draw, with every sample in them and the tail exact.

Buckets are gathered into some hundreds of bins for drawing. A bin keeps the true edges of what is
in it, so a lone bucket in the tail is drawn exactly where it is. The bins are the same for every
thread of the page, so that counts can be compared; there are two sets of them, of equal width for a
linear axis and of equal ratio for a logarithmic one. Counts are of samples per bin.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.model.histogram import Histogram
from rtscope.model.run import Run, Thread
from rtscope.report.page.scale import round_up
from rtscope.statistics.metrics import as_arrays, merge
from rtscope.wording.groups import Group, groups_of
from rtscope.wording.values import thread_name

_BINS: Final = 320
_BINS_OF_MANY: Final = 160
_MANY: Final = 16
_TAIL_DRAWN_EXACTLY: Final = 50
_WINDOWS: Final = 300
_WINDOWS_OF_MANY: Final = 150

Integers = NDArray[np.int64]
Floats = NDArray[np.float64]


class Bins(msgspec.Struct, frozen=True):
    """Arrays of equal length: edges in us and samples between them."""

    low: Floats
    high: Floats
    count: Integers


class Curve(msgspec.Struct, frozen=True):
    """Latency in us against 1 / (share of samples beyond it): 10 is the 90th percentile."""

    x: Floats
    y: Floats


class OverTime(msgspec.Struct, frozen=True):
    """Arrays of equal length: end of the window in s, mean and max in us; NaN without samples."""

    t: Floats
    mean: Floats
    max: Floats


class Series(msgspec.Struct, frozen=True):
    """One line of each figure."""

    run: int
    """index"""
    name: str
    colour: int
    """index, the same for the same thread name and CPU in every run"""
    linear: Bins
    log: Bins
    curve: Curve
    time: OverTime
    spikes: list[tuple[float, float]] = []
    """worst samples: s since the start, us"""
    total: bool = False
    """all threads together, or those of one name"""
    lone: bool = False
    """the only thread of its name: its line stands for the total too"""
    worst: float | None = None
    """max in us"""
    beyond: tuple[float, int] | None = None
    """us at which the histogram ends, and how many samples lie there or later"""


class Drawing(msgspec.Struct, frozen=True):
    """All lines: for each run its threads in order, then those that are put together."""

    width_us: float
    """of a bin on the linear axis"""
    ratio: float
    """of a bin's end to its start on the logarithmic axis"""
    series: list[Series]


def drawing(
    runs: Sequence[Run], is_drawn: Callable[[Thread, bool], bool] = lambda _thread, _lone: True
) -> Drawing:
    """Everything that the charts of all probes are drawn from.

    `is_drawn` is asked for each thread, and whether it is the only one of its group. Raises
    RtscopeError where a run's counts are impossible (metrics.merge).
    """
    groups = [groups_of(run) for run in runs]
    colours = thread_colours(runs)
    labels = list(dict.fromkeys(group.label for held in groups for group in held))
    merged = [
        [merge([thread.histogram for thread in group.threads]) for group in held] for held in groups
    ]
    arrays = [as_arrays(histogram) for held in merged for histogram in held]
    lowest = min((int(lower[0]) for lower, _, _ in arrays if len(lower)), default=1)
    highest = max((int(last[-1]) for _, last, _ in arrays if len(last)), default=1)
    head = max((_head_ns(last, count) for _, last, count in arrays), default=1)
    many = sum(len(run.threads) for run in runs) > _MANY
    bins = _BINS_OF_MANY if many else _BINS
    width = max(1, round(round_up(max(1.0, (head - lowest) / bins))))
    ratio = max(1.01, (highest / max(1, lowest)) ** (1 / bins))
    windows = _WINDOWS_OF_MANY if many else _WINDOWS
    result: list[Series] = []
    for index, run in enumerate(runs):
        span_ns = max((t.windows.end_ns[-1] for t in run.threads if t.windows.end_ns), default=0)
        for thread in run.threads:
            lone = any(group.lone and thread is group.threads[0] for group in groups[index])
            if not is_drawn(thread, lone):
                continue
            line = _line(index, thread_name(thread), thread.histogram, width, ratio)
            result.append(
                msgspec.structs.replace(
                    line,
                    colour=colours[thread_key(thread)],
                    time=_over_time([thread], span_ns, windows),
                    spikes=[(s.time_ns / 1e9, s.latency_ns / 1000) for s in thread.worst],
                    worst=_us(thread.max_ns) if thread.count else None,
                    lone=lone,
                )
            )
        for group, histogram in zip(groups[index], merged[index], strict=True):
            if group.lone:
                continue
            known = [thread.max_ns for thread in group.threads if thread.max_ns is not None]
            line = _line(index, _total_name(group), histogram, width, ratio)
            result.append(
                msgspec.structs.replace(
                    line,
                    colour=labels.index(group.label),
                    total=True,
                    time=_over_time(group.threads, span_ns, windows),
                    worst=_us(max(known, default=None)),
                )
            )
    return Drawing(width / 1000, round(ratio, 4), result)


def _us(ns: int | None) -> float | None:
    return None if ns is None else ns / 1000


def thread_key(thread: Thread) -> tuple[bool, int, str]:
    """What has one colour in every run: a CPU, or a thread that is not pinned, and a name."""
    number = thread.cpu if thread.cpu is not None else thread.thread
    return thread.cpu is None, number, thread.name


def thread_colours(runs: Sequence[Run]) -> dict[tuple[bool, int, str], int]:
    """Index of each key's colour, by CPU, and the names of one CPU in the order of its threads."""
    keys = dict.fromkeys(thread_key(thread) for run in runs for thread in run.threads)
    return {key: index for index, key in enumerate(sorted(keys, key=lambda key: key[:2]))}


def _total_name(group: Group) -> str:
    return "all CPUs" if group.label == "all" else group.label


def _line(index: int, name: str, histogram: Histogram, width: int, ratio: float) -> Series:
    lower, last, count = as_arrays(histogram)
    of_ratio = np.floor(np.log(np.maximum(lower, 1)) / np.log(ratio)).astype(int)
    beyond = histogram.beyond_count
    return Series(
        run=index,
        name=name,
        colour=0,
        linear=_bins(lower, last, count, lower // width),
        log=_bins(lower, last, count, of_ratio),
        curve=_curve(last, count, histogram.total),
        time=OverTime(np.empty(0), np.empty(0), np.empty(0)),
        beyond=(histogram.beyond_ns / 1000, beyond) if beyond else None,
    )


def _head_ns(last: Integers, count: Integers) -> int:
    """Where all but one sample in a thousand are: the part that equal widths must resolve."""
    if not len(last):
        return 1
    return int(last[np.searchsorted(np.cumsum(count), 0.999 * count.sum())])


def _bins(lower: Integers, last: Integers, count: Integers, bin_of: Integers) -> Bins:
    if not len(lower):
        return Bins(np.empty(0), np.empty(0), np.empty(0, np.int64))
    starts = np.flatnonzero(np.r_[True, np.diff(bin_of) > 0])
    ends = np.r_[starts[1:], len(lower)] - 1
    low, high = lower[starts] / 1000, (last[ends] + 1.0) / 1000
    neighbours = np.diff(bin_of[starts]) == 1
    high[:-1][neighbours] = low[1:][neighbours]
    return Bins(low, high, np.add.reduceat(count, starts))


def _curve(last: Integers, count: Integers, total: int) -> Curve:
    if not len(last):
        return Curve(np.empty(0), np.empty(0))
    beyond = total - np.cumsum(count)
    inverse = total / (beyond + count)
    key = np.floor(np.log10(inverse) * 60).astype(int)
    kept = (np.diff(key, prepend=-1) > 0) | (beyond <= _TAIL_DRAWN_EXACTLY)
    kept[-1] = True
    end = total / max(1, int(beyond[-1]))
    return Curve(np.r_[inverse[kept], end], np.r_[last[kept], last[-1]] / 1000)


def _over_time(threads: Sequence[Thread], span_ns: int, most: int) -> OverTime:
    windows = [thread.windows for thread in threads if thread.windows.end_ns]
    if not windows or span_ns <= 0:
        return OverTime(np.empty(0), np.empty(0), np.empty(0))
    end = np.concatenate([np.array(w.end_ns, dtype=np.int64) for w in windows])
    count = np.concatenate([np.array(w.count, dtype=np.float64) for w in windows])
    mean = np.concatenate([np.array(w.mean_ns, dtype=np.float64) for w in windows])
    maximum = np.concatenate([np.array(w.max_ns, dtype=np.float64) for w in windows])
    order = np.argsort(end, kind="stable")
    end, count, mean, maximum = end[order], count[order], mean[order], maximum[order]
    bin_of = (
        end
        if len(np.unique(end)) <= most
        else np.floor((end - 1) / span_ns * most).astype(np.int64)
    )
    starts = np.flatnonzero(np.r_[True, np.diff(bin_of) > 0])
    ends = np.r_[starts[1:], len(end)] - 1
    samples = np.add.reduceat(count, starts)
    share = count / np.maximum(np.repeat(samples, ends - starts + 1), 1)
    empty = samples == 0
    means = np.add.reduceat(share * mean, starts) / 1000
    maxima = np.maximum.reduceat(maximum, starts) / 1000
    return OverTime(
        end[ends] / 1e9, np.where(empty, np.nan, means), np.where(empty, np.nan, maxima)
    )
