# SPDX-License-Identifier: GPL-2.0-only
"""Placement series: work on more and more CPUs (scale), or with each load (interfere)."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final

import msgspec

from rtscope.engine.dryrun import dry_run, dry_run_on
from rtscope.engine.rounds import Progress, RunOf, Slot, begun, checked, measure_rounds, median_ns
from rtscope.model.cpulist import format_cpu_list, parse_cpu_list
from rtscope.model.errors import OptionsRefusedError, RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.placements import each_alone, kinds_of, orders_of, pairs_of, thread_counts
from rtscope.model.plan import THREADS, PlacementSeries
from rtscope.model.request import Request
from rtscope.model.run import Asked, Run, RunWarning
from rtscope.model.scaling import Placement, SeriesRecord
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import Start

AGGRESSORS: Final = (
    *("cpu", "memory", "cache", "files", "disk"),
    *("network", "process", "ipc", "video", "timers"),
)
"""default loads of interfere"""
_FORMS: Final = ("scalar", "vector")
_CALIBRATION_PERIODS: Final = 20
_ROOM: Final = 2.5
"""ratio of an interval to the time of one thread"""
_INTERVAL_STEP_NS: Final = 100_000

OnStart = Callable[[Agent], None]


def check_placements(series: PlacementSeries, target: Target) -> None:
    """Refuse a series that the target or the agent would refuse. Raises RtscopeError."""
    if series.program and not target.capabilities.user_programs:
        raise RtscopeError(
            f"{target.name} cannot run your program: measure the reference algorithm there, or "
            "your program on a board over ssh"
        )
    _thread_counts(series.threads)
    for load in series.loads:
        _without_name(Request(load=load), dry_run)
    if not series.program:
        form = "vector" if series.forms == ["vector"] else "scalar"
        try:
            _without_name(_of_algorithm(series, form), dry_run)
        except OptionsRefusedError as error:
            if "form" not in error.options:
                raise


def _thread_counts(text: str | None) -> list[int]:
    return [count for count in parse_cpu_list(text) if count] if text else []


def _without_name(request: Request, ask: Callable[[Request], Start]) -> Start:
    """Return the start line of a dry run. Raises RtscopeError without the agent's name."""
    try:
        return ask(request)
    except OptionsRefusedError as error:
        raise OptionsRefusedError(error.reason, error.options, error.reason) from None
    except RtscopeError as error:
        said = str(error).removeprefix(f"rtscope-agent {request.probe}: ")
        raise RtscopeError(said) from None


class Machinery(msgspec.Struct, frozen=True):
    """The system to measure, and how to request runs there."""

    machine: Machine
    target: Target
    on_start: OnStart
    run_of: RunOf

    def begins(self, request: Request) -> Start:
        """Return the start line of a dry run there. Raises RtscopeError."""
        return _without_name(
            request, lambda one: dry_run_on(self.target, one, on_start=self.on_start)
        )

    def usable_cpus(self, wanted: str | None) -> list[int]:
        """Return the CPUs that can be measured; `wanted` restricts them. Raises RtscopeError."""
        start = self.begins(Request(cpus=wanted))
        return sorted(thread.cpu for thread in start.threads if thread.cpu is not None)


def measure_placements(
    series: PlacementSeries,
    where: Machinery,
    command: list[str],
    progress: Progress = Progress(),
    earlier: Run | None = None,
) -> Run:
    """Measure a placement series; `earlier` is its record with the rounds that are done.

    Raises RtscopeError where nothing was measured.
    """
    warnings: list[RunWarning] = []
    workloads = _workloads_of(series, where, warnings)
    usable = where.usable_cpus(series.cpus if series.kind == "scale" else None)
    if series.kind == "scale":
        slots, record = _scale(series, workloads, usable, where, command)
    else:
        slots, record = _interfere(series, workloads, usable, where, command)
    record = msgspec.structs.replace(record, warnings=[*record.warnings, *warnings])
    if earlier and _goes_on(earlier, slots):
        record = earlier
        held = {(one.workload, one.placement, one.load) for one in earlier.placement_series.cells}  # type: ignore[union-attr]
        slots = [slot for slot in slots if slot.key in held]
    else:
        earlier = None
    if not series.program:
        interval_ns = (earlier and earlier.asked.interval_ns) or fitting_interval_ns(
            workloads, slots[0].placement.cpus[0], where.run_of
        )
        slots = [every(slot, interval_ns) for slot in slots]
    return measure_rounds(slots, series.rounds, record, where.run_of, progress, earlier)


