# SPDX-License-Identifier: GPL-2.0-only
"""The code that ran between a deadline and the sample: one timeline for every trace source."""

from typing import Annotated, Literal

import msgspec

from rtscope.model.units import LONGEST_NS

Ns = Annotated[int, msgspec.Meta(ge=0, le=LONGEST_NS)]


class Call(msgspec.Struct, frozen=True):
    """One call of a function, or the rest of a call that began before the deadline."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    """including its callees"""
    depth: Annotated[int, msgspec.Meta(ge=0, le=10_000)]
    """0 if the caller is unknown"""
    function: str


class Stretch(msgspec.Struct, frozen=True):
    """A time span in which a condition held; `name` is the condition where the list has several."""

    start_ns: Ns
    """since the deadline"""
    ns: Ns
    name: str = ""


class FunctionTime(msgspec.Struct, frozen=True):
    """Time of one function without its callees."""

    function: str
    ns: Ns


TermKind = Literal[
    "timer-late",
    "idle-exit",
    "hard-interrupt",
    "soft-interrupt",
    "nmi",
    "thread",
    "preemption-off",
    "lock",
    "migration",
    "page-fault",
    "switch",
    "own",
    "unexplained",
]
"""What the CPU did while the sample became late:

timer-late: another task ran, and no interrupt came: interrupts were off, or the timer or a
hypervisor was late; idle-exit: the CPU was idle beyond the deadline; hard-interrupt,
soft-interrupt, nmi: a handler ran; thread: a thread of higher or equal priority ran;
preemption-off: a thread of lower priority went on although the measuring thread was awake;
lock: the CPU spun for a lock, or the measuring thread slept for one; migration: from the kernel's
decision to move the measuring thread to an idle CPU to its switch there; page-fault: the measuring
thread was in a page fault, at most; switch: from the idle task to the measuring thread; own: the
measuring thread itself was on the CPU; unexplained: the trace does not say."""


class Remote(msgspec.Struct, frozen=True):
    """Another task's part in a term: it sent the interrupt, queued the work or holds the lock."""

    task: str
    """as name/pid"""
    cpu: int | None = None
    """where it ran then; None: unknown"""
    site: str = ""
    """function that did it, or its address; empty: not recorded"""
    certain: bool = True
    """False: inferred from what ran, not recorded"""


class LedgerTerm(msgspec.Struct, frozen=True):
    """A part of one latency."""

    kind: TermKind
    name: str
    """handler, thread or idle state; for a lock the task that waits; empty if the kind has none"""
    ns: Ns
    cpus: list[int] = []
    """where it passed"""
    function: str = ""
    """the work item that the thread executed, or what disabled interrupts or preemption, or for a
    call from another CPU the function that it called; empty: not recorded"""
    remote: Remote | None = None


class CpuTrack(msgspec.Struct, frozen=True):
    """What one CPU did around a sample; times are since the track's start."""

    cpu: int
    tasks: list[Stretch]
    handlers: list[Stretch] = []


class Explanation(msgspec.Struct, frozen=True):
    """The cause of one late sample. Lists are in chronological order."""

    thread: int
    """the measuring thread's index"""
    time_ns: Ns
    """the deadline, since the run's start"""
    latency_ns: Ns
    source: str = msgspec.field(name="witness")
    """trace source, in words"""
    cause: list[Call] = []
    """call chain with most of the time: the longest outermost call, its longest callee, and so on;
    empty if no call took a substantial part of the latency"""
    calls: list[Call] = []
    """the longest calls with their callers"""
    functions: list[FunctionTime] = []
    """all functions, longest first; their sum is latency_ns"""
    tasks: list[Stretch] | None = None
    """tasks on the CPU, as name/pid; None: unknown"""
    handlers: list[Stretch] | None = None
    """interrupt handlers, by name; None: unknown"""
    interrupts_off: list[Stretch] | None = None
    preemption_off: list[Stretch] | None = None
    notes: list[str] = []
    """limitations, as sentences"""
    ledger: list[LedgerTerm] = []
    """longest first; their sum is latency_ns; empty if the trace source is the emulator's plugin"""
    task: str = ""
    """the measuring thread as name/pid, as in the tracks; empty: unknown"""
    before_ns: Ns = 0
    """from the start of the tracks to the deadline"""
    after_ns: Ns = 0
    """from the sample to the end of the tracks"""
    tracks: list[CpuTrack] = []
    """the CPUs that the sample depended on, and those that were busiest"""
