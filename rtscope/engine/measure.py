# SPDX-License-Identifier: GPL-2.0-only
"""One measurement: request it from the agent and make a Run of the agent's lines."""

import re
from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta
from typing import Final, cast, get_args

import msgspec

from rtscope.engine.outside import seen_from_outside
from rtscope.engine.sofar import SoFar
from rtscope.engine.tuned import NOTES, ReceivedChanges, filled, tuning_of
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.progress import Progress
from rtscope.model.request import Request
from rtscope.model.run import (
    Asked,
    Exceedances,
    IdleStates,
    Lab,
    LoadWork,
    Matrix,
    Phase,
    Run,
    RunWarning,
    Sample,
    Status,
    Thread,
    Waiter,
)
from rtscope.model.tuning import Change
from rtscope.statistics.metrics import metrics_of_run
from rtscope.store.database import new_run_id
from rtscope.store.runfile import check_run
from rtscope.target import protocol
from rtscope.target.agent import Agent, Target
from rtscope.target.bounds import REPEAT_S, SETUP_S, Span
from rtscope.target.fingerprint import machine_of
from rtscope.target.local import LOCAL

_SILENCE_S = 90.0
_REPEATING = ("memory", "topology")
"""probes that end with a whole repeat, however short their duration"""
"""longer than the 60 s in which a load must start"""

_COMPLAINT: Final = re.compile(
    r"^(?:\[[^\]\n]*\] ?|\[ )?(?:\w+: )?"
    r"(?:BUG|WARNING|INFO|Oops|Internal error|Unable to handle)\b.*$"
    r"|^rtscope-agent: cannot .*$",
    re.MULTILINE,
)
"""beginnings of messages of the kernel or the agent about a fault"""
_UNFINISHED: Final = (
    "the measurement was still running when this was stored: a later record of the same run "
    "replaces it, unless rtscope was killed"
)
_MOST_WARNINGS: Final = 100
_MOST_LOADS: Final = 256
_MOST_MATRICES: Final = 64


def read_machine(
    target: Target = LOCAL, on_start: Callable[[Agent], None] = lambda agent: None
) -> Machine:
    """Return the fingerprint of the system under test. Raises RtscopeError."""
    return machine_of(target.machine_files(on_start))


class _Received(msgspec.Struct):
    """The lines received so far."""

    id: str = msgspec.field(default_factory=new_run_id)
    hello: protocol.Hello | None = None
    start: protocol.Start | None = None
    end: protocol.End | None = None
    so_far: SoFar = msgspec.field(default_factory=SoFar)
    warnings: dict[tuple[str, str], None] = {}
    """used as an ordered set"""
    threads: dict[int, protocol.ThreadResult] = {}
    histograms: dict[int, Histogram] = {}
    exceedances: dict[int, Exceedances] = {}
    matrices: list[Matrix] = []
    loads: list[LoadWork] = []
    changes: ReceivedChanges = msgspec.field(default_factory=ReceivedChanges)


def _receive(received: _Received, line: protocol.AnyLine) -> None:
    match line:
        case protocol.Hello():
            received.hello = line
        case protocol.AgentWarning():
            _take_warning(received, line)
        case protocol.Start():
            received.start = line
        case Change():
            received.changes.take(line, measured=received.start is not None)
        case Progress():
            received.so_far.take(line)
        case protocol.ThreadResult():
            received.threads[line.thread] = line
        case protocol.ThreadHistogram() | protocol.ThreadExceedances():
            _take_samples(received, line)
        case protocol.MatrixResult():
            received.matrices.append(_matrix(received, line))
        case protocol.LoadResult():
            if len(received.loads) == _MOST_LOADS:
                raise RtscopeError(f"the agent sent more than {_MOST_LOADS} loads")
            received.loads.append(
                LoadWork(line.name, line.strength, line.seed, line.seconds, line.work)
            )
        case protocol.End():
            received.end = line


def _take_samples(
    received: _Received, line: protocol.ThreadHistogram | protocol.ThreadExceedances
) -> None:
    try:
        if isinstance(line, protocol.ThreadHistogram):
            received.histograms[line.thread] = Histogram(line.lower_ns, line.width_ns, line.count)
        else:
            received.exceedances[line.thread] = Exceedances(
                line.above_ns, line.time_ns, line.latency_ns, line.dropped
            )
    except ValueError as error:
        kind = "a histogram" if isinstance(line, protocol.ThreadHistogram) else "exceedances"
        raise RtscopeError(f"the agent sent {kind} that cannot be: {error}") from error


def _matrix(received: _Received, line: protocol.MatrixResult) -> Matrix:
    if len(received.matrices) == _MOST_MATRICES:
        raise RtscopeError(f"the agent sent more than {_MOST_MATRICES} matrices")
    try:
        return Matrix(
            line.name,
            line.unit,
            line.rows,
            line.columns,
            line.value,
            line.low,
            line.high,
            line.repeats,
        )
    except ValueError as error:
        raise RtscopeError(f"the agent sent an impossible matrix: {error}") from error


