# SPDX-License-Identifier: GPL-2.0-only
"""Placements of threads, which show how work scales over CPUs and how loads slow it.

A series is kept as one run, whose threads are its cells: the times of all rounds of each.
"""

import msgspec


class Placement(msgspec.Struct, frozen=True):
    """A number of threads on some CPUs."""

    cpus: tuple[int, ...]
    """ascending"""
    threads: int


class Order(msgspec.Struct, frozen=True):
    """A rule for the CPUs of an increasing number of threads."""

    name: str
    """cores first, siblings first, caches apart"""
    placements: list[Placement]
    """by ascending number of threads"""


class Pair(msgspec.Struct, frozen=True):
    """Two CPUs and the closest resource that they share according to the kernel."""

    shared: str
    """core, L2 cache, package, ...; "" for memory alone"""
    placement: Placement


class CellRecord(msgspec.Struct, frozen=True):
    """The cell that one thread of the run stands for: a workload at a placement under a load."""

    workload: str
    """scalar, vector, or the program's name"""
    placement: Placement
    load: str = "idle"
    medians_ns: list[float] = []
    """the median time of each round, in order"""
    busy_cpus: float | None = None
    """mean number of CPUs that a program used at a time; None if not measured"""


class SeriesRecord(msgspec.Struct, frozen=True):
    """The placement series of a run of rtscope scale or interfere."""

    rounds: int = 0
    """number of complete rounds, at least 1"""
    cells: list[CellRecord] = []
    """one for each thread of the run, in its order"""
    program: list[str] = []
    """the user's program; empty for the reference algorithm"""
    orders: list[Order] = []
    pairs: list[Pair] = []
    load_cpus: list[int] = []
    """CPUs of the loads"""
    whole: bool = True
    """False if the first round ended early and only its measured cells are present"""
