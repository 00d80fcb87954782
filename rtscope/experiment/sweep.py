"""A sweep: workloads at placements or beside loads, in rounds that each take another order.

What drifts on a machine (its clock's speed, its temperature, what else it does) then falls on all
cells alike, and times of one round can be held against each other.
"""

import random
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import numpy as np

from rtscope.experiment.check import rehearse
from rtscope.experiment.measure import measure
from rtscope.experiment.request import Request
from rtscope.model.cpulist import format_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.run import Run, RunWarning
from rtscope.model.scaling import Cell, Placement, Sweep
from rtscope.statistics.figures import as_arrays, merge
from rtscope.target.agent import Agent

THREADS_PLACE: Final = "{n}"
"""in a program's words, what its number of threads takes the place of"""
_CALIBRATION_PERIODS: Final = 20
_ROOM: Final = 2.5
"""of an interval to the time of one thread"""
_INTERVAL_STEP_NS: Final = 100_000
_REASONS: Final = ("thread-failed", "watchdog")
"""warnings that say why a run has ended"""


Key = tuple[str, Placement, str]


class Slot(msgspec.Struct, frozen=True):
    """A cell before it is measured."""

    workload: str
    placement: Placement
    request: Request
    load: str = "idle"

    @property
    def key(self) -> Key:
        """What tells it from the sweep's others."""
        return self.workload, self.placement, self.load


def usable_cpus(wanted: str | None) -> list[int]:
    """The CPUs that can be measured, or those wanted of them. Raises RtscopeError."""
    try:
        start = rehearse(Request(cpus=wanted))
    except RtscopeError as error:
        raise RtscopeError(str(error).removeprefix("rtscope-agent cyclic: ")) from None
    return sorted(thread.cpu for thread in start.threads if thread.cpu is not None)


def check_load(load: str) -> None:
    """Raise RtscopeError where this is not a load."""
    try:
        rehearse(Request(load=load))
    except RtscopeError as error:
        raise RtscopeError(str(error).removeprefix("rtscope-agent cyclic: ")) from None


def slots_of(
    workloads: Mapping[str, Request],
    placements: Sequence[Placement],
    loads: Sequence[str] = ("idle",),
    load_cpus: Sequence[int] = (),
) -> list[Slot]:
    """Each workload at each placement beside each load."""
    return [
        Slot(name, place, _placed(request, place, load, load_cpus), load)
        for name, request in workloads.items()
        for place in placements
        for load in loads
    ]


def _placed(request: Request, place: Placement, load: str, load_cpus: Sequence[int]) -> Request:
    threads = str(place.threads)
    loaded = load != "idle"
    request = msgspec.structs.replace(
        request,
        cpus=format_cpu_list(place.cpus),
        load=load,
        load_cpus=format_cpu_list(load_cpus) if loaded and load_cpus else None,
        program=[word.replace(THREADS_PLACE, threads) for word in request.program],
    )
    if request.program:
        return request
    return msgspec.structs.replace(request, options=request.options | {"threads": threads})


def measured_on(machine: Machine, on_start: Callable[[Agent], None]) -> Callable[[Request], Run]:
    """How this machine is asked for a run."""
    return lambda request: measure(request, machine, on_start, lambda line: None)


