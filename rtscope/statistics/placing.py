"""What the times of a sweep say of where threads should run and what disturbs them.

Times are compared round by round: the logarithms of the ratios have Student's limits (and their
exponentials are the ratio's). What drifts from round to round does so on both sides. A ratio is
called a difference where its 95 % limits leave out 1 and it is 5 % or more.
"""

import math
from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np
from scipy import special

from rtscope.model.scaling import Cell, Order, Sweep
from rtscope.statistics.confidence import LEVEL, holm
from rtscope.statistics.figures import quantile_ns
from rtscope.statistics.scaling import Fit, fit

SMALLEST_GAIN: Final = 1.05
"""a time that is nearer than this to another is as good"""
HARDLY_A_GAIN: Final = 1.1
"""what several threads have to be below for them to be said to take turns"""


class Ratio(msgspec.Struct, frozen=True):
    """Of two times, with 95 % limits; None where one round cannot tell them."""

    value: float
    low: float | None = None
    high: float | None = None

    @property
    def is_more(self) -> bool:
        """Whether it is above 1, by more than chance and by 5 %."""
        return self.low is not None and self.low > 1 and self.value >= SMALLEST_GAIN

    @property
    def is_one(self) -> bool:
        """Whether it is surely below 1.1, so that hardly anything is gained."""
        return self.high is not None and self.high < HARDLY_A_GAIN


class Curve(msgspec.Struct, frozen=True):
    """One workload with more and more threads, placed in one order."""

    workload: str
    order: Order
    cells: list[Cell]
    speedups: list[Ratio]
    """against one thread, for each cell"""
    amdahl: Fit | None
    usl: Fit | None


class Slowdown(msgspec.Struct, frozen=True):
    """What a load does to a workload."""

    cell: Cell
    ratio: Ratio
    """of the median times, to those without a load"""
    tail: Ratio
    """of the longest times, or of the 99th percentiles where there are samples enough; no limits"""
    p_value: float
    """that the medians do not differ, after Holm's correction"""


def ratio(a: Cell, b: Cell) -> Ratio:
    """Times of `a` over those of `b`."""
    return ratio_of(logarithms(a, b))


def logarithms(a: Cell, b: Cell) -> list[float]:
    """Of the times of `a` over those of `b`, round by round."""
    return [math.log(x / y) for x, y in zip(a.medians_ns, b.medians_ns, strict=True)]


def ratio_of(logarithms: Sequence[float]) -> Ratio:
    """The ratio that these logarithms, one a round, are of."""
    mean = float(np.mean(logarithms))
    if len(logarithms) < 2:
        return Ratio(math.exp(mean))
    error = float(np.std(logarithms, ddof=1)) / math.sqrt(len(logarithms))
    half = error * float(special.stdtrit(len(logarithms) - 1, 0.5 + LEVEL / 2))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def time_ns(cell: Cell) -> float:
    """Geometric mean of the rounds' medians."""
    return math.exp(float(np.mean(np.log(cell.medians_ns))))


def longest_ns(cell: Cell) -> int:
    """The longest time of all rounds."""
    return cell.histogram.lower_ns[-1] + cell.histogram.width_ns[-1] - 1


def jitter(cell: Cell) -> float | None:
    """How much the 99th percentile is above the median, as a share of it; None: too few samples."""
    median, high = (quantile_ns(cell.histogram, percent).value_ns for percent in (50.0, 99.0))
    return None if not median or high is None else high / median - 1


def curves(sweep: Sweep) -> list[Curve]:
    """Each workload in each order; fitted where no two threads share a CPU."""
    found = []
    for workload in sweep.workloads:
        for order in sweep.orders:
            cells = [
                cell for one in order.placements if (cell := sweep.cell(workload, one)) is not None
            ]
            if not cells or cells[0].placement.threads != 1:
                continue
            measured = _threads_and_times(_without_turns(cells))
            found.append(
                Curve(
                    workload,
                    order,
                    cells,
                    [ratio(cells[0], cell) for cell in cells],
                    fit("Amdahl", *measured),
                    fit("USL", *measured),
                )
            )
    return found


class Kink(msgspec.Struct, frozen=True):
    """Where Amdahl's law ends."""

    up_to: int
    """threads that it describes"""
    beyond: int
    """the next number of threads"""
    miss: float
    """what these take longer than the law says, as a share of that"""


def kink(curve: Curve) -> Kink | None:
    """Where the law that describes the first numbers of threads ends, if it does."""
    if curve.amdahl is None or curve.amdahl.holds:
        return None
    cells = _without_turns(curve.cells)
    for count in range(len(cells) - 1, 2, -1):
        law = fit("Amdahl", *_threads_and_times(cells[:count]))
        if law and law.holds:
            threads = cells[count].placement.threads
            miss = time_ns(cells[count]) / law.time_ns(threads) - 1
            return Kink(cells[count - 1].placement.threads, threads, miss)
    return None


def _without_turns(cells: Sequence[Cell]) -> list[Cell]:
    """Those where no two threads share a CPU."""
    return [cell for cell in cells if cell.placement.threads <= len(cell.placement.cpus)]


def _threads_and_times(cells: Sequence[Cell]) -> tuple[list[int], list[float]]:
    threads = [cell.placement.threads for cell in cells for _ in cell.medians_ns]
    return threads, [time for cell in cells for time in cell.medians_ns]


def recommended(cells: Sequence[Cell]) -> Cell:
    """The fewest threads that are as fast as the fastest, to 5 %; of those the steadiest."""
    fastest = min(time_ns(cell) for cell in cells)
    good = [cell for cell in cells if time_ns(cell) <= fastest * SMALLEST_GAIN]
    return min(good, key=lambda cell: (cell.placement.threads, jitter(cell) or 0.0, time_ns(cell)))


def slowdowns(sweep: Sweep, workload: str) -> list[Slowdown]:
    """What each load does to a workload, worst first."""
    cells = [cell for cell in sweep.cells if cell.workload == workload]
    alone = next(cell for cell in cells if cell.load == "idle")
    loaded = [cell for cell in cells if cell.load != "idle"]
    p_values = holm([_p_value(logarithms(cell, alone)) for cell in loaded])
    found = [
        Slowdown(cell, ratio(cell, alone), _tail(cell, alone), p_value)
        for cell, p_value in zip(loaded, p_values, strict=True)
    ]
    return sorted(found, key=lambda one: -one.ratio.value)


def _tail(cell: Cell, alone: Cell) -> Ratio:
    """Of the same figure on both sides."""
    high, low = (quantile_ns(one.histogram, 99.0).value_ns for one in (cell, alone))
    if high is None or not low:
        return Ratio(longest_ns(cell) / longest_ns(alone))
    return Ratio(high / low)


def _p_value(logarithms: Sequence[float]) -> float:
    """That the mean is 0, by Student's t on both sides; 1 where one round cannot tell."""
    if len(logarithms) < 2:
        return 1.0
    error = float(np.std(logarithms, ddof=1)) / math.sqrt(len(logarithms))
    mean = abs(float(np.mean(logarithms)))
    if error == 0:
        return 0.0 if mean else 1.0
    return 2 * float(special.stdtr(len(logarithms) - 1, -mean / error))
