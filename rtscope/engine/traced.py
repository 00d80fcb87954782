# SPDX-License-Identifier: GPL-2.0-only
"""Explain the late samples of a run on any target from the kernel's trace around them."""

from typing import Final

import msgspec
import numpy as np

from rtscope.explain.recorded import events_of, explained_window, formats_of, layout_of, packed
from rtscope.explain.remote import NameOf
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import EventFormat, RecordedWindow, Recording
from rtscope.model.run import ProgramTime, Run, RunWarning
from rtscope.model.timeline import Explanation
from rtscope.target.protocol import AnyLine, League, Start, Trace, TraceEnd, TraceWindow

_MOST_WINDOWS: Final = 64
_MOST_LOOKED_AT: Final = 4096
"""events that are searched for the CPU of a late thread"""
_NO_TRACE: Final = "no-trace"
"""the agent's warning that it cannot record"""
_TRACED: Final = (
    "the kernel's trace recorded while this was measured: each latency includes the cost of its "
    "events. Measure without --explain for figures to compare or to judge"
)


class _Kept(msgspec.Struct, frozen=True):
    window: RecordedWindow
    thread: int
    foreign: bool
    """the late thread is not one of the session's"""
    explanation: Explanation


class Windows(msgspec.Struct):
    """The traces that the agent sent, each explained when it comes.

    Of more than `most` the shortest latency is dropped, so that memory does not grow with time.
    """

    most: int = _MOST_WINDOWS
    start: Start | None = None
    recording: Recording | None = None
    """without its windows"""
    missing: list[str] = []
    waiting: list[TraceWindow] = []
    """that came before the formats of their events"""
    kept: list[_Kept] = []
    league: League | None = None
    skipped: int = 0
    """late samples whose trace the agent did not send, as they came too fast"""
    dropped: int = 0
    failure: str = ""

    def receive(self, line: AnyLine) -> list[Explanation]:
        """Take a line of the agent. Returns the explanations that it brought."""
        match line:
            case Start():
                self.start = line
            case Trace():
                self.recording, self.missing = _recording_of(line), line.missing
            case TraceWindow() if len(self.waiting) < self.most:
                self.waiting.append(line)
            case League():
                self.league = line
            case TraceEnd():
                self.skipped = line.skipped
        new: list[Explanation] = []
        if self.start is None or self.recording is None:
            return new
        try:
            for window in self.waiting:
                new.append(self._keep(window, self.start, self.recording))
        except RtscopeError as error:
            self.failure = str(error)
        self.waiting = []
        return new

    def _keep(self, window: TraceWindow, start: Start, recording: Recording) -> Explanation:
        recorded = _recorded(window, start, recording)
        kept = _Kept(
            recorded,
            window.thread,
            bool(window.tid),
            _explained(recorded, window.thread, bool(window.tid), start, recording, _nameless),
        )
        self.kept.append(kept)
        self.kept.sort(key=lambda one: (-one.explanation.latency_ns, one.explanation.time_ns))
        if len(self.kept) > self.most:
            self.kept.pop()
            self.dropped += 1
        return kept.explanation


def explained_by_trace(run: Run, received: Windows, name_of: NameOf | None = None) -> Run:
    """Return the run with explanations of its late samples. Raises RtscopeError.

    With `name_of` the functions in them have names.
    """
    if received.league:
        programs = [
            ProgramTime(one.name or "others", one.total_ns, one.longest_ns, one.runs)
            for one in sorted(received.league.programs, key=lambda one: (-one.total_ns, one.name))
        ]
        run = msgspec.structs.replace(run, programs=programs)
    if any(warning.code == _NO_TRACE for warning in run.warnings):
        return run
    start, recording = received.start, received.recording
    if start is None or recording is None or start.monotonic_ns is None:
        raise RtscopeError("the agent sent no trace: the run ended before its end")
    if received.failure:
        raise RtscopeError(received.failure)
    found = [one.explanation for one in received.kept]
    if name_of:
        found = [
            _explained(one.window, one.thread, one.foreign, start, recording, name_of)
            for one in received.kept
        ]
    warnings = [*run.warnings, RunWarning("traced", _TRACED)]
    if received.missing:
        warnings.append(_missing(received.missing))
    if left_out := received.skipped + received.dropped:
        warnings.append(
            RunWarning(
                "outliers-left-out",
                f"{left_out} late samples are counted and not explained: at most {received.most} "
                "are kept, the worst ones, and the agent sends about one a second. Raise --above",
            )
        )
    windows = [one.window for one in received.kept]
    return msgspec.structs.replace(
        run,
        explanations=found,
        recording=msgspec.structs.replace(recording, windows=windows),
        warnings=warnings,
    )


def _nameless(address: int) -> str:
    return ""


def _recording_of(trace: Trace) -> Recording:
    return Recording(
        clock=trace.clock,
        page_size=trace.page_size,
        commit_size=trace.commit_size,
        little_endian=trace.little_endian,
        events=[EventFormat(event.name, event.format) for event in trace.events],
        windows=[],
    )


def _recorded(window: TraceWindow, start: Start, recording: Recording) -> RecordedWindow:
    tids = {thread.thread: thread.tid for thread in start.threads}
    recorded = RecordedWindow(
        due_ns=window.due_ns,
        latency_ns=window.latency_ns,
        tid=window.tid or tids.get(window.thread, -1),
        cpu=-1 if window.cpu is None else window.cpu,
        parts=[packed(one.cpu, one.pages, complete=one.complete) for one in window.parts],
    )
    if recorded.cpu >= 0:
        return recorded
    return msgspec.structs.replace(recorded, cpu=_cpu_of(recorded, recording))


def _cpu_of(window: RecordedWindow, recording: Recording) -> int:
    """The CPU on which the thread was last before its sample; -1 if no event shows it."""
    events = events_of(window.parts, layout_of(recording), formats_of(recording))
    before = np.flatnonzero(events.time_ns <= window.due_ns + window.latency_ns)
    for index in before[::-1][:_MOST_LOOKED_AT].tolist():
        if events.number(index, "common_pid") == window.tid:
            return int(events.cpu[index])
    return -1


def _explained(
    window: RecordedWindow,
    thread: int,
    foreign: bool,
    start: Start,
    recording: Recording,
    name_of: NameOf,
) -> Explanation:
    layout, formats = layout_of(recording), formats_of(recording)
    explanation = explained_window(
        window, layout, formats, thread, start.monotonic_ns or 0, name_of
    )
    if not foreign:
        return explanation
    tasks = events_of(window.parts, layout, formats).tasks
    name = tasks.get(window.tid, ("",))[0]
    note = f"the late thread is {name or 'thread'}/{window.tid}"
    return msgspec.structs.replace(explanation, notes=[note, *explanation.notes])


def _missing(names: list[str]) -> RunWarning:
    return RunWarning(
        "trace-events-missing",
        f"this kernel lacks the trace events {', '.join(names)}: what they would show is not in "
        "the explanations",
    )
