# SPDX-License-Identifier: GPL-2.0-only
"""How a sample came to be late, for people: a sentence, the calls as a tree, and a timeline."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.run import Run
from rtscope.model.timeline import Call, Explanation, Stretch
from rtscope.model.units import counted
from rtscope.report.columns import Column
from rtscope.report.words import plain, thread_name, time_text

_LEAST: Final = 0.03
"""of the latency, for a call to stand in the tree"""
_MOST_ROWS: Final = 30
_WRAPPER: Final = 0.9
"""of a call's time in the one that it calls, for both to share a row"""
_DEEPEST: Final = 24
_MOST_FUNCTIONS: Final = 8
_MOST_CALLERS: Final = 3
_WHOLE: Final = 0.99


class Row(msgspec.Struct, frozen=True):
    """A row of the tree: one call, or several of which each does little but call the next."""

    calls: list[Call]
    depth: int
    """among the rows"""


class Bar(msgspec.Struct, frozen=True):
    """A bar of the timeline, in thousandths of its width."""

    x: float
    width: float
    lane: int
    kind: str
    """of call, task, interrupts, preemption"""
    name: str
    text: str
    """what it says when it is pointed at"""


class Lanes(msgspec.Struct, frozen=True):
    """A timeline: its lanes from the top and the bars in them."""

    names: list[tuple[int, str]]
    lanes: int
    bars: list[Bar]


def headline(run: Run, told: Explanation) -> str:
    """Which sample, how late, and where most of that passed."""
    thread = next((thread for thread in run.threads if thread.thread == told.thread), None)
    where = f" on {thread_name(thread)}" if thread and len(run.threads) > 1 else ""
    text = (
        f"{time_text(told.latency_ns)} late{where}, due {told.time_ns / 1e9:.6f} s after the start"
    )
    if not told.cause:
        return f"{text}: {_spread(told)}"
    inmost = told.cause[-1]
    callers = [plain(call.function) for call in reversed(told.cause[:-1])]
    called = f", called by {' ← '.join(callers[:_MOST_CALLERS])}" if callers else ""
    state = [f"while {task} ran" if (task := _task(told, inmost)) else ""]
    state += [
        f"{what} {word}"
        for what, stretches in (
            ("interrupts", told.interrupts_off),
            ("preemption", told.preemption_off),
        )
        if (word := _off(stretches, inmost))
    ]
    states = ", ".join(word for word in state if word)
    spent = f"{time_text(inmost.ns)} of it in {plain(inmost.function)}{called}"
    return f"{text}: {spent}{f' ({states})' if states else ''}"


def _spread(told: Explanation) -> str:
    """Where no call took long: who had the CPU, and which function most often."""
    times: dict[str, int] = {}
    for one in told.tasks or []:
        times[one.name] = times.get(one.name, 0) + one.ns
    words = ["no call took a good part of it"]
    if times:
        name = max(times, key=lambda name: times[name])
        words.append(f"{plain(name)} ran for {time_text(times[name])}")
    if told.functions:
        most = told.functions[0]
        words.append(f"{plain(most.function)} took {time_text(most.ns)} in all")
    return ", ".join(words)


def tree(told: Explanation) -> list[Row]:
    """The calls that took long, each below the one that called it."""
    least_ns = sorted((call.ns for call in told.calls), reverse=True)[:_MOST_ROWS][-1:]
    floor_ns = max(_LEAST * told.latency_ns, *least_ns, 0)
    shown = [call for call in told.calls if call.ns >= floor_ns][:_MOST_ROWS]
    rows: list[Row] = []
    above: list[tuple[int, int]] = []
    """depth of the calls and of the rows that are still open"""
    for place, call in enumerate(shown):
        while above and above[-1][0] >= call.depth:
            above.pop()
        wraps = rows and rows[-1].calls[-1] is shown[place - 1] and (
            shown[place - 1].depth < call.depth
            and call.ns >= _WRAPPER * shown[place - 1].ns
        )  # fmt: skip
        depth = above[-1][1] if wraps else above[-1][1] + 1 if above else 0
        if wraps:
            rows[-1] = Row([*rows[-1].calls, call], depth)
        else:
            rows.append(Row([call], depth))
        above.append((call.depth, depth))
    return rows


