# SPDX-License-Identifier: GPL-2.0-only
"""Explain the worst samples of a run on any target from the kernel's trace around them."""

from collections.abc import Mapping
from typing import Final

import msgspec

from rtscope.explain.ftrace import Events, Format, Layout, Pages, format_of
from rtscope.explain.ledger import LateThread, ledger_of
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run, RunWarning
from rtscope.model.timeline import Explanation
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


def explained_by_trace(run: Run, windows: Windows) -> Run:
    """Return the run with explanations of its worst samples. Raises RtscopeError."""
    start, trace = windows.start, windows.trace
    if any(warning.code == _NO_TRACE for warning in run.warnings):
        return run
    if start is None or trace is None or start.monotonic_ns is None:
        raise RtscopeError("the agent sent no trace: the run ended before its end")
    formats = [format_of(event.name, event.format) for event in trace.events]
    layout = Layout(trace.page_size, trace.commit_size, trace.little_endian)
    tids = {thread.thread: thread.tid for thread in start.threads}
    found = [
        _explained(window, start.monotonic_ns, tids, layout, formats)
        for window in sorted(windows.windows, key=lambda one: (-one.latency_ns, one.due_ns))
    ]
    warnings = [*run.warnings, RunWarning("traced", _TRACED)]
    if trace.missing:
        warnings.append(_missing(trace.missing))
    return msgspec.structs.replace(run, explanations=found, warnings=warnings)


def _explained(
    window: TraceWindow,
    start_ns: int,
    tids: Mapping[int, int],
    layout: Layout,
    formats: list[Format],
) -> Explanation:
    parts = [Pages(part.cpu, part.pages) for part in window.parts]
    late = LateThread(
        thread=window.thread,
        time_ns=max(window.due_ns - start_ns, 0),
        due_ns=window.due_ns,
        latency_ns=window.latency_ns,
        tid=tids.get(window.thread, -1),
        cpu=-1 if window.cpu is None else window.cpu,
    )
    lost = frozenset(part.cpu for part in window.parts if not part.complete)
    return ledger_of(late, Events(parts, layout, formats), lost)


def _missing(names: list[str]) -> RunWarning:
    return RunWarning(
        "trace-events-missing",
        f"this kernel lacks the trace events {', '.join(names)}: what they would show is not in "
        "the explanations",
    )
