# SPDX-License-Identifier: GPL-2.0-only
"""Placements and disturbances: conclusions from the times of a placement series.

Times are compared round by round: the logarithms of the ratios have Student's limits (and their
exponentials are the ratio's). A drift from round to round affects both sides. A ratio is called a
difference if its p-value is below 5 % after Holm's correction for the number of ratios that answer
the same question, and if it is 5 % or more.
"""

import math
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from rtscope.model.placement_series import Cell, MeasuredSeries
from rtscope.model.scaling import Order, Placement
from rtscope.model.speeds import reported_kinds
from rtscope.statistics.confidence import LEVEL, holm
from rtscope.statistics.distributions import student_below, student_quantile
from rtscope.statistics.metrics import quantile_ns
from rtscope.statistics.scaling import Fit, fit

SMALLEST_GAIN: Final = 1.05
"""times that differ by less are equivalent"""
_MATTERS: Final = 1.25
"""limits above this allow a relevant gain or disturbance"""
_RAN_AT_ONCE: Final = 1.5
"""lowest CPU use of several threads, relative to one thread, that shows that they ran at once"""
HARDLY_A_GAIN: Final = 1.1
"""several threads below this take turns"""


class Ratio(msgspec.Struct, frozen=True):
    """The ratio of two times with 95 % limits, which are None for a single round."""

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    """of the hypothesis that it is 1, two-sided Student's t"""

    @property
    def is_sure(self) -> bool:
        """Whether it differs significantly from 1."""
        return self.p_value <= 1 - LEVEL

    @property
    def is_more(self) -> bool:
        """Whether it is above 1, significantly and by 5 %."""
        return self.is_sure and self.value >= SMALLEST_GAIN

    @property
    def is_one(self) -> bool:
        """Whether it is significantly below 1.1, which is hardly a gain."""
        return self.high is not None and self.high < HARDLY_A_GAIN

    @property
    def may_matter(self) -> bool:
        """Whether it may be so far above 1 that more rounds are worthwhile."""
        return self.high is None or self.high > _MATTERS


class Curve(msgspec.Struct, frozen=True):
    """One workload with an increasing number of threads, placed in one order."""

    workload: str
    order: Order
    cells: list[Cell]
    speedups: list[Ratio]
    """relative to one thread, for each cell"""
    amdahl: Fit | None
    usl: Fit | None


class Slowdown(msgspec.Struct, frozen=True):
    """The effect of a load on a workload."""

    cell: Cell
    ratio: Ratio
    """of the median times to those without a load; corrected for the number of loads"""
    tail: Ratio
    """of the longest times, or of the 99th percentiles if there are enough samples; no limits"""


def ratio(a: Cell, b: Cell) -> Ratio:
    """The ratio of the times of `a` to those of `b`."""
    return ratio_of(logarithms(a, b))


def logarithms(a: Cell, b: Cell) -> list[float]:
    """The logarithms of the ratios of the times of `a` to those of `b`, round by round."""
    return [math.log(x / y) for x, y in zip(a.medians_ns, b.medians_ns, strict=True)]


def ratio_of(logarithms: Sequence[float]) -> Ratio:
    """The ratio with these logarithms, one for each round."""
    mean = float(np.mean(logarithms))
    if len(logarithms) < 2:
        return Ratio(math.exp(mean))
    error = float(np.std(logarithms, ddof=1)) / math.sqrt(len(logarithms))
    half = error * student_quantile(len(logarithms) - 1, 0.5 + LEVEL / 2)
    low, high = math.exp(mean - half), math.exp(mean + half)
    return Ratio(math.exp(mean), low, high, _p_value(logarithms))


def corrected(ratios: Sequence[Ratio]) -> list[Ratio]:
    """The ratios with their p-values after Holm's correction for their number."""
    p_values = holm([one.p_value for one in ratios])
    return [
        msgspec.structs.replace(one, p_value=p) for one, p in zip(ratios, p_values, strict=True)
    ]


def time_ns(cell: Cell) -> float:
    """Geometric mean of the rounds' medians."""
    return math.exp(float(np.mean(np.log(cell.medians_ns))))


def longest_ns(cell: Cell) -> int:
    """The longest time of all rounds."""
    return cell.histogram.lower_ns[-1] + cell.histogram.width_ns[-1] - 1


