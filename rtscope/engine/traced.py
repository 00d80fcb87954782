# SPDX-License-Identifier: GPL-2.0-only
"""Explain the worst samples of a run on any target from the kernel's trace around them."""

from collections.abc import Mapping
from typing import Final

import msgspec

from rtscope.explain.recorded import explained_window, formats_of, layout_of, packed
from rtscope.explain.remote import NameOf
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import EventFormat, RecordedWindow, Recording
from rtscope.model.run import Run, RunWarning
from rtscope.target.protocol import AnyLine, Start, Trace, TraceWindow

_MOST_WINDOWS: Final = 64
_NO_TRACE: Final = "no-trace"
"""the agent's warning that it cannot record"""
_TRACED: Final = (
    "the kernel's trace recorded while this was measured: each latency includes the cost of its "
    "events. Measure without --explain for figures to compare or to judge"
)


class Windows(msgspec.Struct):
    """The traces that the agent sent."""

    start: Start | None = None
    trace: Trace | None = None
    windows: list[TraceWindow] = []

    def receive(self, line: AnyLine) -> None:
        """Take a line of the agent."""
        match line:
            case Start():
                self.start = line
            case Trace():
                self.trace = line
            case TraceWindow() if len(self.windows) < _MOST_WINDOWS:
                self.windows.append(line)


def explained_by_trace(run: Run, windows: Windows, name_of: NameOf = lambda address: "") -> Run:
    """Return the run with explanations of its worst samples. Raises RtscopeError."""
    start, trace = windows.start, windows.trace
    if any(warning.code == _NO_TRACE for warning in run.warnings):
        return run
    if start is None or trace is None or start.monotonic_ns is None:
        raise RtscopeError("the agent sent no trace: the run ended before its end")
    tids = {thread.thread: thread.tid for thread in start.threads}
    worst = sorted(windows.windows, key=lambda one: (-one.latency_ns, one.due_ns))
    recording = Recording(
        clock=trace.clock,
        page_size=trace.page_size,
        commit_size=trace.commit_size,
        little_endian=trace.little_endian,
        events=[EventFormat(event.name, event.format) for event in trace.events],
        windows=[_recorded(window, tids) for window in worst],
    )
    layout, formats = layout_of(recording), formats_of(recording)
    found = [
        explained_window(one, layout, formats, window.thread, start.monotonic_ns, name_of)
        for one, window in zip(recording.windows, worst, strict=True)
    ]
    warnings = [*run.warnings, RunWarning("traced", _TRACED)]
    if trace.missing:
        warnings.append(_missing(trace.missing))
    return msgspec.structs.replace(run, explanations=found, recording=recording, warnings=warnings)


def _recorded(window: TraceWindow, tids: Mapping[int, int]) -> RecordedWindow:
    return RecordedWindow(
        due_ns=window.due_ns,
        latency_ns=window.latency_ns,
        tid=tids.get(window.thread, -1),
        cpu=-1 if window.cpu is None else window.cpu,
        parts=[packed(one.cpu, one.pages, complete=one.complete) for one in window.parts],
    )


def _missing(names: list[str]) -> RunWarning:
    return RunWarning(
        "trace-events-missing",
        f"this kernel lacks the trace events {', '.join(names)}: what they would show is not in "
        "the explanations",
    )
