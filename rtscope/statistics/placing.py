# SPDX-License-Identifier: GPL-2.0-only
"""What the times of a sweep say of where threads should run and what disturbs them.

Times are compared round by round: the logarithms of the ratios have Student's limits (and their
exponentials are the ratio's). What drifts from round to round does so on both sides. A ratio is
called a difference where chance makes one so sure in less than 5 % of all cases, after Holm's
correction for the number of ratios that are looked at for the same question, and it is 5 % or more.
"""

import math
from collections.abc import Collection, Sequence
from itertools import combinations
from typing import Final

import msgspec
import numpy as np

from rtscope.model.scaling import Order, Placement
from rtscope.model.speeds import told_kinds
from rtscope.model.sweep import Cell, Sweep
from rtscope.statistics.confidence import LEVEL, holm
from rtscope.statistics.distributions import student_below, student_quantile
from rtscope.statistics.figures import quantile_ns
from rtscope.statistics.scaling import Fit, fit

SMALLEST_GAIN: Final = 1.05
"""a time that is nearer than this to another is as good"""
_MATTERS: Final = 1.25
"""limits that reach above this leave room for a gain or a disturbance that matters"""
_RAN_AT_ONCE: Final = 1.5
"""CPU use of several threads, relative to that of one, from which they ran at once"""
HARDLY_A_GAIN: Final = 1.1
"""what several threads have to be below for them to be said to take turns"""


class Ratio(msgspec.Struct, frozen=True):
    """Of two times, with 95 % limits; None where one round cannot tell them."""

    value: float
    low: float | None = None
    high: float | None = None
    p_value: float = 1.0
    """that it is 1, by Student's t on both sides"""

    @property
    def is_sure(self) -> bool:
        """Whether it is another than 1 by more than chance."""
        return self.p_value <= 1 - LEVEL

    @property
    def is_more(self) -> bool:
        """Whether it is above 1, by more than chance and by 5 %."""
        return self.is_sure and self.value >= SMALLEST_GAIN

    @property
    def is_one(self) -> bool:
        """Whether it is surely below 1.1, so that hardly anything is gained."""
        return self.high is not None and self.high < HARDLY_A_GAIN

    @property
    def may_matter(self) -> bool:
        """Whether it may be so much above 1 that more rounds should tell."""
        return self.high is None or self.high > _MATTERS


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
    """of the median times, to those without a load; corrected for the number of loads"""
    tail: Ratio
    """of the longest times, or of the 99th percentiles where there are samples enough; no limits"""


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
    """How much the 99th percentile is above the median, as a share of it; None: too few samples."""
    median, high = (quantile_ns(cell.histogram, percent).value_ns for percent in (50.0, 99.0))
    return None if not median or high is None else high / median - 1


def alone(sweep: Sweep, workload: str) -> dict[int, Cell]:
    """What stands for one thread on each CPU: itself, or one on a CPU that is told to be alike."""
    told = told_kinds(sweep.machine)
    cells = sweep.idle_cells(workload)
    measured = {
        cell.placement.cpus[0]: cell
        for cell in cells
        if cell.placement.threads == len(cell.placement.cpus) == 1
    }
    of_kind = {told.get(cpu): cell for cpu, cell in reversed(measured.items())}
    placed = {cpu for cell in cells for cpu in cell.placement.cpus}
    found = {cpu: measured.get(cpu) or of_kind.get(told.get(cpu)) for cpu in sorted(placed)}
    return {cpu: cell for cpu, cell in found.items() if cell}


def slower_cpus(sweep: Sweep, workload: str) -> dict[int, Ratio]:
    """The CPUs on which one thread is slower than on the fastest, and how many times as long.

    Which is the fastest is found by the same times, so all pairs are corrected for.
    """
    of_cpu = alone(sweep, workload)
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
    """Whether some of its CPUs are slower by themselves and others are not."""
    return len({cpu in slower for cpu in placement.cpus}) > 1


def beside_slowest(sweep: Sweep, cell: Cell) -> list[float] | None:
    """Logarithms, one a round, of its times over those of one thread on its slowest CPU.

    None where one of its CPUs was not measured alone.
    """
    of_cpu = alone(sweep, cell.workload)
    if not set(cell.placement.cpus) <= of_cpu.keys():
        return None
    singles = zip(*(of_cpu[cpu].medians_ns for cpu in cell.placement.cpus), strict=True)
    return [math.log(time / max(one)) for time, one in zip(cell.medians_ns, singles, strict=True)]


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


class Choice(msgspec.Struct, frozen=True):
    """What is recommended of a workload's placements, and how sure that is."""

    best: Cell
    gain: Ratio | None
    """of the time of one thread to that of the best; None where the best is one thread"""
    at_most: Ratio | None
    """of the time of one thread to that of the fastest; None where nothing else was measured"""
    alike: list[Cell]
    """as many threads elsewhere: no evidence that these are slower"""
    worst: tuple[Cell, Ratio] | None
    """as many threads where they are surely slowest"""
    undecided: list[int]
    """other numbers of threads, more than one, of which there is no evidence that they differ"""
    serial: list[Cell]
    """several threads that did not run at once: left out of the choice"""


def chosen(cells: Sequence[Cell]) -> Choice | None:
    """The fewest threads that are as fast as the fastest, to 5 %.

    Of as many threads it is the first placement, in the order of the cells, that is not surely
    slower than the fastest of these: chance does not choose. All ratios to the best are corrected
    together. Several threads that did not run at once cannot be faster than one: they are left
    out. None where one thread was not measured.
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
    """Whether several threads were asked for and hardly two of them ran at once.

    They used no more than one CPU at a time, and not much more than one thread did. The second
    condition spares threads that mostly wait, or that other programs keep from running.
    """
    threads, busy = cell.placement.threads, cell.busy_cpus
    if threads == 1 or busy is None:
        return False
    return busy < HARDLY_A_GAIN and busy < _RAN_AT_ONCE * one_busy_cpus


def _place(cell: Cell) -> Placement:
    return cell.placement


def slowdowns(sweep: Sweep, workload: str) -> list[Slowdown]:
    """What each load does to a workload, worst first; nothing where it was not measured alone."""
    cells = [cell for cell in sweep.cells if cell.workload == workload]
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
    return 2 * student_below(len(logarithms) - 1, -mean / error)