def _goes_on(earlier: Run, slots: Sequence[Slot]) -> bool:
    """Return whether more rounds of these slots can be added to a record."""
    if earlier.placement_series is None or not earlier.placement_series.whole:
        return False
    held = {(one.workload, one.placement, one.load) for one in earlier.placement_series.cells}
    return held <= {slot.key for slot in slots}


def _scale(
    series: PlacementSeries,
    workloads: Mapping[str, Request],
    usable: Sequence[int],
    where: Machinery,
    command: list[str],
) -> tuple[list[Slot], Run]:
    counts = sorted({1, *(_thread_counts(series.threads) or thread_counts(len(usable)))})
    orders = orders_of(where.machine, usable, counts)
    pairs = pairs_of(where.machine, usable) if 2 in counts else []
    placed = [one for order in orders for one in order.placements]
    placed += [pair.placement for pair in pairs]
    alone = kinds_of if series.program else each_alone
    placed += alone(where.machine, usable)
    record = begun(
        "scale",
        where.machine,
        where.target.name,
        SeriesRecord(program=series.program, orders=orders, pairs=pairs),
        asked=Asked(command=command, cpus=series.cpus, loads=["idle"]),
    )
    return slots_of(workloads, list(dict.fromkeys(placed))), record


def _interfere(
    series: PlacementSeries,
    workloads: Mapping[str, Request],
    usable: Sequence[int],
    where: Machinery,
    command: list[str],
) -> tuple[list[Slot], Run]:
    victims = where.usable_cpus(series.cpus) if series.cpus else list(usable[-1:])
    others = [cpu for cpu in usable if cpu not in victims]
    aggressors = where.usable_cpus(series.load_cpus) if series.load_cpus else others or victims
    loads = list(dict.fromkeys(series.loads or AGGRESSORS))
    placements = [Placement(tuple(victims), len(victims))]
    text = "the loads ran on the measured CPUs too: they took time of these CPUs themselves"
    beside = not set(aggressors) & set(victims)
    record = begun(
        "interfere",
        where.machine,
        where.target.name,
        SeriesRecord(program=series.program, load_cpus=aggressors),
        load=", ".join(loads),
        asked=Asked(command=command, cpus=series.cpus, loads=["idle", *loads]),
        warnings=[] if beside else [RunWarning("loads-not-beside", text)],
    )
    return slots_of(workloads, placements, ["idle", *loads], aggressors), record


def _of_algorithm(series: PlacementSeries, form: str) -> Request:
    parallel = None if series.parallel is None else str(series.parallel)
    options = {"form": form, "table": series.table, "parallel": parallel}
    return Request(
        probe="scaling",
        duration_ns=int(series.duration),
        options={name: value for name, value in options.items() if value is not None},
        worst=0,
    )


def _workloads_of(
    series: PlacementSeries, where: Machinery, warnings: list[RunWarning]
) -> dict[str, Request]:
    """Return the requests by workload, without their CPUs. Raises RtscopeError."""
    if series.program:
        request = Request(probe="exec", samples=1, program=list(series.program), worst=0)
        return {series.program[0]: request}
    requests = {form: _of_algorithm(series, form) for form in series.forms or _FORMS}
    found: dict[str, Request] = {}
    for form, request in requests.items():
        try:
            where.begins(request)
            found[form] = request
        except OptionsRefusedError as error:
            if series.forms or form != "vector" or "form" not in error.options:
                raise
            text = "the CPU has no vector unit that the agent can use: only scalar was measured"
            warnings.append(RunWarning("no-vector-unit", text))
    return found


def slots_of(
    workloads: Mapping[str, Request],
    placements: Sequence[Placement],
    loads: Sequence[str] = ("idle",),
    load_cpus: Sequence[int] = (),
) -> list[Slot]:
    """Return each workload at each placement with each load."""
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
        program=[word.replace(THREADS, threads) for word in request.program],
    )
    if request.program:
        return request
    return msgspec.structs.replace(request, options=request.options | {"threads": threads})


def fitting_interval_ns(
    workloads: Mapping[str, Request], cpu: int, run_of: Callable[[Request], Run]
) -> int:
    """Return an interval that is long enough for the work of one thread. Raises RtscopeError."""
    longest = 0.0
    for name, request in workloads.items():
        one = _placed(request, Placement((cpu,), 1), "idle", ())
        one = msgspec.structs.replace(one, samples=_CALIBRATION_PERIODS, duration_ns=None)
        longest = max(longest, median_ns(checked(run_of(one), name)))
    return (int(longest * _ROOM) // _INTERVAL_STEP_NS + 1) * _INTERVAL_STEP_NS


def every(slot: Slot, interval_ns: int) -> Slot:
    """Return the slot with this interval."""
    request = msgspec.structs.replace(slot.request, interval_ns=interval_ns)
    return msgspec.structs.replace(slot, request=request)
