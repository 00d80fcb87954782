# SPDX-License-Identifier: GPL-2.0-only
"""From the kernel's trace around one late sample to a ledger, whose terms sum to the latency.

Each nanosecond from the deadline to the sample belongs to one term. Until the measuring thread is
woken, the CPU that wakes it decides; from then on, the CPU whose run queue it is in. Handlers come
before tasks: an interrupt within another task's time is a term of its own.
"""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.explain.ftrace import Events
from rtscope.model.timeline import Explanation, LedgerTerm, Stretch, TermKind

_SOURCE: Final = "the kernel's trace events"
_IDLE: Final = 0xFFFFFFFF
"""state of cpu_idle at its end"""
_SOFTIRQS: Final = (
    *("HI", "TIMER", "NET_TX", "NET_RX", "BLOCK"),
    *("IRQ_POLL", "TASKLET", "SCHED", "HRTIMER", "RCU"),
)
_SILENT_NS: Final = 20_000
"""shorter silences of a CPU are ordinary work"""
_MOST_STRETCHES: Final = 1000
_HANDLERS: Final = frozenset({"hard-interrupt", "soft-interrupt", "nmi"})


class LateThread(msgspec.Struct, frozen=True):
    """The sample that is to be explained. Times are on CLOCK_MONOTONIC."""

    thread: int
    time_ns: int
    """the deadline, since the run's start"""
    due_ns: int
    """the deadline"""
    latency_ns: int
    tid: int
    cpu: int
    """where the sample was taken"""


class _State(msgspec.Struct):
    """What one CPU does."""

    task: str = ""
    """empty: unknown"""
    tid: int = -1
    priority: int = 120
    """the kernel's: the lower, the more urgent"""
    idle: int | None = None
    """the idle state; None: none"""
    interrupts: list[str] = []
    softirqs: dict[int, list[str]] = {}
    """by task: on PREEMPT_RT a task that serves one is preempted like any other"""
    nmi: bool = False


class _Piece(msgspec.Struct, frozen=True):
    start_ns: int
    end_ns: int
    kind: TermKind
    name: str
    task: str


def ledger_of(late: LateThread, events: Events, lost: frozenset[int]) -> Explanation:
    """Explain one sample; `lost` are the CPUs whose events within it are not complete."""
    begin, end = late.due_ns, late.due_ns + late.latency_ns
    wake = _wake_up(late, events, begin, end)
    notes: list[str] = []
    pieces = _pieces(late, events, wake, begin, end)
    cpus = {cpu for _, _, cpu in _route(late, events, wake, begin, end)}
    if missing := sorted(lost & cpus):
        notes.append(
            f"the kernel overwrote events of CPU {', '.join(map(str, missing))} within this "
            "sample: it is not explained"
        )
        pieces = [_Piece(begin, end, "unexplained", "", "")]
    else:
        notes += _silences(pieces, events)
        if any(piece.kind == "unexplained" for piece in pieces):
            notes.append(
                "the trace lacks a task switch: the time since the event before it is unexplained"
            )
    pieces = [piece for piece in pieces if piece.end_ns > piece.start_ns]
    totals: dict[tuple[TermKind, str], int] = {}
    for piece in pieces:
        key = (piece.kind, piece.name)
        totals[key] = totals.get(key, 0) + piece.end_ns - piece.start_ns
    terms = [LedgerTerm(kind, name, ns) for (kind, name), ns in totals.items()]
    return Explanation(
        thread=late.thread,
        time_ns=late.time_ns,
        latency_ns=late.latency_ns,
        source=_SOURCE,
        tasks=_stretches([(piece, piece.task) for piece in pieces], begin),
        handlers=_stretches([(p, p.name) for p in pieces if p.kind in _HANDLERS], begin),
        notes=notes,
        ledger=sorted(terms, key=lambda term: (-term.ns, term.kind, term.name)),
    )


class _Wake(msgspec.Struct, frozen=True):
    at_ns: int
    waker_cpu: int
    cpu: int
    """whose run queue it was put in"""
    priority: int


def _wake_up(late: LateThread, events: Events, begin: int, end: int) -> _Wake | None:
    """The last wake-up of the thread within the sample; None: it was not asleep, or not seen."""
    which = events.which("sched_waking")
    time_ns = events.time_ns[which]
    mine = (events.numbers("sched_waking", "pid", which) == late.tid) & (
        (time_ns >= begin) & (time_ns <= end)
    )
    if not mine.any():
        return None
    index = int(which[np.flatnonzero(mine)[-1]])
    return _Wake(
        int(events.time_ns[index]),
        int(events.cpu[index]),
        events.number(index, "target_cpu"),
        events.number(index, "prio"),
    )


