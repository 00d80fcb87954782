# SPDX-License-Identifier: GPL-2.0-only
"""A sweep: workloads at placements or beside loads, in rounds that each take another order.

What drifts on a machine (its clock's speed, its temperature, what else it does) then falls on all
cells alike, and times of one round can be held against each other.
"""

import math
import random
import time
from collections.abc import Callable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

import msgspec
import numpy as np

from rtscope.engine.check import rehearsed_on
from rtscope.engine.measure import measure
from rtscope.model.cpulist import format_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Asked, Run, RunWarning, Status, Thread, Windows
from rtscope.model.scaling import Placement, Swept, SweptCell
from rtscope.statistics.figures import as_arrays, merge
from rtscope.store.database import new_run_id
from rtscope.target.agent import Agent, Target
from rtscope.target.local import LOCAL
from rtscope.target.protocol import Start

THREADS_PLACE: Final = "{n}"
"""in a program's words, what its number of threads takes the place of"""
_CALIBRATION_PERIODS: Final = 20
_ROOM: Final = 2.5
"""of an interval to the time of one thread"""
_INTERVAL_STEP_NS: Final = 100_000
_REASONS: Final = ("thread-failed", "thread-moved", "watchdog")
"""warnings that say why a run has ended"""
_NOT_THERE: Final = "could not be started: No such file"
_OF_A_CELL: Final = ("form", "threads", "command")
"""options of a run that are not the whole sweep's"""


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

    @property
    def name(self) -> str:
        """The same in words: scalar, 2 threads on CPUs 0,2 beside memory."""
        cpus, threads = self.placement.cpus, self.placement.threads
        where = f"CPU{'s' if len(cpus) > 1 else ''} {format_cpu_list(cpus)}"
        beside = "" if self.load == "idle" else f" beside {self.load}"
        return f"{self.workload}, {threads} thread{'s' if threads > 1 else ''} on {where}{beside}"


class Place(msgspec.Struct, frozen=True):
    """A target, and what passes signals on to the agents that are started there."""

    target: Target = LOCAL
    on_start: Callable[[Agent], None] = lambda agent: None

    def rehearsed(self, request: Request) -> Start:
        """What the agent there would begin with. Raises RtscopeError without the agent's name."""
        try:
            return rehearsed_on(self.target, request, on_start=self.on_start)
        except RtscopeError as error:
            said = str(error).removeprefix(f"rtscope-agent {request.probe}: ")
            raise RtscopeError(said) from None

    def run_of(self, machine: Machine) -> Callable[[Request], Run]:
        """How this machine is asked for a run."""
        return lambda request: measure(
            request, machine, self.on_start, lambda line: None, self.target
        )


def usable_cpus(wanted: str | None, place: Place) -> list[int]:
    """The CPUs that can be measured there, or those wanted of them. Raises RtscopeError."""
    start = place.rehearsed(Request(cpus=wanted))
    return sorted(thread.cpu for thread in start.threads if thread.cpu is not None)


def check_load(load: str) -> None:
    """Raise RtscopeError where this is not a load. Our own agent is asked: all know the same."""
    Place().rehearsed(Request(load=load))


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


