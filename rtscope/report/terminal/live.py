# SPDX-License-Identifier: GPL-2.0-only
"""The live view: the metrics of every thread so far, redrawn from each progress line."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderableType, RenderResult
from rich.text import Text

from rtscope.engine.sofar import SoFar
from rtscope.model.errors import RtscopeError
from rtscope.model.progress import Progress, ThreadProgress
from rtscope.model.quantity import PERIODIC
from rtscope.model.run import RunWarning, Thread
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.statistics.metrics import Quantile, quantile_ns, samples_needed
from rtscope.statistics.response import Responses, period_ns, responses_at
from rtscope.target.protocol import AgentWarning, AnyLine, Start
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, quantile_text, rate_text, span_text, time_text

_MOST_LOADS = 6
_MOST_WARNINGS = 3
_PERCENT = 99.9
"""of the response times"""
_RESPONSES_NS = 10**9
"""between two computations of the response times, because each walks over all late buckets"""


@dataclass
class LiveState:
    """The state of a measurement; the runner replaces `progress` with each progress line."""

    title: str
    """such as "cyclic under mixed:2 on local" """
    cpus: dict[int, int | None] = field(default_factory=dict)
    """thread to CPU, from the agent's start line"""
    names: dict[int, str] = field(default_factory=dict)
    """names of the probe's threads, from the same line"""
    duration_ns: int | None = None
    samples: int | None = None
    """of each thread, where that is how the run ends"""
    progress: Progress | None = None
    previous: Progress | None = None
    """the progress line before that, for the loads' present rate"""
    start: Start | None = None
    so_far: SoFar = field(default_factory=SoFar)
    """the histograms, which progress lines report in coarse buckets"""
    responses: dict[int, Quantile] = field(default_factory=dict)
    """p99.9 with the missed periods filled in, of the threads that missed some"""
    responses_after_ns: int = 0
    """when they are computed again"""
    outlook: Sequence[str] = ()
    """how long each limit of --until takes, at the rates so far"""
    warnings: list[RunWarning] = field(default_factory=list)
    """the first, as many as are shown"""
    more_warnings: int = 0
    """how many were received after those; an agent may send 1000 a second"""


def follow(state: LiveState, line: AnyLine) -> None:
    """Take in a line of the agent."""
    match line:
        case AgentWarning():
            if len(state.warnings) < _MOST_WARNINGS:
                state.warnings.append(RunWarning(line.code, line.text))
            else:
                state.more_warnings += 1
        case Start():
            state.cpus = {thread.thread: thread.cpu for thread in line.threads}
            state.names = {thread.thread: thread.name for thread in line.threads}
            state.duration_ns, state.samples = line.duration_ns or None, line.samples or None
            state.start, state.so_far, state.responses = line, SoFar(), {}
            state.responses_after_ns = 0
        case Progress():
            state.previous, state.progress = state.progress, line
            if state.start and state.start.probe in PERIODIC:
                _follow_responses(state, state.start, line)


def _follow_responses(state: LiveState, start: Start, progress: Progress) -> None:
    try:
        state.so_far.take(progress)
        if progress.time_ns < state.responses_after_ns:
            return
        began_ns = time.monotonic_ns()
        if any(thread.missed for thread in progress.threads):
            threads = [one for one in state.so_far.threads(start) if one.missed]
            state.responses = {one.thread: _p999_response(start, one) for one in threads}
        took_ns = time.monotonic_ns() - began_ns
        state.responses_after_ns = progress.time_ns + max(_RESPONSES_NS, 20 * took_ns)
    except RtscopeError:  # the line is invalid, which ends the run
        return


def _p999_response(start: Start, thread: Thread) -> Quantile:
    found = responses_at(thread, period_ns(start.interval_ns, thread.thread, start.options))
    if not isinstance(found, Responses):
        return Quantile(_PERCENT, None)
    return quantile_ns(found.histogram, _PERCENT, thread.max_ns)


def live_view(state: LiveState) -> "LiveView":
    """A renderable for rich.live.Live; it fits itself into the width and height it gets."""
    return LiveView(state)


@dataclass
class LiveView:
    """Renders itself to the room it gets."""

    state: LiveState

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        state = self.state
        yield _cut(Text(plain(state.title), style="bold"))
        progress = state.progress
        if progress is None:
            yield Text("waiting for the first sample …", style="dim")
            yield from _warnings(state)
            return
        yield from _time_left(state, progress, options.max_width)
        loads = _loads(progress, state.previous)
        warnings = _warnings(state)
        room = (options.height or console.size.height) - len(loads) - len(warnings) - 7
        outlook = [_cut(Text(plain(sentence))) for sentence in state.outlook[: max(0, room - 1)]]
        yield from outlook
        room -= len(outlook)
        yield _table(state, progress, max(1, room), options.max_width)
        yield from loads
        yield from warnings


