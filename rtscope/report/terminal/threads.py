# SPDX-License-Identifier: GPL-2.0-only
"""The threads of a system as a table, in order of preemption.

The columns are those of `ps -Leo`, and some more.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.run import RunWarning
from rtscope.model.threads import SeenThread, Threads, ThreadTimes
from rtscope.model.units import format_duration_ns
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.statistics.threadorder import thread_findings
from rtscope.wording.findings import sentence
from rtscope.wording.plain import plain
from rtscope.wording.threadorder import policy_words
from rtscope.wording.values import NOTHING, count_text

_WIDEST = 32
_SECOND_NS = 1_000_000_000


def threads_view(
    seen: Threads, warnings: Sequence[RunWarning] = (), *, every: bool = False
) -> "ThreadsView":
    """A renderable of one reading: real-time threads and those on isolated CPUs, or all threads."""
    return ThreadsView(seen, warnings, every)


@dataclass
class ThreadsView:
    """Renders itself to the width it gets."""

    seen: Threads
    warnings: Sequence[RunWarning]
    every: bool

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        shown = [
            thread
            for thread in self.seen.threads
            if self.every or thread.realtime or thread.isolated
        ]
        yield Text(_title(self.seen, len(shown)), style="bold")
        if kept := _kept_cpus(self.seen):
            yield Text(plain(kept))
        if shown:
            yield fitted(_columns(shown), options.max_width)
        for warning in self.warnings:
            yield Text.assemble(("! ", "bold yellow"), plain(warning.text))
        for found in thread_findings(self.seen):
            warned = found.severity == "warning"
            mark = ("! ", "bold yellow") if warned else ("i ", "bold cyan")
            yield Text.assemble(mark, sentence(found).text)


def _title(seen: Threads, shown: int) -> str:
    count = len(seen.threads)
    title = f"{count_text(shown)} of {count_text(count)} threads"
    if shown < count:
        title += ": real-time policies, and isolated CPUs"
    if seen.since_ns is None:
        return title
    return f"{title}; CPU time and switches in the last {seen.since_ns / _SECOND_NS:.1f} s"


def _kept_cpus(seen: Threads) -> str:
    kept = {
        "isolated CPUs": seen.isolated,
        "without a tick (nohz_full)": seen.nohz_full,
        "in isolated cpusets": seen.partition,
    }
    return ", ".join(f"{words}: {cpus}" for words, cpus in kept.items() if cpus)


def _columns(shown: list[SeenThread]) -> list[Column]:
    times = [
        thread.since or ThreadTimes(thread.cpu_ns, thread.voluntary, thread.forced)
        for thread in shown
    ]
    return [
        Column("PID", 8, [str(thread.pid) for thread in shown]),
        Column("TID", 2, [str(thread.tid) for thread in shown]),
        Column("Policy", 1, [_policy(thread) for thread in shown], left=True),
        Column("CPUs", 3, [_cut(thread.cpus) for thread in shown], left=True),
        Column("On", 4, [NOTHING if one.cpu is None else str(one.cpu) for one in shown]),
        Column("S", 11, [plain(thread.state) for thread in shown]),
        Column("CPU time", 7, [_cpu_time(one.cpu_ns) for one in times]),
        Column("Voluntary", 9, [count_text(one.voluntary) for one in times]),
        Column("Forced", 10, [count_text(one.forced) for one in times]),
        Column("Serves", 5, [_serves(thread) for thread in shown], left=True),
        Column("Waits in", 6, [_wait_channel(thread) for thread in shown], left=True),
        Column("Name", 0, [_name(thread) for thread in shown], left=True),
    ]


def _policy(thread: SeenThread) -> Text:
    words = policy_words(thread)
    if thread.runtime_ns is not None and thread.period_ns is not None:
        spans = [thread.runtime_ns, thread.deadline_ns or thread.period_ns, thread.period_ns]
        words += " " + "/".join(format_duration_ns(span) for span in spans)
    elif thread.nice and not thread.realtime:
        words += f" nice {thread.nice}"
    top = not thread.kernel and thread.priority == 99
    return Text(plain(words), style="yellow" if top else "")


def _cpu_time(ns: int) -> str:
    return f"{ns / 1e9:,.3f} s" if ns >= _SECOND_NS else f"{ns / 1e6:.3f} ms"


def _serves(thread: SeenThread) -> str:
    if thread.irq is not None:
        return f"irq {thread.irq}"
    if thread.softirq == "all":
        return "softirqs"
    return _cut(f"softirq {thread.softirq}") if thread.softirq else ""


def _wait_channel(thread: SeenThread) -> str:
    """The function's name without the compiler's suffix."""
    return _cut(thread.wait_channel.partition(".")[0]) if thread.wait_channel else NOTHING


def _name(thread: SeenThread) -> Text:
    """A kernel thread's in brackets, as ps writes it."""
    name = _cut(thread.name)
    return Text(f"[{name}]" if thread.kernel else name, style="dim" if thread.kernel else "")


def _cut(text: str | None) -> str:
    if text is None:
        return NOTHING
    cut = Text(plain(text))
    cut.truncate(_WIDEST, overflow="ellipsis")
    return cut.plain
