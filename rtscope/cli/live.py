# SPDX-License-Identifier: GPL-2.0-only
"""One run of rtscope measure: shown while it is measured, its worst samples explained after."""

import sys
from collections.abc import Callable
from contextlib import nullcontext, suppress

from rich.console import Console
from rich.live import Live

from rtscope.cli.explain import with_explanations
from rtscope.cli.interrupt import Interrupt
from rtscope.engine.explain import Heard, check_noticed_at_once
from rtscope.engine.measure import measure as measure_run
from rtscope.model.machine import Machine
from rtscope.model.progress import Progress
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.model.units import counted, format_duration_ns
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.live import LiveState, follow, live_view
from rtscope.target.agent import Target
from rtscope.target.protocol import AnyLine

_PIPED_PROGRESS_NS = 10_000_000_000


def measure_explained(
    request: Request,
    machine: Machine,
    target: Target,
    interrupt: Interrupt,
    explain: int | None,
    *,
    quiet: bool,
) -> tuple[Run, bool]:
    """Run one request and explain its worst samples, and whether all that could be done."""
    if explain:
        check_noticed_at_once(request)
    heard = Heard()
    run = _measure_one(request, machine, target, interrupt, heard.hear, quiet=quiet)
    if not explain:
        return run, True
    return with_explanations(run, heard, request, target, explain, interrupt, quiet=quiet)


def _measure_one(
    request: Request,
    machine: Machine,
    target: Target,
    interrupt: Interrupt,
    on_line: Callable[[AnyLine], None],
    *,
    quiet: bool,
) -> Run:
    """Run one request, with a live view on a terminal and a line now and then elsewhere."""
    console = output_console(sys.stderr)
    state = LiveState(
        title=f"{request.probe} under load {request.load}",
    )
    next_line_ns = 0

    def heard(line: AnyLine) -> None:
        nonlocal next_line_ns
        on_line(line)
        follow(state, line)
        with suppress(OSError):  # nobody looks any more, but the run is wanted
            if isinstance(line, Progress) and not (live or quiet) and line.time_ns >= next_line_ns:
                next_line_ns = line.time_ns + _PIPED_PROGRESS_NS
                _print_progress(console, state)
            if live:
                live.update(live_view(state), refresh=True)

    shown = console.is_terminal and not quiet
    live = (
        Live(live_view(state), console=console, auto_refresh=False, transient=True)
        if shown
        else None
    )
    run: Run | None = None
    try:
        with live or nullcontext():
            run = measure_run(request, machine, interrupt.watch, heard, target)
    except OSError:
        if run is None:
            raise
        # The terminal went away before the live view was taken from it: the run is there.
    finally:
        interrupt.agent = None
    return run


def _print_progress(console: Console, state: LiveState) -> None:

    progress = state.progress
    assert progress is not None
    whole = f" of {format_duration_ns(state.duration_ns)}" if state.duration_ns else ""
    samples = sum(thread.count for thread in progress.threads)
    seconds = progress.time_ns // 1_000_000_000
    console.print(
        f"{state.title}: {seconds}s{whole}, {counted(samples, 'sample')}",
        markup=False,
        highlight=False,
    )
