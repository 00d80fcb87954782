# SPDX-License-Identifier: GPL-2.0-only
"""From executed instructions to the timeline of one late answer."""

import struct
from collections.abc import Callable
from typing import Final

import msgspec
import numpy as np
from numpy.typing import NDArray

from rtscope.explain.calls import Piece, Step, calls_of
from rtscope.explain.recording import (
    HALTS,
    INTERRUPTS_KNOWN,
    INTERRUPTS_OFF,
    PREEMPT_KNOWN,
    READS_CLOCK,
    Recording,
)
from rtscope.explain.symbols import Symbols
from rtscope.model.timeline import Call, Explanation, FunctionTime, Stretch

ASLEEP: Final = "(the CPU slept)"
BEFORE: Final = "(longer ago than was kept)"
_SOURCE: Final = "the emulator's plugin, which the guest does not notice"
_MOST_CALLS: Final = 400
_MOST_STRETCHES: Final = 1000
_COUNT: Final = 0x7FFFFFFF
"""of preempt_count, without x86's mark that nobody wants to preempt"""
_NAME_SIZE: Final = 16
_USER: Final = np.uint64(1 << 63)
_DELAYS: Final = frozenset(
    {
        *("delay_tsc", "delay_loop", "delay_halt", "delay_halt_tpause", "delay_halt_mwaitx"),
        *(
            "__delay",
            "__delay_cycles",
            "__const_udelay",
            "__udelay",
            "__ndelay",
            "udelay",
            "ndelay",
        ),
    }
)
"""the kernel's busy waiting, whose time is its caller's"""
_IN_DELAYS: Final = frozenset(
    {
        *("preempt_count_add", "preempt_count_sub", "in_lock_functions"),
        *("trace_preempt_on", "trace_preempt_off", "tracer_preempt_on", "tracer_preempt_off"),
    }
)
"""functions that busy waiting calls in each turn of its loop; anything else interrupted it"""


class Late(msgspec.Struct, frozen=True):
    """The sample that is to be explained."""

    thread: int
    time_ns: int
    latency_ns: int
    task: str
    """the measuring thread's name in the kernel"""
    tid: int
    pid: int
    """of its process"""


def explanation(
    late: Late, seen: Recording, symbols: Symbols, ns_per_instruction: int
) -> Explanation:
    """The timeline of one sample: the last `latency_ns` before its thread read the clock.

    Virtual time passes by instructions, but for a sleep of the CPU: what is missing to the whole
    latency before the last wake-up is that, or was longer ago than the ring of the plugin keeps.
    """
    notes: list[str] = []
    entries = seen.entries
    ends = np.append(entries["before"][1:], np.uint64(seen.instructions))
    last = _clock_reading(entries, notes)
    end = int(ends[last])
    begin = end - late.latency_ns // ns_per_instruction
    first = int(np.searchsorted(ends[: last + 1], max(begin, 0), side="right"))
    slept = np.flatnonzero(entries["flags"][first:last] & HALTS)
    gap = ""
    if len(slept):
        first += int(slept[-1]) + 1
        gap = ASLEEP
        if len(slept) > 1:
            notes.append(
                "the CPU slept more than once: the explanation begins after its last sleep"
            )
    elif int(entries["before"][first]) > begin:
        gap = ASLEEP if first and entries["flags"][first - 1] & HALTS else BEFORE
    begin = max(begin, int(entries["before"][first]))
    gap_ns = late.latency_ns - (end - begin) * ns_per_instruction
    if not gap and gap_ns:
        gap = ASLEEP  # less than an instruction
    window = entries[first : last + 1]
    offsets = np.maximum(window["before"].astype(np.int64) - begin, 0)
    starts_ns = offsets * ns_per_instruction + gap_ns
    names, functions, begins = symbols.functions(window["address"])
    name_task = _task_names(late, seen, notes)
    pieces = [Piece(Call(0, gap_ns, 0, gap), -1)] if gap_ns else []
    pieces += calls_of(_steps(window, starts_ns, names, functions, begins), late.latency_ns)
    return Explanation(
        thread=late.thread,
        time_ns=late.time_ns,
        latency_ns=late.latency_ns,
        source=_SOURCE,
        cause=_cause(pieces, late.latency_ns),
        calls=_longest([piece.call for piece in pieces]),
        functions=_totals([piece.call for piece in pieces]),
        tasks=_tasks(window, starts_ns, late.latency_ns, gap_ns, name_task, notes),
        interrupts_off=_where(
            window["flags"] & INTERRUPTS_OFF != 0,
            bool((window["flags"] & INTERRUPTS_KNOWN != 0).all()),
            starts_ns, late.latency_ns, notes, "where interrupts were off",
        ),
        preemption_off=_where(
            window["preempt"] & _COUNT != 0,
            bool((window["flags"] & PREEMPT_KNOWN != 0).all()),
            starts_ns, late.latency_ns, notes, "where preemption was off",
        ),
        notes=notes,
    )  # fmt: skip


def _clock_reading(entries: NDArray[np.void], notes: list[str]) -> int:
    """The block that ended with the reading of the clock that the sample was made of."""
    reads = entries["flags"] & READS_CLOCK != 0
    for candidates in (reads & (entries["address"] < _USER), reads):
        found = np.flatnonzero(candidates)
        if len(found):
            return int(found[-1])
    notes.append(
        "the trace does not contain the instruction that read the clock: all times are too late by "
        "the time from there until the thread reported the sample"
    )
    return len(entries) - 1