def _take_warning(received: _Received, line: protocol.AgentWarning) -> None:
    if line.code in NOTES:
        received.changes.note(line.text)
    elif len(received.warnings) < _MOST_WARNINGS:
        received.warnings[line.code, line.text] = None
    else:
        received.warnings["more-warnings", "the agent warned of more than is kept here"] = None


def _thread(received: _Received, result: protocol.ThreadResult) -> Thread:
    histogram = received.histograms.get(result.thread, Histogram())
    if histogram.total != result.count:
        raise RtscopeError(
            f"the agent counted {result.count} samples in thread {result.thread} but its "
            f"histogram holds {histogram.total}"
        )
    return Thread(
        thread=result.thread,
        cpu=result.cpu,
        policy=result.policy,
        priority=result.priority,
        count=result.count,
        histogram=histogram,
        min_ns=result.min_ns,
        max_ns=result.max_ns,
        mean_ns=result.mean_ns,
        stddev_ns=result.stddev_ns,
        missed=result.missed,
        name=result.name,
        metrics={key: value for key, value in result.metrics.items() if value is not None},
        waiters=[Waiter(t.name, t.tid, t.priority, t.cpu, t.count) for t in result.takers],
        worst=[Sample(s.time_ns, s.latency_ns, s.cpu) for s in result.worst],
        windows=received.so_far.windows_of(result.thread),
        exceedances=received.exceedances.get(result.thread),
    )


def _machine_warnings(
    machine: Machine, elapsed_ns: int, threads: list[Thread], matrices: list[Matrix]
) -> list[RunWarning]:
    warnings = []
    if machine.virtualisation not in {None, "none"}:
        warnings.append(
            RunWarning(
                "virtualised",
                f"measured in a virtual machine ({machine.virtualisation}): its host decides when "
                "it runs, so the worst case is the host's as much as this kernel's",
            )
        )
    # A spinning thread without interference has no gap, but reports how long it measured.
    seen = any(thread.count or "observed_ns" in thread.metrics for thread in threads)
    if elapsed_ns and not seen and not matrices:
        warnings.append(RunWarning("no-samples", "no sample was taken: nothing was measured"))
    return warnings


def _record(request: Request, machine: Machine, received: _Received, failure: str | None) -> Run:
    start, end, progress = received.start, received.end, received.so_far.progress
    assert start is not None
    idle = start.idle_states
    elapsed_ns = end.time_ns if end else progress.time_ns if progress else 0
    status: Status = "failed"
    if end and end.status in get_args(Status):
        status = cast("Status", end.status)
    threads = (
        [_thread(received, received.threads[index]) for index in sorted(received.threads)]
        if end
        else received.so_far.threads(start)
    )
    warnings = [RunWarning(code, text) for code, text in received.warnings]
    silent = {thread.thread for thread in start.threads} - {thread.thread for thread in threads}
    if silent:
        numbers = ", ".join(map(str, sorted(silent)))
        warnings.append(
            RunWarning("threads-missing", f"the agent sent no results of threads {numbers} saw")
        )
    if failure:
        warnings.append(
            RunWarning(
                "agent-died",
                f"the run ended before its time: {failure}; what the agent sent until then is "
                "kept, its histograms in buckets of 3 %, without its worst samples and metrics",
            )
        )
    resolved = [
        high for high in (start.high_resolution, end and end.high_resolution) if high is not None
    ]
    machine = msgspec.structs.replace(
        machine,
        high_resolution_timers=all(resolved) if resolved else None,
        throttling=start.throttling,
    )
    return Run(
        id=received.id,
        created=_moment(start.utc_ns),
        probe=request.probe,
        status=status,
        load=request.load,
        machine=machine,
        threads=threads,
        asked=Asked(
            command=request.command,
            interval_ns=start.interval_ns,
            duration_ns=start.duration_ns or None,
            samples=start.samples or None,
            policy=start.policy,
            priority=start.priority,
            cpus=request.cpus,
            options=start.options,
            threshold_ns=request.threshold_ns,
            loads=[request.load],
            budget=request.budget,
        ),
        elapsed_ns=elapsed_ns,
        start_monotonic_ns=start.monotonic_ns,
        matrices=received.matrices,
        loads=received.loads if end else received.so_far.loads(start),
        phases=[Phase(one.name, one.from_ns, one.to_ns) for one in end.phases] if end else [],
        warnings=warnings + _machine_warnings(machine, elapsed_ns, threads, received.matrices),
        tuning=tuning_of(request.tuning, machine, received.changes),
        agent_version=received.hello.agent if received.hello else None,
        idle_states=IdleStates(idle.mode, idle.limit_ns, idle.effective_ns) if idle else None,
    )


