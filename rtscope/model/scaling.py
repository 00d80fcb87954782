# SPDX-License-Identifier: GPL-2.0-only
"""Where threads were placed to see how work scales over CPUs, or suffers from what runs beside it.

A sweep is kept as one run, whose threads are its cells: the times of all rounds of each.
"""

import msgspec


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


class SweptCell(msgspec.Struct, frozen=True):
    """What one thread of a sweep's run is: a workload at a placement beside a load."""

    workload: str
    """scalar, vector, or the program's name"""
    placement: Placement
    load: str = "idle"
    medians_ns: list[float] = []
    """the median time of each round, in order"""
    busy_cpus: float | None = None
    """CPUs that a program used at a time, on average; None if not measured"""


class Swept(msgspec.Struct, frozen=True):
    """What a run of rtscope scale or interfere measured in turns, each round in another order."""

    rounds: int = 0
    """number of whole rounds; 1 too where the first is not whole"""
    cells: list[SweptCell] = []
    """one for each of the run's threads, in their order"""
    program: list[str] = []
    """of the user; empty for the reference algorithm"""
    orders: list[Order] = []
    pairs: list[Pair] = []
    load_cpus: list[int] = []
    """where the loads ran"""
    whole: bool = True
    """False where the first round ended early and only its measured cells are here"""