def _steps(
    window: NDArray[np.void],
    starts_ns: NDArray[np.int64],
    names: list[str],
    functions: NDArray[np.int64],
    begins: NDArray[np.bool_],
) -> list[Step]:
    """Only the blocks where the function changes or begins, or the task or the stack changes."""
    changed = begins.copy()
    changed[0] = True
    for values in (functions, window["task"], window["stack_pointer"] >> np.uint64(12)):
        changed[1:] |= values[1:] != values[:-1]
    return [
        Step(
            int(starts_ns[i]),
            names[functions[i]],
            bool(begins[i]),
            int(window["task"][i]),
            int(window["stack_pointer"][i]),
        )
        for i in np.flatnonzero(changed)
    ]


def _longest(calls: list[Call]) -> list[Call]:
    """In chronological order; a caller is never omitted before its callees."""
    order = sorted(range(len(calls)), key=lambda i: (-calls[i].ns, i))[:_MOST_CALLS]
    return [calls[i] for i in sorted(order) if calls[i].ns]


def _totals(calls: list[Call]) -> list[FunctionTime]:
    """Return the time of each function without that of its callees, but with its busy waiting."""
    totals: dict[str, int] = {}
    way: list[tuple[str, bool]] = []
    """the function that each caller's time is booked to, and whether the caller waits busily"""
    for call in calls:
        del way[call.depth :]
        outer, waits = way[-1] if way else ("", False)
        waits = bool(way) and (call.function in _DELAYS or (waits and call.function in _IN_DELAYS))
        own = outer if waits else call.function
        totals[own] = totals.get(own, 0) + call.ns
        if way:
            totals[outer] -= call.ns
        way.append((own, waits))
    found = [FunctionTime(name, ns) for name, ns in totals.items() if ns]
    return sorted(found, key=lambda one: (-one.ns, one.function))


def _tasks(
    window: NDArray[np.void],
    starts_ns: NDArray[np.int64],
    end_ns: int,
    gap_ns: int,
    name_task: Callable[[int], str],
    notes: list[str],
) -> list[Stretch] | None:
    if not window["task"].any():
        notes.append("the running task is unknown with this emulator and this kernel")
        return None
    found = _stretches(window["task"], starts_ns, end_ns)
    named = [Stretch(start, ns, name_task(task)) for start, ns, task in found if ns]
    if gap_ns and named:
        named[0] = Stretch(0, named[0].ns + gap_ns, named[0].name)
    return named[:_MOST_STRETCHES]


def _where(
    holds: NDArray[np.bool_],
    known: bool,
    starts_ns: NDArray[np.int64],
    end_ns: int,
    notes: list[str],
    what: str,
) -> list[Stretch] | None:
    if not known:
        notes.append(f"{what} is unknown with this emulator and this kernel")
        return None
    found = _stretches(holds, starts_ns, end_ns)
    kept = [Stretch(start, ns) for start, ns, held in found if held and ns]
    kept = sorted(kept, key=lambda one: -one.ns)[:_MOST_STRETCHES]
    return sorted(kept, key=lambda one: one.start_ns)


def _stretches(
    values: NDArray[np.generic], starts_ns: NDArray[np.int64], end_ns: int
) -> list[tuple[int, int, int]]:
    """Runs of equal values: start, length and value."""
    cuts = np.append(0, np.flatnonzero(values[1:] != values[:-1]) + 1)
    starts = starts_ns[cuts]
    lengths = np.diff(np.append(starts, end_ns))
    return [(int(s), int(n), int(v)) for s, n, v in zip(starts, lengths, values[cuts], strict=True)]


def _task_names(late: Late, seen: Recording, notes: list[str]) -> Callable[[int], str]:
    """How to name a task by its address.

    Where a kernel keeps a task's name and number differs from one to the next. The measuring
    thread, which ran last, is of a known name and number: they are looked for there.
    """
    mine = seen.tasks.get(int(seen.entries["task"][-1]), b"")
    name_at = mine.find(late.task.encode()[: _NAME_SIZE - 1] + b"\0")
    number_at = mine.find(struct.pack("<II", late.tid, late.pid))
    if seen.entries["task"][-1] and name_at < 0:
        notes.append("the tasks' names were not found in the kernel's memory")

    def name(task: int) -> str:
        memory = seen.tasks.get(task)
        if memory is None or name_at < 0:
            return f"task at {task:#x}" if task else "(before the first task)"
        text = memory[name_at : name_at + _NAME_SIZE].split(b"\0")[0].decode(errors="replace")
        if number_at < 0 or text.startswith("swapper/"):
            return text
        return f"{text}/{struct.unpack_from('<I', memory, number_at)[0]}"

    return name


def _cause(pieces: list[Piece], latency_ns: int) -> list[Call]:
    """From the longest outermost call inwards, as long as one callee takes 2/3 of its caller and
    a fifth of the latency; empty where no call takes that much.

    A call that was divided counts with all of its pieces, and begins with the first. Busy waiting
    is part of the call that waits.
    """
    callees: dict[int, dict[int, list[Call]]] = {}
    """of each invocation, by invocation; the outermost ones are those of -2"""
    way: list[int] = []
    for piece in pieces:
        del way[piece.call.depth :]
        caller = way[-1] if way else -2
        callees.setdefault(caller, {}).setdefault(piece.invocation, []).append(piece.call)
        way.append(piece.invocation)
    cause: list[Call] = []
    invocation = -2
    while invocation in callees:
        whole = {one: _sum(calls) for one, calls in callees[invocation].items()}
        invocation = max(whole, key=lambda one: whole[one].ns)
        longest = whole[invocation]
        if 5 * longest.ns < latency_ns or (cause and 3 * longest.ns < 2 * cause[-1].ns):
            break
        if cause and longest.function in _DELAYS:
            break
        cause.append(longest)
    return cause


def _sum(pieces: list[Call]) -> Call:
    first = pieces[0]
    return Call(first.start_ns, sum(piece.ns for piece in pieces), first.depth, first.function)
