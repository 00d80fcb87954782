# SPDX-License-Identifier: GPL-2.0-only
"""From the kernel's trace around one late sample to a ledger, whose terms sum to the latency.

Each nanosecond from the deadline to the sample belongs to one term. Until the measuring thread is
woken, the CPU that wakes it decides; from then on, the CPU whose run queue it is in. Handlers come
before tasks: an interrupt within another task's time is a term of its own.
"""

from collections.abc import Sequence
from typing import Final

import msgspec
import numpy as np

from rtscope.explain.activity import SPINS, Doing, Moments, doings
from rtscope.explain.ftrace import Events
from rtscope.explain.remote import NameOf, Parties
from rtscope.explain.tracks import joined, tracks_of
from rtscope.model.timeline import Explanation, LedgerTerm, Remote, Stretch, TermKind

_SOURCE: Final = "the kernel's trace events"
_SILENT_NS: Final = 20_000
"""shorter silences of a CPU are ordinary work"""
_MOST_STRETCHES: Final = 1000
_HANDLERS: Final = frozenset({"hard-interrupt", "soft-interrupt", "nmi"})
_RUNNABLE: Final = frozenset({0, 0x100})
"""prev_state of a task that was preempted: TASK_RUNNING, or with the mark of its preemption"""


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


class _Piece(msgspec.Struct, frozen=True):
    start_ns: int
    end_ns: int
    cpu: int
    kind: TermKind
    name: str
    task: str
    function: str = ""
    remote: Remote | None = None


def ledger_of(
    late: LateThread,
    events: Events,
    lost: frozenset[int],
    name_of: NameOf = lambda address: "",
) -> Explanation:
    """Explain one sample; `lost` are the CPUs whose events within it are not complete."""
    begin, end = late.due_ns, late.due_ns + late.latency_ns
    moments = Moments(events)
    wake = _wake_up(late, events, begin, end)
    route = _route(late, events, wake, begin, end)
    notes: list[str] = []
    if missing := sorted(lost & {leg.cpu for leg in route}):
        notes.append(
            f"the kernel overwrote events of CPU {', '.join(map(str, missing))} within this "
            "sample: it is not explained"
        )
        pieces = [_Piece(begin, end, late.cpu, "unexplained", "", "")]
    else:
        pieces = _pieces(late, moments, wake, route, name_of)
        notes += _silences(pieces, events)
        if any(piece.kind == "unexplained" for piece in pieces):
            notes.append(
                "the trace lacks a task switch: the time since the event before it is unexplained"
            )
    before_ns, after_ns, tracks = tracks_of(moments, begin, end, {leg.cpu for leg in route})
    return Explanation(
        thread=late.thread,
        time_ns=late.time_ns,
        latency_ns=late.latency_ns,
        source=_SOURCE,
        tasks=_stretches([(piece, piece.task) for piece in pieces], begin),
        handlers=_stretches([(p, p.name) for p in pieces if p.kind in _HANDLERS], begin),
        notes=notes,
        ledger=_terms(pieces),
        task=events.task_name(late.tid) if late.tid > 0 else "",
        before_ns=before_ns,
        after_ns=after_ns,
        tracks=tracks,
    )


def _terms(pieces: Sequence[_Piece]) -> list[LedgerTerm]:
    """Sum the pieces by what they are; longest first."""
    totals: dict[tuple[TermKind, str, str, Remote | None], int] = {}
    cpus: dict[tuple[TermKind, str, str, Remote | None], set[int]] = {}
    for piece in pieces:
        key = (piece.kind, piece.name, piece.function, piece.remote)
        totals[key] = totals.get(key, 0) + piece.end_ns - piece.start_ns
        cpus.setdefault(key, set()).add(piece.cpu)
    terms = [
        LedgerTerm(kind, name, ns, sorted(cpus[kind, name, function, remote]), function, remote)
        for (kind, name, function, remote), ns in totals.items()
    ]
    return sorted(terms, key=lambda term: (-term.ns, term.kind, term.name))


class _Wake(msgspec.Struct, frozen=True):
    at_ns: int
    waker_cpu: int
    cpu: int
    """whose run queue it was put in"""
    priority: int


class _Leg(msgspec.Struct, frozen=True):
    """A part of the latency and the CPU that decided it."""

    start_ns: int
    end_ns: int
    cpu: int
    moved: bool = False
    """the thread came to this CPU by a migration"""


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
) -> list[_Leg]:
    """Return the CPUs that decide, in the order of time."""
    if wake is None:
        return [_Leg(begin, end, late.cpu)]
    route = [_Leg(begin, wake.at_ns, wake.waker_cpu)]
    at, cpu, moved = wake.at_ns, wake.cpu, False
    which = events.which("sched_migrate_task")
    mine = events.numbers("sched_migrate_task", "pid", which) == late.tid
    for index in which[mine]:
        time_ns = int(events.time_ns[index])
        if at <= time_ns <= end:
            route.append(_Leg(at, time_ns, cpu, moved))
            at, cpu, moved = time_ns, events.number(int(index), "dest_cpu"), True
    return [*route, _Leg(at, end, cpu, moved)]