def jitter(cell: Cell) -> float | None:
    """The distance of the 99th percentile from the median, relative to it, if there are samples."""
    median, high = (quantile_ns(cell.histogram, percent).value_ns for percent in (50.0, 99.0))
    return None if not median or high is None else high / median - 1


def alone(series: MeasuredSeries, workload: str) -> dict[int, Cell]:
    """The cell of one thread on each CPU, or on a CPU that is reported as equal."""
    kinds = reported_kinds(series.machine)
    cells = series.idle_cells(workload)
    measured = {
        cell.placement.cpus[0]: cell
        for cell in cells
        if cell.placement.threads == len(cell.placement.cpus) == 1
    }
    of_kind = {kinds.get(cpu): cell for cpu, cell in reversed(measured.items())}
    placed = {cpu for cell in cells for cpu in cell.placement.cpus}
    found = {cpu: measured.get(cpu) or of_kind.get(kinds.get(cpu)) for cpu in sorted(placed)}
    return {cpu: cell for cpu, cell in found.items() if cell}


def slower_cpus(series: MeasuredSeries, workload: str) -> dict[int, Ratio]:
    """The CPUs on which one thread is slower than on the fastest, each with its ratio of times.

    The same times determine the fastest CPU, so the correction is for all pairs.
    """
    of_cpu = alone(series, workload)
    cells = list({cell.placement: cell for cell in of_cpu.values()}.values())
    if not cells:
        return {}
    cells.sort(key=time_ns)
    pairs = [(slow, fast) for fast, slow in combinations(cells, 2)]
    lost = corrected([ratio(slow, fast) for slow, fast in pairs])
    slower = {
        slow.placement: one
        for (slow, fast), one in zip(pairs, lost, strict=True)
        if fast is cells[0] and one.is_more
    }
    return {cpu: slower[cell.placement] for cpu, cell in of_cpu.items() if cell.placement in slower}


def is_mixed(placement: Placement, slower: Collection[int]) -> bool:
    """Whether its CPUs differ in their own speed."""
    return len({cpu in slower for cpu in placement.cpus}) > 1


def beside_slowest(series: MeasuredSeries, cell: Cell) -> list[float] | None:
    """Logarithms of the ratios of its times to those of one thread on its slowest CPU, by round.

    None if one of its CPUs was not measured alone.
    """
    of_cpu = alone(series, cell.workload)
    if not set(cell.placement.cpus) <= of_cpu.keys():
        return None
    singles = zip(*(of_cpu[cpu].medians_ns for cpu in cell.placement.cpus), strict=True)
    return [math.log(time / max(one)) for time, one in zip(cell.medians_ns, singles, strict=True)]