def tree_columns(told: Explanation) -> list[Column]:
    """The tree as a table: instants are since the deadline."""
    rows = tree(told)
    outer = [row.calls[0] for row in rows]
    columns = [
        Column("at", 2, [time_text(call.start_ns) for call in outer]),
        Column("for", 1, [time_text(call.ns) for call in outer]),
    ]
    if told.tasks is not None:
        columns.append(Column("task", 3, [_task(told, call) for call in outer], left=True))
    for title, stretches in (("irqs", told.interrupts_off), ("preempt", told.preemption_off)):
        if stretches is not None:
            words = [_off(stretches, call) for call in outer]
            columns.append(Column(title, 4, list(words), left=True))
    names = [f"{'  ' * row.depth}{_names(row.calls)}" for row in rows]
    return [*columns, Column("function", 0, list(names), left=True)]


def totals_line(told: Explanation) -> str:
    """Where the time went, function by function, without what they called."""
    shown = told.functions[:_MOST_FUNCTIONS]
    named = ", ".join(f"{plain(one.function)} {time_text(one.ns)}" for one in shown)
    rest = told.functions[_MOST_FUNCTIONS:]
    others = (
        f", {counted(len(rest), 'other')} {time_text(sum(one.ns for one in rest))}" if rest else ""
    )
    return f"most time by itself: {named}{others}"


def off_line(told: Explanation) -> str:
    """How long interrupts and preemption were off in all."""
    parts = [
        f"{what} off for {time_text(sum(one.ns for one in stretches))}"
        for what, stretches in (
            ("interrupts", told.interrupts_off),
            ("preemption", told.preemption_off),
        )
        if stretches is not None
    ]
    return ", ".join(parts)


def lanes(told: Explanation) -> Lanes:
    """The timeline: who ran, what was off, and below them the calls by depth."""
    bars: list[Bar] = []
    names: list[tuple[int, str]] = []
    lane = 0
    for title, kind, stretches in (
        ("task", "task", told.tasks),
        ("interrupts off", "interrupts", told.interrupts_off),
        ("preemption off", "preemption", told.preemption_off),
    ):
        if stretches is None:
            continue
        names.append((lane, title))
        bars += [_bar(told, one.start_ns, one.ns, lane, kind, one.name) for one in stretches]
        lane += 1
    names.append((lane, "function"))
    deepest = 0
    for call in told.calls:
        if call.depth < _DEEPEST:
            deepest = max(deepest, call.depth)
            bars.append(
                _bar(told, call.start_ns, call.ns, lane + call.depth, "call", call.function)
            )
    return Lanes(names, lane + deepest + 1, bars)


def _bar(told: Explanation, start_ns: int, ns: int, lane: int, kind: str, name: str) -> Bar:
    scale = 1000 / max(told.latency_ns, 1)
    x, end = min(start_ns * scale, 1000.0), min((start_ns + ns) * scale, 1000.0)
    label = plain(name)
    text = f"{label + ', ' if label else ''}from {time_text(start_ns)} for {time_text(ns)}"
    room = int((end - x) / 6.2)
    shown = label if len(label) <= room else f"{label[: room - 1]}…" if room > 3 else ""
    return Bar(round(x, 2), round(end - x, 2), lane, kind, shown, text)


def _names(calls: Sequence[Call]) -> str:
    names = [plain(call.function) for call in calls]
    if len(names) > 2:
        names = [names[0], "…", names[-1]]
    return " › ".join(names)


def _overlap_ns(stretch: Stretch, call: Call) -> int:
    end_ns = min(stretch.start_ns + stretch.ns, call.start_ns + call.ns)
    return max(end_ns - max(stretch.start_ns, call.start_ns), 0)


def _task(told: Explanation, call: Call) -> str:
    """Who had the CPU for most of the call; "" where that is not known."""
    longest = max(told.tasks or [], key=lambda one: _overlap_ns(one, call), default=None)
    return plain(longest.name) if longest else ""


def _off(stretches: Sequence[Stretch] | None, call: Call) -> str:
    """Whether interrupts, or preemption, were off, on or partly off; "" where it is not known."""
    if stretches is None:
        return ""
    off_ns = sum(_overlap_ns(one, call) for one in stretches)
    if off_ns >= _WHOLE * call.ns:
        return "off"
    return "partly off" if off_ns > (1 - _WHOLE) * call.ns else "on"