def _pieces(
    late: LateThread,
    moments: Moments,
    wake: _Wake | None,
    route: Sequence[_Leg],
    name_of: NameOf,
) -> list[_Piece]:
    terms = _Terms(late, moments, wake, name_of, Parties(moments, name_of), {})
    found: list[_Piece] = []
    for leg in route:
        for doing in doings(moments, leg.cpu, leg.start_ns, leg.end_ns):
            found.append(terms.piece(doing, leg))
    waits = _sleeps(late, moments.events, terms.parties)
    if waits:
        found = [part for piece in found for part in _with_waits(piece, waits)]
    return [piece for piece in found if piece.end_ns > piece.start_ns]


class _Wait(msgspec.Struct, frozen=True):
    """The measuring thread slept for a lock."""

    start_ns: int
    end_ns: int
    holder: Remote | None


def _sleeps(late: LateThread, events: Events, parties: Parties) -> list[_Wait]:
    """From contention to the wake-up that ends it, where the measuring thread slept meanwhile."""
    begins = events.which("contention_begin")
    mine = begins[events.tids[begins] == late.tid]
    switches = events.which("sched_switch")
    out = switches[
        (events.numbers("sched_switch", "prev_pid", switches) == late.tid)
        & ~np.isin(events.numbers("sched_switch", "prev_state", switches), list(_RUNNABLE))
    ]
    wakings = events.which("sched_waking")
    woken = wakings[events.numbers("sched_waking", "pid", wakings) == late.tid]
    found = []
    for begin in mine.tolist():
        after = out[out > begin]
        up = woken[woken > after[0]] if len(after) else after
        if len(up) and not events.number(begin, "flags") & SPINS:
            start_ns, end_ns = int(events.time_ns[after[0]]), int(events.time_ns[up[0]])
            found.append(_Wait(start_ns, end_ns, parties.holder(-1, begin, end_ns)))
    return found


def _with_waits(piece: _Piece, waits: Sequence[_Wait]) -> list[_Piece]:
    """Cut the times at which the measuring thread slept for a lock out of a piece."""
    for wait in waits:
        start, end = max(piece.start_ns, wait.start_ns), min(piece.end_ns, wait.end_ns)
        if start < end:
            replace = msgspec.structs.replace
            before = replace(piece, end_ns=start)
            waits_here = _Piece(start, end, piece.cpu, "lock", "", piece.task, "", wait.holder)
            rest = _with_waits(replace(piece, start_ns=end), waits)
            return [before, waits_here, *rest]
    return [piece]


class _Terms(msgspec.Struct, frozen=True):
    """Finds the term of what a CPU did."""

    late: LateThread
    moments: Moments
    wake: _Wake | None
    name_of: NameOf
    parties: Parties
    known: dict[tuple[int, int], tuple[str, Remote | None]]
    """function and other party, by CPU and event"""

    def piece(self, doing: Doing, leg: _Leg) -> _Piece:
        """Return a stretch of the latency with its term."""
        events = self.moments.events
        task = events.task_name(doing.tid) if doing.tid >= 0 else ""
        kind, name = self._term(doing, task, leg)
        function, remote = "", None
        if kind in {"hard-interrupt", "lock"} or doing.work >= 0:
            function, remote = self._party(kind, doing, leg.cpu)
        elif kind == "timer-late" and doing.irqs_off >= 0:
            function = self._site(doing.irqs_off)
        elif kind == "preemption-off" and doing.preempt_off >= 0:
            function = self._site(doing.preempt_off)
        return _Piece(doing.start_ns, doing.end_ns, leg.cpu, kind, name, task, function, remote)

    def _site(self, event: int) -> str:
        """The function that disabled preemption or interrupts; empty if its name is unknown."""
        return self.name_of(self.moments.events.number(event, "caller_offs"))

    def _party(self, kind: TermKind, doing: Doing, cpu: int) -> tuple[str, Remote | None]:
        key = cpu, doing.event if kind in {"hard-interrupt", "lock"} else doing.work
        if key not in self.known:
            if kind == "hard-interrupt":
                self.known[key] = self.parties.sender(cpu, doing)
            elif kind == "lock":
                self.known[key] = "", self.parties.holder(cpu, doing.event, doing.end_ns)
            else:
                self.known[key] = self.parties.queuer(doing)
        return self.known[key]

    def _term(self, doing: Doing, task: str, leg: _Leg) -> tuple[TermKind, str]:
        match doing.context:
            case "nmi" | "hard-interrupt" | "soft-interrupt" as kind:
                return kind, doing.name
            case "lock":
                return "lock", "" if doing.tid == self.late.tid else task
            case "page-fault" if doing.tid == self.late.tid:
                return "page-fault", ""
        return self._term_of_task(doing, task, leg)

    def _term_of_task(self, doing: Doing, task: str, leg: _Leg) -> tuple[TermKind, str]:
        if doing.tid < 0 or doing.tid == self.late.tid:
            return ("own" if doing.tid == self.late.tid else "unexplained"), ""
        awake = self.wake is not None and doing.start_ns >= self.wake.at_ns
        if doing.tid == 0:
            idle = "" if doing.idle is None else f"idle state {doing.idle}"
            return (("migration" if leg.moved else "switch"), "") if awake else ("idle-exit", idle)
        if not awake or self.wake is None:
            return "timer-late", task
        return ("thread" if doing.priority <= self.wake.priority else "preemption-off"), task


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
    """Join neighbours of one name, of the first pieces; times since `begin`."""
    first = named[:_MOST_STRETCHES]
    return joined(((piece.start_ns, piece.end_ns, name) for piece, name in first), begin)