def _route(
    late: LateThread, events: Events, wake: _Wake | None, begin: int, end: int
) -> list[tuple[int, int, int]]:
    """Return the CPUs that decide, as from, to, CPU."""
    if wake is None:
        return [(begin, end, late.cpu)]
    route = [(begin, wake.at_ns, wake.waker_cpu)]
    at, cpu = wake.at_ns, wake.cpu
    which = events.which("sched_migrate_task")
    moved = events.numbers("sched_migrate_task", "pid", which) == late.tid
    for index in which[moved]:
        time_ns = int(events.time_ns[index])
        if at <= time_ns <= end:
            route.append((at, time_ns, cpu))
            at, cpu = time_ns, events.number(int(index), "dest_cpu")
    return [*route, (at, end, cpu)]


def _pieces(
    late: LateThread, events: Events, wake: _Wake | None, begin: int, end: int
) -> list[_Piece]:
    found: list[_Piece] = []
    for start, stop, cpu in _route(late, events, wake, begin, end):
        for piece_start, piece_end, state in _states(events, cpu, start, stop):
            awake = wake is not None and piece_start >= wake.at_ns
            kind, name = _term(state, late, wake, awake=awake)
            found.append(_Piece(piece_start, piece_end, kind, name, state.task))
    return found


def _handler(state: _State) -> tuple[TermKind, str] | None:
    if state.nmi:
        return "nmi", ""
    if state.interrupts:
        return "hard-interrupt", state.interrupts[-1]
    served = state.softirqs.get(state.tid)
    return ("soft-interrupt", served[-1]) if served else None


def _term(
    state: _State, late: LateThread, wake: _Wake | None, *, awake: bool
) -> tuple[TermKind, str]:
    if handler := _handler(state):
        return handler
    if state.tid < 0 or state.tid == late.tid:
        return ("own" if state.tid == late.tid else "unexplained"), ""
    if state.tid == 0:
        idle = "" if state.idle is None else f"idle state {state.idle}"
        return ("switch", "") if awake else ("idle-exit", idle)
    if not awake or wake is None:
        return "timer-late", state.task
    return ("thread" if state.priority <= wake.priority else "preemption-off"), state.task


def _states(events: Events, cpu: int, start: int, stop: int) -> Iterator[tuple[int, int, _State]]:
    """Yield what this CPU did from `start` to `stop`, between two of its events each time.

    Each event names the task that was on the CPU. Where that is not the one that the switches say,
    the kernel did not record a switch, and the time since the event before is unknown. The event of
    an NMI comes at its end and contains its length.
    """
    which = np.flatnonzero(events.cpu == cpu)
    state = _first_state(events, which)
    at = start
    for number in which:
        index = int(number)
        time_ns, tid = int(events.time_ns[index]), events.number(index, "common_pid")
        shown = _copy(state) if tid == state.tid else _State()
        begun = time_ns - max(events.number(index, "delta_ns"), 0)
        for until, one in (
            (begun, shown),
            (time_ns, msgspec.structs.replace(shown, nmi=begun < time_ns)),
        ):
            if (end := min(until, stop)) > at:
                yield at, end, one
                at = end
        if time_ns >= stop:
            return
        if tid != state.tid:
            state.tid, (state.task, state.priority) = tid, _task_of(events, tid)
        _step(state, events, index)
    if at < stop:
        yield at, stop, _State()


def _copy(state: _State) -> _State:
    return msgspec.structs.replace(
        state,
        interrupts=[*state.interrupts],
        softirqs={tid: [*names] for tid, names in state.softirqs.items()},
    )


def _first_state(events: Events, which: NDArray[np.int64]) -> _State:
    """Return the state before the first event, from what the events say of it."""
    state = _State()
    if not len(which):
        return state
    state.tid = events.number(int(which[0]), "common_pid")
    state.task, state.priority = _task_of(events, state.tid)
    for number in which:
        if found := _interrupt(events, int(number)):
            state.interrupts = [] if found[1] else [found[0]]
            break
    return state