def _so_far(request: Request, machine: Machine, received: _Received) -> Run | None:
    if received.start is None or received.so_far.progress is None:
        return None
    run = _record(request, machine, received, None)
    warnings = [RunWarning("unfinished", _UNFINISHED), *run.warnings]
    return msgspec.structs.replace(run, status="interrupted", warnings=warnings)


def receive_run(
    request: Request,
    machine: Machine,
    lines: Iterable[protocol.AnyLine],
    on_line: Callable[[protocol.AnyLine], None],
    on_so_far: Callable[[Callable[[], Run | None]], None] = lambda so_far: None,
) -> Run:
    """Make a Run of an agent's lines, and pass each line to `on_line`.

    After each line, `on_so_far` gets a function that returns the record so far, which has the id
    of the result; None before the first progress.

    An agent that dies once sampling has begun leaves a run with the status "failed". Raises
    RtscopeError where nothing was measured.
    """
    received = _Received()
    failure = None
    try:
        for line in lines:
            _receive(received, line)
            on_line(line)
            if received.end is None:
                on_so_far(lambda: _so_far(request, machine, received))
    except RtscopeError as error:
        if received.so_far.progress is None:
            raise
        failure = str(error)
        received.end = None
    if received.start is None:
        raise RtscopeError("the agent ended before it measured anything")
    try:
        run = _record(request, machine, received, failure)
        check_run(run)
    except RtscopeError as error:
        if received.so_far.progress is None or failure:
            raise RtscopeError(f"what the agent sent contradicts itself: {error}") from None
        received.end = None
        run = _record(request, machine, received, f"its result contradicts itself ({error})")
        check_run(run)
    return run


def _moment(utc_ns: int) -> str:
    """Return ISO 8601 with microseconds of nanoseconds since 1970."""
    moment = datetime(1970, 1, 1, tzinfo=UTC) + timedelta(microseconds=utc_ns // 1000)
    return moment.isoformat(timespec="microseconds")


def measure(
    request: Request,
    machine: Machine,
    on_start: Callable[[Agent], None],
    on_line: Callable[[protocol.AnyLine], None],
    target: Target = LOCAL,
    on_so_far: Callable[[Callable[[], Run | None]], None] = lambda so_far: None,
) -> Run:
    """Measure on `target`. `on_start` receives the agent, so that a signal can interrupt it."""
    interval_s = (request.interval_ns or 0) / 1e9
    begun = datetime.now(UTC).isoformat(timespec="seconds")
    asked = filled(request, machine)
    with (
        seen_from_outside(request, target, on_start) as (place, with_metrics),
        place.started_agent(asked) as agent,
    ):
        on_start(agent)
        span = Span(
            SETUP_S,
            request.duration_ns / 1e9 if request.duration_ns else None,
            REPEAT_S if request.probe in _REPEATING else 0.0,
        )
        lines = agent.lines(_SILENCE_S + 2 * interval_s, span)
        run = receive_run(request, machine, lines, on_line, on_so_far)
        run = with_metrics(msgspec.structs.replace(run, target=target.name))
        lab = agent.lab()
        return in_lab(run, lab, begun) if lab else run


def instructions(run: Run, lab: Lab) -> dict[str, float]:
    """Return min, mean and max of all threads in instructions; empty where they are not counted."""
    if lab.mips is None:
        return {}
    known = metrics_of_run(run)
    figures_ns = {"min": known.min_ns, "mean": known.mean_ns, "max": known.max_ns}
    return {
        name: round(ns * lab.mips / 1000, 1) for name, ns in figures_ns.items() if ns is not None
    }


def in_lab(run: Run, lab: Lab, begun: str) -> Run:
    """Return the run of a VM with the host's date and the limits of its clock as warnings."""
    if lab.mode == "exact":
        text = (
            f"measured in the lab at {lab.mips:g} million instructions a second: time is the "
            "number of instructions executed, without caches, buses and firmware, and promises "
            "nothing about a board"
        )
        code = "counts-instructions"
    else:
        text = (
            "measured in the lab without counting instructions: it shows what runs where, and its "
            "times are the host's, not those of a kernel or a board"
        )
        code = "functional-only"
    warnings = [RunWarning(code, text)]
    if lab.mode == "exact" and lab.cpus > 1:
        turns = "the CPUs take turns on one thread, and the turns appear as latency"
        warnings.append(RunWarning("cpus-take-turns", turns))
    if lab.command[0] == "qemu-system-riscv64":
        coarse = "the clock of the riscv64 board ticks every 100 ns: no time here is finer"
        warnings.append(RunWarning("coarse-clock", coarse))
    if complaint := _COMPLAINT.search(lab.console):
        said = f'the guest\'s console has "{complaint[0].strip()}": the record keeps all of it'
        warnings.append(RunWarning("guest-complained", said))
    others = [warning for warning in run.warnings if warning.code != "virtualised"]
    lab = msgspec.structs.replace(lab, instructions=instructions(run, lab))
    return msgspec.structs.replace(run, created=begun, warnings=warnings + others, lab=lab)
