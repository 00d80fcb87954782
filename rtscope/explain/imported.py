# SPDX-License-Identifier: GPL-2.0-only
"""Explain a late thread in a trace of another tool, by the deadline that the user gives."""

import hashlib
import re
from typing import Final

import msgspec

from rtscope.explain.ftrace import Events, Layout
from rtscope.explain.recorded import cut, events_of, explained_window, formats_of, layout_of
from rtscope.explain.remote import NameOf
from rtscope.explain.symbols import from_kallsyms, name_at
from rtscope.explain.tracedat import MAGIC
from rtscope.explain.tracedatin import read_trace_dat
from rtscope.explain.tracetext import read_trace_text
from rtscope.model.errors import RtscopeError
from rtscope.model.histogram import Histogram
from rtscope.model.machine import Machine
from rtscope.model.recording import RecordedWindow
from rtscope.model.run import Run, Sample, Thread

_TID: Final = re.compile(r"[0-9]{1,10}")
_MARGIN_NS: Final = 2_000_000
"""of the trace around the sample that is stored with the run"""


class Question(msgspec.Struct, frozen=True):
    """Which thread was late, and when. Times are on the trace's clock."""

    thread: str
    """its name, or its number"""
    deadline_ns: int
    until_ns: int | None = None
    """when it answered; None: when it first ran after the deadline"""


def is_trace_dat(data: bytes) -> bool:
    """Whether this is a file of trace-cmd."""
    return data.startswith(MAGIC)


def explained_trace(data: bytes, created: str, question: Question) -> Run:
    """The run of one sample in a trace. Raises RtscopeError."""
    name_of: NameOf
    if is_trace_dat(data):
        recording, kallsyms = read_trace_dat(data)
        symbols = from_kallsyms(kallsyms)
        source = "trace-cmd"

        def name_of(address: int) -> str:
            return name_at(symbols, address)

    else:
        text = read_trace_text(data)
        recording, source, name_of = text.recording, "ftrace", text.name_of
    layout, formats = layout_of(recording), formats_of(recording)
    window = recording.windows[0]
    events = events_of(window.parts, layout, formats)
    late = _late(events, question, window)
    explanation = explained_window(late, layout, formats, 0, late.due_ns, name_of)
    digest = hashlib.sha256(data + repr(question).encode()).hexdigest()
    ns = late.latency_ns
    thread = Thread(
        0, late.cpu, "unknown", 0, 1, Histogram.of([ns]), ns, ns, float(ns), 0.0,
        missed=None, name=events.task_name(late.tid), worst=[Sample(0, ns, late.cpu)],
    )  # fmt: skip
    return Run(
        id=digest[:16],
        created=created,
        probe="trace",
        status="complete",
        load="unknown",
        machine=Machine(),
        threads=[thread],
        source=source,
        explanations=[explanation],
        recording=msgspec.structs.replace(recording, windows=[_cut(late, layout)]),
    )


def _late(events: Events, question: Question, window: RecordedWindow) -> RecordedWindow:
    """The window with the sample that the question is about."""
    tid = _tid(events, question.thread)
    if not len(events.time_ns):
        raise RtscopeError("the trace has no event that rtscope can read")
    first, last = int(events.time_ns[0]), int(events.time_ns[-1])
    if not first <= question.deadline_ns <= last:
        raise RtscopeError(
            f"--deadline {question.deadline_ns / 1e9:.6f} is outside the trace, which is from "
            f"{first / 1e9:.6f} to {last / 1e9:.6f} s"
        )
    switches = events.which("sched_switch")
    mine = switches[events.numbers("sched_switch", "next_pid", switches) == tid]
    after = mine[events.time_ns[mine] > question.deadline_ns]
    until_ns = question.until_ns
    if until_ns is None:
        if not len(after):
            raise RtscopeError(
                f"the thread {events.task_name(tid)} did not run after the deadline in this "
                "trace: give the end with --until"
            )
        until_ns = int(events.time_ns[after[0]])
    if until_ns <= question.deadline_ns:
        raise RtscopeError("--until must be after --deadline")
    cpu = int(events.cpu[after[0]]) if len(after) else int(events.cpu[mine[-1]] if len(mine) else 0)
    return msgspec.structs.replace(
        window,
        due_ns=question.deadline_ns,
        latency_ns=until_ns - question.deadline_ns,
        tid=tid,
        cpu=cpu,
    )


def _tid(events: Events, thread: str) -> int:
    """The number of a thread. Raises RtscopeError."""
    if _TID.fullmatch(thread) and int(thread) in events.tasks:
        return int(thread)
    found = sorted(tid for tid, (name, _) in events.tasks.items() if name == thread)
    if len(found) == 1:
        return found[0]
    if found:
        numbers = ", ".join(map(str, found[:8]))
        raise RtscopeError(
            f"{len(found)} threads in the trace are called '{thread}': give a number ({numbers})"
        )
    names = sorted({name for name, _ in events.tasks.values() if not name.startswith("swapper")})
    raise RtscopeError(
        f"the trace has no thread '{thread[:40]}'; it has {', '.join(names[:12])}"
        f"{' and others' if len(names) > 12 else ''}"
    )


def _cut(late: RecordedWindow, layout: Layout) -> RecordedWindow:
    """The window with the pages around the sample only."""
    from_ns = late.due_ns - _MARGIN_NS
    to_ns = late.due_ns + late.latency_ns + _MARGIN_NS
    return msgspec.structs.replace(late, parts=cut(late.parts, layout, from_ns, to_ns))
