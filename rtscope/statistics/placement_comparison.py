# SPDX-License-Identifier: GPL-2.0-only
"""Whether the cells of one placement series are faster or slower than those of another.

The rounds of two series were not measured at the same time, so they are not compared in pairs: the
logarithms of their medians are two samples, and their means differ by Welch's t ("The
Generalization of 'Student's' Problem when Several Different Population Variances are Involved",
Biometrika 34, 1947). p-values are Holm's over all cells.
"""

import math
from collections.abc import Sequence
from typing import Final, Literal

import msgspec
import numpy as np

from rtscope.model.errors import RtscopeError
from rtscope.model.placement_series import Cell, series_of
from rtscope.model.run import Run
from rtscope.model.scaling import Placement
from rtscope.statistics.alike import Difference, differences
from rtscope.statistics.confidence import LEVEL
from rtscope.statistics.distributions import student_below, student_quantile
from rtscope.statistics.placing import SMALLEST_GAIN, Ratio, corrected, time_ns

Effect = Literal["faster", "slower", "same", "unknown"]

_MOST_NAMED: Final = 4
"""cells of only one side"""


class CellChange(msgspec.Struct, frozen=True):
    """One cell of both series."""

    name: str
    """name of its thread in both runs; without the program's name if these differ"""
    placement: Placement
    load: str
    a_ns: float
    b_ns: float
    ratio: Ratio
    """ratio of the time of B to that of A"""
    effect: Effect
    """B against A: significant and by 5 %; same: its limits are within 5 %"""


class PlacementComparison(msgspec.Struct, frozen=True):
    """B against A."""

    a: str
    """id of the run"""
    b: str
    changes: list[CellChange]
    differences: list[Difference] = []
    """differences between the measurements"""


def compare_placements(a: Run, b: Run) -> PlacementComparison:
    """The cells of both series; those of two programs match by placement and load alone.

    Raises RtscopeError if they have none in common.
    """
    if a.probe != b.probe:
        raise RtscopeError(f"A measured {a.probe} and B {b.probe}: they cannot be compared")
    programs = bool(
        a.placement_series
        and b.placement_series
        and a.placement_series.program
        and b.placement_series.program
    )
    left, right = (_named(run, programs=programs) for run in (a, b))
    both = [name for name in left if name in right]
    if not both:
        raise RtscopeError(
            f"A and B have no placement and load in common: A measured {_listed([*left])}, "
            f"and B {_listed([*right])}"
        )
    workloads = list(dict.fromkeys(cell.workload for cell in left.values()))
    both.sort(
        key=lambda name: (
            workloads.index(left[name].workload),
            left[name].placement.threads,
            left[name].placement.cpus,
        )
    )
    ratios = corrected([_ratio(left[name].medians_ns, right[name].medians_ns) for name in both])
    changes = [
        CellChange(
            name,
            left[name].placement,
            left[name].load,
            time_ns(left[name]),
            time_ns(right[name]),
            ratio,
            _effect(ratio),
        )
        for name, ratio in zip(both, ratios, strict=True)
    ]
    found = differences(a, b)
    for held, other in ((left, right), (right, left)):
        if alone := [name for name in held if name not in other]:
            found.append(Difference("only", names=alone, side="A" if held is left else "B"))
    return PlacementComparison(a.id, b.id, changes, found)


def _named(run: Run, *, programs: bool) -> dict[str, Cell]:
    """The cells by the names of their threads, or by the part after the program's name."""
    return {
        thread.name.removeprefix(f"{cell.workload}, ") if programs else thread.name: cell
        for thread, cell in zip(run.threads, series_of(run).cells, strict=True)
    }


def _listed(names: Sequence[str]) -> str:
    more = len(names) - _MOST_NAMED
    return "; ".join(names[:_MOST_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _effect(ratio: Ratio) -> Effect:
    if ratio.is_sure and abs(ratio.value - 1) >= SMALLEST_GAIN - 1:
        return "slower" if ratio.value > 1 else "faster"
    if ratio.low is None or ratio.high is None:
        return "unknown"
    return "same" if 1 / SMALLEST_GAIN < ratio.low <= ratio.high < SMALLEST_GAIN else "unknown"


def _ratio(a_ns: Sequence[float], b_ns: Sequence[float]) -> Ratio:
    left, right = np.log(a_ns), np.log(b_ns)
    difference = float(right.mean() - left.mean())
    if min(len(left), len(right)) < 2:
        return Ratio(math.exp(difference))
    parts = [float(side.var(ddof=1)) / len(side) for side in (left, right)]
    error = math.sqrt(sum(parts))
    if error == 0:
        value = math.exp(difference)
        return Ratio(value, value, value, 0.0 if difference else 1.0)
    sizes = [len(side) - 1 for side in (left, right)]
    freedom = error**4 / sum(part**2 / size for part, size in zip(parts, sizes, strict=True))
    half = error * student_quantile(freedom, 0.5 + LEVEL / 2)
    return Ratio(
        math.exp(difference),
        math.exp(difference - half),
        math.exp(difference + half),
        2 * student_below(freedom, -abs(difference) / error),
    )