def fitting_interval_ns(
    workloads: Mapping[str, Request], cpu: int, run_of: Callable[[Request], Run]
) -> int:
    """An interval that one thread's work fits into, for all workloads. Raises RtscopeError."""
    longest = 0.0
    for name, request in workloads.items():
        one = _placed(request, Placement((cpu,), 1), "idle", ())
        one = msgspec.structs.replace(one, samples=_CALIBRATION_PERIODS, duration_ns=None)
        longest = max(longest, median_ns(checked(run_of(one), name)))
    return (int(longest * _ROOM) // _INTERVAL_STEP_NS + 1) * _INTERVAL_STEP_NS


def every(slot: Slot, interval_ns: int) -> Slot:
    """The slot with this interval."""
    request = msgspec.structs.replace(slot.request, interval_ns=interval_ns)
    return msgspec.structs.replace(slot, request=request)


def begun(
    probe: str,
    machine: Machine,
    target: str,
    sweep: Swept,
    *,
    load: str = "idle",
    asked: Asked = Asked(),
    warnings: Sequence[RunWarning] = (),
) -> Run:
    """The record of a sweep, scale or interfere, of which nothing has been measured yet."""
    return Run(
        id=new_run_id(),
        created=datetime.now(UTC).isoformat(timespec="microseconds"),
        probe=probe,
        status="interrupted",
        load=load,
        machine=machine,
        threads=[],
        asked=asked,
        target=target,
        sweep=sweep,
        warnings=list(warnings),
    )


def swept(
    slots: Sequence[Slot],
    rounds: int,
    record: Run,
    run_of: Callable[[Request], Run],
    on_slot: Callable[[Slot], None] = lambda slot: None,
    is_over: Callable[[], bool] = lambda: False,
    on_round: Callable[[Run], object] = lambda run: None,
) -> Run:
    """Measure all slots `rounds` times; what is over before ends with the last whole round.

    What is over in the first round has the cells that were measured until then. `on_round` gets
    the record after each round but the last, as it would be if that had been the end. A load that
    cannot run is left out, and a workload that fails ends the sweep, each with a warning. Raises
    RtscopeError where nothing was measured.
    """
    start_s = time.monotonic()
    warnings = {(one.code, one.text): None for one in record.warnings}
    left = list(slots)
    taken: list[dict[Key, Run]] = []
    status: Status = "complete"

    def so_far(status: Status) -> Run:
        elapsed_ns = int((time.monotonic() - start_s) * 1e9)
        return _kept(record, left, taken, warnings, status, elapsed_ns)

    for number in range(rounds):
        order = random.Random(number).sample(left, len(left))  # noqa: S311 - an order
        this: dict[Key, Run] = {}
        try:
            whole = _round(order, left, run_of, on_slot, is_over, warnings, this, seed=number + 1)
            status = "complete" if whole else "interrupted"
        except RtscopeError as error:
            if not taken and not this:
                raise
            shown = "those before it are" if taken else "what was measured before that is"
            text = f"round {number + 1} failed, and {shown} shown: {error}"
            warnings["round-failed", text] = None
            status = "failed"
        if status != "complete":
            if not taken and this:
                left = [slot for slot in left if slot.key in this]
                taken.append(this)
            break
        taken.append(this)
        if number < rounds - 1:
            on_round(so_far("interrupted"))
    if not taken:
        raise RtscopeError("interrupted before anything was measured: there is nothing to say")
    return so_far(status)


def _round(
    order: Sequence[Slot],
    left: list[Slot],
    run_of: Callable[[Request], Run],
    on_slot: Callable[[Slot], None],
    is_over: Callable[[], bool],
    warnings: dict[tuple[str, str], None],
    this: dict[Key, Run],
    *,
    seed: int,
) -> bool:
    """Put a run of each slot into `this`; false where that was interrupted.

    `seed` is the number of the round: what loads and a machine of the lab leave to chance differs
    from round to round, as on a real one. What cannot run is no longer `left`. Raises RtscopeError
    where a workload fails, or a load that ran in the first round.
    """
    for slot in order:
        on_slot(slot)
        try:
            run = run_of(msgspec.structs.replace(slot.request, seed=seed))
        except RtscopeError as error:
            if is_over():
                return False
            if slot.load == "idle" or seed > 1:
                raise RtscopeError(f"{slot.name} could not be measured: {error}") from None
            left.remove(slot)
            text = f"{slot.load} is left out, for it cannot run here: {error}"
            warnings["load-left-out", text] = None
            continue
        if is_over() or run.status == "interrupted":
            return False
        this[slot.key] = checked(run, slot.name)
        warnings |= {(one.code, one.text): None for one in run.warnings}
    return True


def _kept(
    record: Run,
    slots: Sequence[Slot],
    taken: Sequence[Mapping[Key, Run]],
    warnings: Mapping[tuple[str, str], None],
    status: Status,
    elapsed_ns: int,
) -> Run:
    """The record with what was measured."""
    assert record.sweep is not None
    held = [[one[slot.key] for one in taken] for slot in slots]
    first = held[0][0]
    cells = [
        SweptCell(
            slot.workload,
            slot.placement,
            slot.load,
            [median_ns(run) for run in runs],
            _busy_cpus(runs),
        )
        for slot, runs in zip(slots, held, strict=True)
    ]
    options = {name: v for name, v in first.asked.options.items() if name not in _OF_A_CELL}
    if record.sweep.program:
        options["command"] = " ".join(record.sweep.program)
    return msgspec.structs.replace(
        record,
        status=status,
        threads=[
            _thread(number, slot.name, runs)
            for number, (slot, runs) in enumerate(zip(slots, held, strict=True))
        ],
        sweep=msgspec.structs.replace(record.sweep, rounds=len(taken), cells=cells),
        asked=msgspec.structs.replace(
            record.asked, options=options, interval_ns=first.asked.interval_ns or None
        ),
        elapsed_ns=elapsed_ns,
        warnings=[RunWarning(code, text) for code, text in warnings],
        agent_version=first.agent_version,
        lab=first.lab and msgspec.structs.replace(first.lab, instructions={}),
    )


def _busy_cpus(runs: Sequence[Run]) -> float | None:
    """CPU time over elapsed time of a program's runs (probe exec); None without CPU times."""
    threads = [run.threads[0] for run in runs]
    cpu_ns = [one.facts.get("cpu_ns") for one in threads]
    elapsed_ns = sum(one.count * (one.mean_ns or 0.0) for one in threads)
    if None in cpu_ns or not elapsed_ns:
        return None
    used_ns = sum(one.count * (ns or 0.0) for one, ns in zip(threads, cpu_ns, strict=True))
    return used_ns / elapsed_ns


def _thread(number: int, name: str, runs: Sequence[Run]) -> Thread:
    """The times of all rounds of a cell; each round is a window of them."""
    rounds = [run.threads[0] for run in runs]
    count = np.array([one.count for one in rounds], dtype=np.float64)
    means = np.array([one.mean_ns or 0.0 for one in rounds])
    variances = np.array([(one.stddev_ns or 0.0) ** 2 for one in rounds])
    mean = float((count * means).sum() / count.sum())
    variance = float((count * (variances + (means - mean) ** 2)).sum() / count.sum())
    maxima = [one.max_ns or 0 for one in rounds]
    ends = np.cumsum([run.elapsed_ns or 0 for run in runs])
    return Thread(
        thread=number,
        cpu=None,
        policy=rounds[0].policy,
        priority=rounds[0].priority,
        count=sum(one.count for one in rounds),
        histogram=merge([one.histogram for one in rounds]),
        min_ns=min(one.min_ns or 0 for one in rounds),
        max_ns=max(maxima),
        mean_ns=mean,
        stddev_ns=math.sqrt(variance),
        missed=sum(one.missed or 0 for one in rounds),
        name=name,
        windows=Windows(ends.tolist(), [one.count for one in rounds], means.tolist(), maxima),
    )


def checked(run: Run, name: str) -> Run:
    """The run, unless it has no samples. Raises RtscopeError that tells `name`."""
    if run.status == "interrupted":
        raise RtscopeError("interrupted before anything was measured")
    if run.status == "complete" and run.threads and run.threads[0].count:
        return run
    reason = next((one.text for one in run.warnings if one.code in _REASONS), "")
    reason = reason.removeprefix("thread 0 could not measure on: ")
    if _NOT_THERE in reason and run.target != "local":
        reason += f": copy it to {run.target} first, and give its path there"
    raise RtscopeError(f"{name} could not be measured: {reason or run.status}")


def median_ns(run: Run) -> float:
    """The median of the run's times; of few, the mean of the middle two."""
    return _median(run.threads[0].histogram)


def _median(histogram: Histogram) -> float:
    lower, last, count = as_arrays(histogram)
    reached = np.cumsum(count)
    middle = (lower + last) / 2
    ranks = (histogram.total - 1) // 2, histogram.total // 2
    return float(np.mean([middle[np.searchsorted(reached, rank, side="right")] for rank in ranks]))