def curves(series: MeasuredSeries) -> list[Curve]:
    """Each workload in each order; the fit excludes cells in which two threads share a CPU."""
    found = []
    for workload in series.workloads:
        for order in series.orders:
            cells = [
                cell for one in order.placements if (cell := series.cell(workload, one)) is not None
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
    """The limit of Amdahl's law."""

    up_to: int
    """largest number of threads that it describes"""
    beyond: int
    """the next number of threads"""
    miss: float
    """excess of their time over the law, relative to the law"""


def kink(curve: Curve) -> Kink | None:
    """The limit of the law that describes the smallest numbers of threads, if there is one."""
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
    """The cells in which no two threads share a CPU."""
    return [cell for cell in cells if cell.placement.threads <= len(cell.placement.cpus)]


def _threads_and_times(cells: Sequence[Cell]) -> tuple[list[int], list[float]]:
    threads = [cell.placement.threads for cell in cells for _ in cell.medians_ns]
    return threads, [time for cell in cells for time in cell.medians_ns]


class Choice(msgspec.Struct, frozen=True):
    """The recommended placement of a workload, with its evidence."""

    best: Cell
    gain: Ratio | None
    """time of one thread over that of the best; None if one thread is the best"""
    at_most: Ratio | None
    """time of one thread over that of the fastest; None if nothing else was measured"""
    alike: list[Cell]
    """other placements of as many threads, without evidence that they are slower"""
    worst: tuple[Cell, Ratio] | None
    """the slowest placement of as many threads, if significant"""
    undecided: list[int]
    """other numbers of threads above one, without evidence that they differ"""
    serial: list[Cell]
    """cells of several threads that did not run at once; excluded from the choice"""


def chosen(cells: Sequence[Cell]) -> Choice | None:
    """The fewest threads that are as fast as the fastest, to 5 %.

    Among placements of equally many threads it is the first, in the order of the cells, that is not
    significantly slower than the fastest, so that chance does not choose. All ratios to the best
    are corrected together. Several threads that did not run at once cannot be faster than one and
    are excluded. None if one thread was not measured.
    """
    one_busy = max((c.busy_cpus or 0.0 for c in cells if c.placement.threads == 1), default=0.0)
    serial = [cell for cell in cells if _is_serial(cell, one_busy)]
    cells = [cell for cell in cells if cell not in serial]
    singles = [cell for cell in cells if cell.placement.threads == 1]
    if not singles:
        return None
    fastest = min(cells, key=time_ns)
    good = [cell for cell in cells if time_ns(cell) <= time_ns(fastest) * SMALLEST_GAIN]
    count = min(cell.placement.threads for cell in good)
    same = [cell for cell in cells if cell.placement.threads == count]
    quickest = min(same, key=time_ns)
    slower = corrected([ratio(cell, quickest) for cell in same])
    best = next(cell for cell, lost in zip(same, slower, strict=True) if not lost.is_more)
    others = [cell for cell in cells if cell is not best]
    lost = dict(
        zip(map(_place, others), corrected([ratio(cell, best) for cell in others]), strict=True)
    )
    elsewhere = [(cell, lost[_place(cell)]) for cell in same if cell is not best]
    surely = [pair for pair in elsewhere if pair[1].is_more]
    undecided = {
        cell.placement.threads
        for cell in others
        if cell.placement.threads not in (1, count) and not lost[_place(cell)].is_sure
    }
    one = min(singles, key=time_ns)
    several = [cell for cell in cells if cell.placement.threads > 1]
    return Choice(
        best,
        lost[_place(one)] if count > 1 else None,
        ratio(one, min(several, key=time_ns)) if several else None,
        [cell for cell, ratio in elsewhere if not ratio.is_more],
        max(surely, key=lambda pair: pair[1].value, default=None),
        sorted(undecided),
        serial,
    )


def _is_serial(cell: Cell, one_busy_cpus: float) -> bool:
    """Whether several threads were requested and hardly two of them ran at once.

    They used no more than one CPU at a time, and not much more than one thread did. The second
    condition spares threads that mostly wait, or that other programs keep from running.
    """
    threads, busy = cell.placement.threads, cell.busy_cpus
    if threads == 1 or busy is None:
        return False
    return busy < HARDLY_A_GAIN and busy < _RAN_AT_ONCE * one_busy_cpus


def _place(cell: Cell) -> Placement:
    return cell.placement


def slowdowns(series: MeasuredSeries, workload: str) -> list[Slowdown]:
    """The effect of each load on a workload, worst first; empty if it was not measured alone."""
    cells = [cell for cell in series.cells if cell.workload == workload]
    alone = next((cell for cell in cells if cell.load == "idle"), None)
    if alone is None:
        return []
    loaded = [cell for cell in cells if cell.load != "idle"]
    ratios = corrected([ratio(cell, alone) for cell in loaded])
    found = [
        Slowdown(cell, one, _tail(cell, alone)) for cell, one in zip(loaded, ratios, strict=True)
    ]
    return sorted(found, key=lambda one: -one.ratio.value)


def _tail(cell: Cell, alone: Cell) -> Ratio:
    """The ratio of the same metric on both sides."""
    high, low = (quantile_ns(one.histogram, 99.0).value_ns for one in (cell, alone))
    if high is None or not low:
        return Ratio(longest_ns(cell) / longest_ns(alone))
    return Ratio(high / low)


def _p_value(logarithms: Sequence[float]) -> float:
    """p-value of a mean of 0, two-sided Student's t; 1 for a single round."""
    if len(logarithms) < 2:
        return 1.0
    error = float(np.std(logarithms, ddof=1)) / math.sqrt(len(logarithms))
    mean = abs(float(np.mean(logarithms)))
    if error == 0:
        return 0.0 if mean else 1.0
    return 2 * student_below(len(logarithms) - 1, -mean / error)
