# SPDX-License-Identifier: GPL-2.0-only
"""Why a sample was late, in words."""

from collections.abc import Sequence
from typing import Final

import msgspec

from rtscope.model.run import Run
from rtscope.model.timeline import Call, Explanation, Stretch
from rtscope.model.units import counted
from rtscope.wording.causes import term_text
from rtscope.wording.plain import plain
from rtscope.wording.values import thread_name, time_text

_LEAST: Final = 0.03
"""of the latency, for a call to stand in the tree"""
_MOST_ROWS: Final = 30
_WRAPPER: Final = 0.9
"""of a call's time in the one that it calls, for both to share a row"""
_MOST_FUNCTIONS: Final = 8
_MOST_TERMS: Final = 3
"""of a ledger in a headline"""
_LARGE: Final = 0.05
"""of a latency, for a term to be named"""
_MOST_CALLERS: Final = 3
_WHOLE: Final = 0.99


class Row(msgspec.Struct, frozen=True):
    """A row of the tree: one call, or several of which each does little but call the next."""

    calls: list[Call]
    depth: int
    """among the rows"""


def headline(run: Run, explanation: Explanation) -> str:
    """Which sample, how late, and where most of that passed."""
    thread = next((thread for thread in run.threads if thread.thread == explanation.thread), None)
    where = f" on {thread_name(thread)}" if thread and len(run.threads) > 1 else ""
    late, due_s = time_text(explanation.latency_ns), explanation.time_ns / 1e9
    text = f"{late} late{where}, due {due_s:.6f} s after the start"
    if explanation.ledger:
        return f"{text}: {_largest_terms(explanation)}"
    if not explanation.cause:
        return f"{text}: {_spread(explanation)}"
    inmost = explanation.cause[-1]
    callers = [plain(call.function) for call in reversed(explanation.cause[:-1])]
    called = f", called by {' ← '.join(callers[:_MOST_CALLERS])}" if callers else ""
    state = [f"while {task} ran" if (task := task_of(explanation, inmost)) else ""]
    state += [
        f"{what} {word}"
        for what, stretches in (
            ("interrupts", explanation.interrupts_off),
            ("preemption", explanation.preemption_off),
        )
        if (word := off_text(stretches, inmost))
    ]
    states = ", ".join(word for word in state if word)
    spent = f"{time_text(inmost.ns)} of it in {plain(inmost.function)}{called}"
    return f"{text}: {spent}{f' ({states})' if states else ''}"


def outlier_line(explanation: Explanation) -> str:
    """A late sample in one line, while its run goes on."""
    at_s, late = explanation.time_ns / 1e9, time_text(explanation.latency_ns)
    return f"{at_s:.3f} s: {late} late: {_largest_terms(explanation)}"


def _largest_terms(explanation: Explanation) -> str:
    """The terms that took a good part of the latency; the largest in any case."""
    shown = [term for term in explanation.ledger if term.ns >= _LARGE * explanation.latency_ns]
    return ", ".join(
        f"{time_text(term.ns)} {term_text(term.kind, term.name, term.function, term.remote)}"
        for term in shown[:_MOST_TERMS] or explanation.ledger[:1]
    )


def _spread(explanation: Explanation) -> str:
    """The tasks and the most frequent function, if no call was long."""
    times: dict[str, int] = {}
    for one in explanation.tasks or []:
        times[one.name] = times.get(one.name, 0) + one.ns
    words = ["no call took a good part of it"]
    if times:
        name = max(times, key=lambda name: times[name])
        words.append(f"{plain(name)} ran for {time_text(times[name])}")
    if explanation.functions:
        most = explanation.functions[0]
        words.append(f"{plain(most.function)} took {time_text(most.ns)} in all")
    return ", ".join(words)


def tree(explanation: Explanation) -> list[Row]:
    """The calls that took long, each below the one that called it."""
    least_ns = sorted((call.ns for call in explanation.calls), reverse=True)[:_MOST_ROWS][-1:]
    floor_ns = max(_LEAST * explanation.latency_ns, *least_ns, 0)
    shown = [call for call in explanation.calls if call.ns >= floor_ns][:_MOST_ROWS]
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


def totals_line(explanation: Explanation) -> str:
    """The time of each function without its callees."""
    if not explanation.functions:
        return ""
    shown = explanation.functions[:_MOST_FUNCTIONS]
    named = ", ".join(f"{plain(one.function)} {time_text(one.ns)}" for one in shown)
    rest = explanation.functions[_MOST_FUNCTIONS:]
    others = (
        f", {counted(len(rest), 'other')} {time_text(sum(one.ns for one in rest))}" if rest else ""
    )
    return f"most time by itself: {named}{others}"


def off_line(explanation: Explanation) -> str:
    """How long interrupts and preemption were off in all."""
    parts = [
        f"{what} off for {time_text(sum(one.ns for one in stretches))}"
        for what, stretches in (
            ("interrupts", explanation.interrupts_off),
            ("preemption", explanation.preemption_off),
        )
        if stretches is not None
    ]
    return ", ".join(parts)


def _overlap_ns(stretch: Stretch, call: Call) -> int:
    end_ns = min(stretch.start_ns + stretch.ns, call.start_ns + call.ns)
    return max(end_ns - max(stretch.start_ns, call.start_ns), 0)


def task_of(explanation: Explanation, call: Call) -> str:
    """Who had the CPU for most of the call; "" where that is not known."""
    longest = max(explanation.tasks or [], key=lambda one: _overlap_ns(one, call), default=None)
    return plain(longest.name) if longest else ""


def off_text(stretches: Sequence[Stretch] | None, call: Call) -> str:
    """Whether interrupts, or preemption, were off, on or partly off; "" where it is not known."""
    if stretches is None:
        return ""
    off_ns = sum(_overlap_ns(one, call) for one in stretches)
    if off_ns >= _WHOLE * call.ns:
        return "off"
    return "partly off" if off_ns > (1 - _WHOLE) * call.ns else "on"
