# SPDX-License-Identifier: GPL-2.0-only
"""An explained sample as a timeline."""

import heapq
from typing import Final

import msgspec

from rtscope.model.timeline import Explanation, Stretch
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text

_DEEPEST: Final = 24


class Bar(msgspec.Struct, frozen=True):
    """A bar of the timeline, in thousandths of its width."""

    x: float
    width: float
    lane: int
    kind: str
    """of call, task, late (the measuring thread), idle, handler, interrupts, preemption"""
    name: str
    text: str
    """its tooltip"""


class Mark(msgspec.Struct, frozen=True):
    """A line through all lanes, in thousandths of the width."""

    x: float
    text: str


class Lanes(msgspec.Struct, frozen=True):
    """A timeline: its lanes from the top, the bars in them, and times below."""

    names: list[tuple[int, str]]
    lanes: int
    bars: list[Bar]
    ticks: list[Mark]
    marks: list[Mark] = []


def lanes(explanation: Explanation, most_bars: int = 1000) -> Lanes:
    """The timeline: CPUs with their tasks and handlers; or tasks, where interrupts and preemption
    were off, and calls by depth."""
    return _cpus(explanation, most_bars) if explanation.tracks else _calls(explanation)


def _cpus(explanation: Explanation, most_bars: int) -> Lanes:
    """CPUs as tracks, from before the deadline until after the sample."""
    span = _Span(
        explanation.before_ns, explanation.before_ns + explanation.latency_ns + explanation.after_ns
    )
    names: list[tuple[int, str]] = []
    found: list[tuple[bool, int, int, str, Stretch]] = []
    lane = 0
    for track in explanation.tracks:
        names.append((lane, f"CPU {track.cpu}"))
        rows = [(track.tasks, "task"), (track.handlers, "handler")]
        for stretches, kind in rows if track.handlers else rows[:1]:
            for one in stretches:
                late = kind == "task" and one.name == explanation.task
                shown = "late" if late else "idle" if one.name == "idle" else kind
                found.append((not late, -one.ns, lane, shown, one))
            lane += 1
    longest = heapq.nsmallest(most_bars, found, key=lambda one: one[:2])
    bars = [
        span.bar(one.start_ns - explanation.before_ns, one.ns, lane_of, kind, one.name)
        for _, _, lane_of, kind, one in longest
    ]
    kept = sorted(bars, key=lambda bar: (bar.lane, bar.x))
    marks = [
        Mark(span.x(0), "deadline"),
        Mark(span.x(explanation.latency_ns), f"sample, {time_text(explanation.latency_ns)} late"),
    ]
    ticks = [Mark(span.x(ns), time_text(ns)) for ns in _quarters(explanation)]
    return Lanes(names, lane, kept, ticks, marks)


def _quarters(explanation: Explanation) -> list[int]:
    return [explanation.latency_ns * quarter // 4 for quarter in range(5)]


def _calls(explanation: Explanation) -> Lanes:
    span = _Span(0, explanation.latency_ns)
    bars: list[Bar] = []
    names: list[tuple[int, str]] = []
    lane = 0
    for title, kind, stretches in (
        ("task", "task", explanation.tasks),
        ("handler", "call", explanation.handlers),
        ("interrupts off", "interrupts", explanation.interrupts_off),
        ("preemption off", "preemption", explanation.preemption_off),
    ):
        if stretches is None:
            continue
        names.append((lane, title))
        bars += [span.bar(one.start_ns, one.ns, lane, kind, one.name) for one in stretches]
        lane += 1
    ticks = [Mark(span.x(ns), time_text(ns)) for ns in _quarters(explanation)]
    if not explanation.calls:
        return Lanes(names, lane, bars, ticks)
    names.append((lane, "function"))
    deepest = 0
    for call in explanation.calls:
        if call.depth < _DEEPEST:
            deepest = max(deepest, call.depth)
            bars.append(span.bar(call.start_ns, call.ns, lane + call.depth, "call", call.function))
    return Lanes(names, lane + deepest + 1, bars, ticks)


class _Span(msgspec.Struct, frozen=True):
    """The time that a timeline shows."""

    before_ns: int
    ns: int

    def x(self, at_ns: int) -> float:
        """Where a time since the deadline is, in thousandths."""
        scale = 1000 / max(self.ns, 1)
        return round(min(max((at_ns + self.before_ns) * scale, 0.0), 1000.0), 2)

    def bar(self, start_ns: int, ns: int, lane: int, kind: str, name: str) -> Bar:
        """Return the bar of a time that is since the deadline."""
        x, end = self.x(start_ns), self.x(start_ns + ns)
        label = plain(name)
        text = f"{label + ', ' if label else ''}from {time_text(start_ns)} for {time_text(ns)}"
        room = int((end - x) / 6.2)
        shown = label if len(label) <= room else f"{label[: room - 1]}…" if room > 3 else ""
        return Bar(x, round(end - x, 2), lane, kind, shown, text)
