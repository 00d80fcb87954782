# SPDX-License-Identifier: GPL-2.0-only
"""An explained sample as a timeline."""

from typing import Final

import msgspec

from rtscope.model.timeline import Explanation
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text

_DEEPEST: Final = 24


class Bar(msgspec.Struct, frozen=True):
    """A bar of the timeline, in thousandths of its width."""

    x: float
    width: float
    lane: int
    kind: str
    """of call, task, interrupts, preemption"""
    name: str
    text: str
    """its tooltip"""


class Lanes(msgspec.Struct, frozen=True):
    """A timeline: its lanes from the top and the bars in them."""

    names: list[tuple[int, str]]
    lanes: int
    bars: list[Bar]


def lanes(explanation: Explanation) -> Lanes:
    """The timeline: tasks, interrupts off, preemption off, and the calls by depth."""
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
        bars += [_bar(explanation, one.start_ns, one.ns, lane, kind, one.name) for one in stretches]
        lane += 1
    if not explanation.calls:
        return Lanes(names, lane, bars)
    names.append((lane, "function"))
    deepest = 0
    for call in explanation.calls:
        if call.depth < _DEEPEST:
            deepest = max(deepest, call.depth)
            bars.append(
                _bar(explanation, call.start_ns, call.ns, lane + call.depth, "call", call.function)
            )
    return Lanes(names, lane + deepest + 1, bars)


def _bar(explanation: Explanation, start_ns: int, ns: int, lane: int, kind: str, name: str) -> Bar:
    scale = 1000 / max(explanation.latency_ns, 1)
    x, end = min(start_ns * scale, 1000.0), min((start_ns + ns) * scale, 1000.0)
    label = plain(name)
    text = f"{label + ', ' if label else ''}from {time_text(start_ns)} for {time_text(ns)}"
    room = int((end - x) / 6.2)
    shown = label if len(label) <= room else f"{label[: room - 1]}…" if room > 3 else ""
    return Bar(round(x, 2), round(end - x, 2), lane, kind, shown, text)