def _cut(text: Text) -> Text:
    text.no_wrap, text.overflow = True, "ellipsis"
    return text


def _time_left(state: LiveState, progress: Progress, width: int) -> list[Text]:
    elapsed = progress.time_ns
    if state.duration_ns:
        left = round(max(0, state.duration_ns - elapsed), -8)
        text = f"{span_text(elapsed)} of {span_text(state.duration_ns)}, {span_text(left)} left"
        done = elapsed / state.duration_ns
    elif state.samples:
        least = min((thread.count for thread in progress.threads), default=0)
        done = least / state.samples
        text = f"{span_text(elapsed)}, {least:,} of {state.samples:,} samples"
        if least:
            left = int(elapsed * max(0, state.samples - least) / least)
            text += f", about {span_text(left)} left"
    else:
        return [_cut(Text(f"{span_text(elapsed)} so far; Ctrl-C ends the run and keeps it"))]
    filled = int(width * min(1.0, done))
    bar = Text.assemble(("━" * filled, "green"), ("─" * (width - filled), "dim"))
    return [_cut(Text(text)), bar]


def _table(state: LiveState, progress: Progress, room: int, width: int) -> RenderableType:
    threads = sorted(progress.threads, key=lambda thread: thread.thread)
    hidden = 0
    if len(threads) > room:
        threads = sorted(threads, key=lambda thread: -(thread.max_ns or 0))[: max(1, room - 1)]
        hidden = len(progress.threads) - len(threads)

    def cells(text: list[str]) -> list[str | Text]:
        return [*text, ""] if hidden else list(text)

    names = cells([_name(state, thread) for thread in threads])
    if hidden:
        names[-1] = Text(f"… {hidden} more CPU{'s' if hidden > 1 else ''}", style="dim")
    missed: list[str | Text] = [
        Text(count_text(thread.missed), style="yellow" if thread.missed else "")
        for thread in threads
    ]
    answered = [
        quantile_text(state.responses[thread.thread])
        if thread.thread in state.responses
        else time_text(_p999_ns(thread))
        for thread in threads
    ]
    return fitted(
        [
            Column("CPU", 0, names, left=True),
            Column("samples", 4, cells([count_text(thread.count) for thread in threads])),
            Column("missed", 3, [*missed, ""] if hidden else missed),
            Column("min", 6, cells([time_text(thread.min_ns) for thread in threads])),
            Column("avg", 5, cells([time_text(thread.mean_ns) for thread in threads])),
            Column("p99.9", 2, cells([time_text(_p999_ns(thread)) for thread in threads])),
            *([Column("p99.9 response", 3, cells(answered))] if state.responses else []),
            Column("max", 1, cells([time_text(thread.max_ns) for thread in threads])),
            Column("max now", 7, cells([time_text(thread.window.max_ns) for thread in threads])),
        ],
        width,
    )


def _p999_ns(thread: ThreadProgress) -> int | None:
    """The p99.9, or None if there are too few samples."""
    return thread.p999_ns if thread.count >= samples_needed(99.9) else None


def _name(state: LiveState, thread: ThreadProgress) -> str:
    cpu = state.cpus.get(thread.thread)
    name = plain(state.names.get(thread.thread, ""))
    if name:
        return name if cpu is None else f"{name} on CPU {cpu}"
    return f"thread {thread.thread}" if cpu is None else str(cpu)


def _loads(progress: Progress, previous: Progress | None) -> list[Text]:
    """One line a load: work per second since the progress line before, or since the start."""
    if previous and previous.time_ns >= progress.time_ns:  # the last one of a run
        previous = None
    before = {load.name: load.work for load in previous.loads} if previous else {}
    since_ns = progress.time_ns - (previous.time_ns if previous else 0)
    lines = []
    for load in progress.loads[:_MOST_LOADS]:
        rates = [
            rate_text(unit, max(0, total - before.get(load.name, {}).get(unit, 0)) * 1e9 / since_ns)
            for unit, total in load.work.items()
            if since_ns > 0
        ]
        lines.append(
            _cut(Text.assemble(("load ", "bold"), f"{plain(load.name)}: {', '.join(rates)}"))
        )
    if len(progress.loads) > _MOST_LOADS:
        lines.append(Text(f"… {len(progress.loads) - _MOST_LOADS} more loads", style="dim"))
    return lines


def _warnings(state: LiveState) -> list[Text]:
    lines = [
        _cut(Text.assemble(("! ", "bold yellow"), plain(warning.text)))
        for warning in state.warnings
    ]
    if state.more_warnings:
        lines.append(Text(f"… {state.more_warnings} more warnings", style="dim"))
    return lines