def fitting_interval_ns(
    workloads: Mapping[str, Request], cpu: int, run_of: Callable[[Request], Run]
) -> int:
    """An interval that one thread's work fits into, for all workloads. Raises RtscopeError."""
    longest = 0.0
    for name, request in workloads.items():
        one = _placed(request, Placement((cpu,), 1), "idle", ())
        one = msgspec.structs.replace(one, samples=_CALIBRATION_PERIODS, duration_ns=None)
        longest = max(longest, median_ns(_checked(run_of(one), name)))
    return (int(longest * _ROOM) // _INTERVAL_STEP_NS + 1) * _INTERVAL_STEP_NS


def every(slot: Slot, interval_ns: int) -> Slot:
    """The slot with this interval."""
    request = msgspec.structs.replace(slot.request, interval_ns=interval_ns)
    return msgspec.structs.replace(slot, request=request)


def swept(
    slots: Sequence[Slot],
    rounds: int,
    machine: Machine,
    run_of: Callable[[Request], Run],
    on_slot: Callable[[Slot], None] = lambda slot: None,
    is_over: Callable[[], bool] = lambda: False,
) -> Sweep:
    """Measure all slots `rounds` times; what is over before ends with the last whole round.

    A load that cannot run is left out, and a workload that fails in a later round ends the sweep,
    each with a warning. Raises RtscopeError where a workload fails in the first round, or is
    interrupted there.
    """
    created = datetime.now(UTC).isoformat(timespec="seconds")
    warnings: dict[tuple[str, str], None] = {}
    left = list(slots)
    taken: list[dict[Key, Run]] = []
    for number in range(rounds):
        order = random.Random(number).sample(left, len(left))  # noqa: S311 - an order
        try:
            this = _round(order, left, run_of, on_slot, is_over, warnings, first=not number)
        except RtscopeError as error:
            if not taken:
                raise
            text = f"round {number + 1} failed, and those before it are shown: {error}"
            warnings["round-failed", text] = None
            break
        if this is None:
            break
        taken.append(this)
    return _sweep(machine, left, taken, warnings, created)


def _round(
    order: Sequence[Slot],
    left: list[Slot],
    run_of: Callable[[Request], Run],
    on_slot: Callable[[Slot], None],
    is_over: Callable[[], bool],
    warnings: dict[tuple[str, str], None],
    *,
    first: bool,
) -> dict[Key, Run] | None:
    """A run of each slot, or None where it was interrupted; what cannot run is no longer `left`.

    Raises RtscopeError where a workload fails, or a load that ran in the first round.
    """
    this: dict[Key, Run] = {}
    for slot in order:
        on_slot(slot)
        try:
            run = run_of(slot.request)
        except RtscopeError as error:
            if is_over():
                return None
            if slot.load == "idle" or not first:
                raise
            left.remove(slot)
            text = f"{slot.load} is left out, for it cannot run here: {error}"
            warnings["load-left-out", text] = None
            continue
        if is_over() or run.status == "interrupted":
            return None
        this[slot.key] = _checked(run, slot.workload)
        warnings |= {(one.code, one.text): None for one in run.warnings}
    return this


def _sweep(
    machine: Machine,
    slots: Sequence[Slot],
    taken: Sequence[Mapping[Key, Run]],
    warnings: Mapping[tuple[str, str], None],
    created: str,
) -> Sweep:
    if not taken:
        raise RtscopeError(
            "interrupted before each had been measured once: there is nothing to say"
        )
    cells = []
    for slot in slots:
        threads = [held[slot.key].threads[0] for held in taken]
        cells.append(
            Cell(
                slot.workload,
                slot.placement,
                slot.load,
                [median_ns(held[slot.key]) for held in taken],
                merge([thread.histogram for thread in threads]),
                sum(thread.missed or 0 for thread in threads),
            )
        )
    kept = [RunWarning(code, text) for code, text in warnings]
    return Sweep(machine, cells, len(taken), warnings=kept, created=created)


def _checked(run: Run, workload: str) -> Run:
    """The run, unless it has no samples. Raises RtscopeError."""
    if run.status == "interrupted":
        raise RtscopeError("interrupted before anything was measured")
    if run.status == "complete" and run.threads and run.threads[0].count:
        return run
    reason = next((one.text for one in run.warnings if one.code in _REASONS), "")
    reason = reason.removeprefix("thread 0 could not measure on: ")
    raise RtscopeError(f"{workload} could not be measured: {reason or run.status}")


def median_ns(run: Run) -> float:
    """The median of the run's times; of few, the mean of the middle two."""
    return _median(run.threads[0].histogram)


def _median(histogram: Histogram) -> float:
    lower, last, count = as_arrays(histogram)
    reached = np.cumsum(count)
    middle = (lower + last) / 2
    ranks = (histogram.total - 1) // 2, histogram.total // 2
    return float(np.mean([middle[np.searchsorted(reached, rank, side="right")] for rank in ranks]))
