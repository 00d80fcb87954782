# SPDX-License-Identifier: GPL-2.0-only
"""Machines whose sharing is known, and what a series over them would measure."""

from collections.abc import Callable, Sequence

import numpy as np

from rtscope.model.histogram import Histogram
from rtscope.model.machine import Cache, Cpu, Machine
from rtscope.model.placement_series import Cell, MeasuredSeries
from rtscope.model.placements import each_alone, kinds_of, orders_of, pairs_of
from rtscope.model.run import Run, Thread
from rtscope.model.scaling import CellRecord, Placement, SeriesRecord
from tests.measured import run_of

Speed = Callable[[str, int, Placement], float]
"""of the thread on a CPU, for a workload at a placement; 1 is that of a thread alone"""

ONE_NS = 400_000
NOISE = 0.005
ROUNDS = 5
PERIODS = 400


def machine_of(
    cores: int, threads: int, clusters: int = 1, *, khz: Sequence[int] = (), offline: int = -1
) -> Machine:
    """Cores of so many siblings with neighbouring numbers; each cluster of cores has an L2."""
    count = cores * threads
    online = [number for number in range(count) if number != offline]
    size = count // clusters
    return Machine(
        hostname="board",
        cpus=[
            Cpu(
                number,
                number in online,
                core=number // threads,
                package=0,
                smt_siblings=[n for n in online if n // threads == number // threads],
                max_khz=khz[number] if khz else None,
            )
            for number in range(count)
        ],
        caches=[
            Cache(1, "data", 32 << 10, [n for n in online if n // threads == core])
            for core in range(cores)
        ]
        + [
            Cache(2, "unified", 2 << 20, [n for n in online if n // size == cluster])
            for cluster in range(clusters)
        ],
    )


T2080 = machine_of(4, 2)
T4240 = machine_of(12, 2, 3)


def vector_unit_a_core(workload: str, cpu: int, placement: Placement) -> float:
    """Siblings take turns at one vector unit; all else they have twice."""
    return 0.5 if workload == "vector" and cpu ^ 1 in placement.cpus else 1.0


def alike(workload: str, cpu: int, placement: Placement) -> float:
    """Nothing is shared."""
    return 1.0


def one_bucket(workload: str, cpu: int, placement: Placement) -> float:
    """All threads draw from one bucket of tokens."""
    return 1 / placement.threads


def measured_on(
    machine: Machine,
    speed: Speed,
    *,
    counts: Sequence[int] | None = None,
    workloads: Sequence[str] = ("scalar", "vector"),
    serial: float = 0.05,
    seed: int = 1,
    alone: bool = False,
) -> MeasuredSeries:
    """What 95 % parallel work, divided evenly, takes on such a machine; jitter where it shares.

    The first CPU of a placement does the serial part. With `alone` each CPU is measured alone.
    """
    rng = np.random.default_rng(seed)
    usable = [cpu.number for cpu in machine.cpus if cpu.online]
    orders = orders_of(machine, usable, counts or range(1, len(usable) + 1))
    pairs = pairs_of(machine, usable)
    placements = dict.fromkeys(
        [one for order in orders for one in order.placements]
        + [pair.placement for pair in pairs]
        + (each_alone(machine, usable) if alone else kinds_of(machine, usable))
    )
    cells = []
    for workload in workloads:
        for place in placements:
            slowest = min(speed(workload, cpu, place) for cpu in place.cpus)
            turns = -(-place.threads // len(place.cpus))
            share = (1 - serial) / place.threads * turns / slowest
            spread = 0.3 if slowest < 1 and place.threads > 1 else NOISE
            head = serial / speed(workload, place.cpus[0], Placement(place.cpus[:1], 1))
            cells.append(cell_of(rng, workload, place, ONE_NS * (head + share), spread))
    return MeasuredSeries(machine, cells, ROUNDS, orders=orders, pairs=pairs)


def run_of_series(series: MeasuredSeries, workload: str = "", **fields: object) -> Run:
    """The run that this series is kept as."""
    cells = [
        CellRecord(workload or one.workload, one.placement, one.load, one.medians_ns)
        for one in series.cells
    ]
    threads = [
        Thread(
            number,
            None,
            "fifo",
            80,
            one.histogram.total,
            one.histogram,
            one.histogram.lower_ns[0],
            one.histogram.lower_ns[-1],
            name=f"{one.workload}, {one.placement.threads} on {one.placement.cpus}, {one.load}",
        )
        for number, one in enumerate(series.cells)
    ]
    kept = SeriesRecord(
        series.rounds, cells, series.program, series.orders, series.pairs, series.load_cpus
    )
    probe = "interfere" if series.has_loads else "scale"
    return run_of(*threads, probe=probe, placement_series=kept, machine=series.machine, **fields)


def cell_of(
    rng: np.random.Generator,
    workload: str,
    place: Placement,
    time_ns: float,
    spread: float = NOISE,
    load: str = "idle",
) -> Cell:
    """A cell of times about this one, which wander by 0.5 % from round to round."""
    medians = time_ns * np.exp(rng.normal(0, NOISE, ROUNDS))
    periods = np.median(medians) * (1 + rng.exponential(spread / 3, ROUNDS * PERIODS))
    return Cell(workload, place, load, medians.tolist(), Histogram.of(periods.astype(int).tolist()))