def _interrupt(events: Events, index: int) -> tuple[str, bool] | None:
    """The name of a hard interrupt, and whether it begins; None for other events."""
    name = events.name(index)
    if name == "irq_handler_entry":
        return events.text(index, "name") or "?", True
    if name == "irq_handler_exit":
        return f"irq {events.number(index, 'irq')}", False
    if name.endswith("_entry") and _is_vector(name):
        return name.removesuffix("_entry") + _sender(events, index), True
    if name.endswith("_exit") and _is_vector(name):
        return name.removesuffix("_exit"), False
    return None


_SENT: Final = frozenset({"call_function_single", "reschedule", "irq_work"})
"""interrupts that a CPU sends to another"""
_SENT_WITHIN_NS: Final = 10_000_000


def _sender(events: Events, index: int) -> str:
    """The task that sent this interrupt from another CPU, in words; empty if it is not known."""
    name = events.name(index).removesuffix("_entry")
    if name not in _SENT:
        return ""
    sends = events.which("ipi_send_cpu")
    to_here = events.numbers("ipi_send_cpu", "cpu", sends) == events.cpu[index]
    times = events.time_ns[sends]
    before = to_here & (times <= events.time_ns[index])
    recent = before & (times >= events.time_ns[index] - _SENT_WITHIN_NS)
    if not recent.any():
        return ""
    sent = int(sends[np.flatnonzero(recent)[-1]])
    tid = events.number(sent, "common_pid")
    return f" sent by {_task_of(events, tid)[0]} on CPU {events.cpu[sent]}"


_NO_VECTORS: Final = ("softirq_", "csd_", "hrtimer_", "timer_expire_", "irq_handler_", "ipi_")


def _is_vector(name: str) -> bool:
    return not name.startswith(_NO_VECTORS) or name in {"ipi_entry", "ipi_exit"}


def _step(state: _State, events: Events, index: int) -> None:
    """Let one event of the CPU happen."""
    name = events.name(index)
    if name == "sched_switch":
        state.tid = events.number(index, "next_pid")
        state.task = _task(events.text(index, "next_comm"), state.tid)
        state.priority = events.number(index, "next_prio")
        state.interrupts.clear()  # no switch happens within one
    elif name == "cpu_idle":
        number = events.number(index, "state") & _IDLE
        state.idle = None if number == _IDLE else number
    elif name == "softirq_entry":
        state.softirqs.setdefault(state.tid, []).append(_softirq(events.number(index, "vec")))
    elif name == "softirq_exit":
        if served := state.softirqs.get(state.tid):
            served.pop()
    elif found := _interrupt(events, index):
        if found[1]:
            state.interrupts.append(found[0])
        elif state.interrupts:
            state.interrupts.pop()


def _softirq(number: int) -> str:
    return _SOFTIRQS[number] if 0 <= number < len(_SOFTIRQS) else f"vector {number}"


def _task_of(events: Events, tid: int) -> tuple[str, int]:
    """The name and the priority of a task."""
    name, priority = events.tasks.get(tid, ("task", 120))
    return _task(name, tid), priority


def _task(name: str, tid: int) -> str:
    return "idle" if tid == 0 else f"{name}/{tid}"


def _silences(pieces: list[_Piece], events: Events) -> list[str]:
    """Notes about the time before the wake-up in which a CPU recorded nothing."""
    quiet = [
        piece
        for piece in pieces
        if piece.kind in {"timer-late", "idle-exit", "own"}
        and piece.end_ns - piece.start_ns >= _SILENT_NS
    ]
    if not quiet:
        return []
    longest = max(quiet, key=lambda piece: piece.end_ns - piece.start_ns)
    us = (longest.end_ns - longest.start_ns) / 1000
    inside = (events.time_ns > longest.start_ns) & (events.time_ns < longest.end_ns)
    if len(np.unique(events.cpu)) > 1 and not inside.any():
        return [
            f"no CPU recorded an event for {us:.1f} us: suspected hardware, firmware or hypervisor"
        ]
    if longest.kind == "idle-exit":
        return [
            f"the CPU stayed idle for {us:.1f} us beyond the deadline: its timer, its idle state "
            "or a hypervisor was late"
        ]
    return []


def _stretches(named: list[tuple[_Piece, str]], begin: int) -> list[Stretch]:
    """Join neighbours of one name."""
    found: list[Stretch] = []
    for piece, name in named[:_MOST_STRETCHES]:
        start, ns = piece.start_ns - begin, piece.end_ns - piece.start_ns
        last = found[-1] if found else None
        if last and last.name == name and last.start_ns + last.ns == start:
            found[-1] = Stretch(last.start_ns, last.ns + ns, name)
        else:
            found.append(Stretch(start, ns, name))
    return found
