# SPDX-License-Identifier: GPL-2.0-only
"""A placement series with its cells, for analyses that compare them."""

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run
from rtscope.model.scaling import Order, Pair, Placement


class Cell(msgspec.Struct, frozen=True):
    """One workload at one placement under one load, measured once in each round."""

    workload: str
    """scalar, vector, or the program's name"""
    placement: Placement
    load: str = "idle"
    medians_ns: list[float] = []
    """the median time of each round, in order"""
    histogram: Histogram = Histogram()
    """of the times of all rounds: of a period, or of a run of the program"""
    missed: int = 0
    """periods that were too short for the work"""
    busy_cpus: float | None = None
    """mean number of CPUs that a program used at a time; None if not measured"""


class MeasuredSeries(msgspec.Struct, frozen=True):
    """All cells, measured in turns, in another order in each round."""

    machine: Machine
    cells: list[Cell]
    rounds: int
    orders: list[Order] = []
    pairs: list[Pair] = []
    load_cpus: list[int] = []
    """CPUs of the loads"""
    program: list[str] = []
    """the user's program if that is the workload"""

    def cell(self, workload: str, placement: Placement, load: str = "idle") -> Cell | None:
        """The cell of this name, if it was measured."""
        return next(
            (
                cell
                for cell in self.cells
                if (cell.workload, cell.placement, cell.load) == (workload, placement, load)
            ),
            None,
        )

    def idle_cells(self, workload: str) -> list[Cell]:
        """The cells of a workload without a load."""
        return [cell for cell in self.cells if (cell.workload, cell.load) == (workload, "idle")]

    @property
    def workloads(self) -> list[str]:
        """The workloads without duplicates, in order."""
        return list(dict.fromkeys(cell.workload for cell in self.cells))

    @property
    def has_loads(self) -> bool:
        """Whether its cells differ in their loads, not in their placements."""
        return any(cell.load != "idle" for cell in self.cells)


def series_of(run: Run) -> MeasuredSeries:
    """The cells of a run of rtscope scale or interfere. Raises RtscopeError for other runs."""
    record = run.placement_series
    if record is None:
        raise RtscopeError(f"run {run.id} is none of rtscope scale or interfere: it has no cells")
    cells = [
        Cell(
            one.workload,
            one.placement,
            one.load,
            one.medians_ns,
            thread.histogram,
            thread.missed or 0,
            one.busy_cpus,
        )
        for one, thread in zip(record.cells, run.threads, strict=True)
    ]
    return MeasuredSeries(
        run.machine,
        cells,
        record.rounds,
        record.orders,
        record.pairs,
        record.load_cpus,
        record.program,
    )
