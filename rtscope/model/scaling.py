"""What was measured to see how work scales over CPUs, or suffers from what runs beside it."""

import msgspec

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import RunWarning


class Placement(msgspec.Struct, frozen=True):
    """So many threads on these CPUs."""

    cpus: tuple[int, ...]
    """ascending"""
    threads: int


class Order(msgspec.Struct, frozen=True):
    """A rule by which more threads get more CPUs."""

    name: str
    """cores first, siblings first, caches apart"""
    placements: list[Placement]
    """each of another number of threads, ascending"""


class Pair(msgspec.Struct, frozen=True):
    """Two CPUs and the nearest thing that the kernel says they share."""

    shared: str
    """core, L2 cache, package, ...; "" for nothing but memory"""
    placement: Placement


class Cell(msgspec.Struct, frozen=True):
    """One workload at one placement beside one load, measured once in each round."""

    workload: str
    """scalar, vector, or the program's name"""
    placement: Placement
    load: str = "idle"
    medians_ns: list[float] = []
    """the median time of each round, in order"""
    histogram: Histogram = Histogram()
    """of the times of all rounds: of a period, or of a run of the program"""
    missed: int = 0
    """periods that the work did not fit into"""


class Sweep(msgspec.Struct, frozen=True):
    """All cells, measured in turns, each round in another order."""

    machine: Machine
    cells: list[Cell]
    rounds: int
    command: list[str] = []
    """the rtscope command that repeats it"""
    program: list[str] = []
    """of the user; empty for the reference algorithm"""
    settings: dict[str, str] = {}
    """what the reference algorithm was, for people"""
    orders: list[Order] = []
    pairs: list[Pair] = []
    load_cpus: list[int] = []
    """where the loads ran"""
    warnings: list[RunWarning] = []
    created: str = ""
    """start, ISO 8601 in UTC"""

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

    @property
    def workloads(self) -> list[str]:
        """Each once, in order."""
        return list(dict.fromkeys(cell.workload for cell in self.cells))

    @property
    def has_loads(self) -> bool:
        """Whether it tells what loads do, and not what placements do."""
        return any(cell.load != "idle" for cell in self.cells)
