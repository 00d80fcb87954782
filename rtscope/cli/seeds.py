# SPDX-License-Identifier: GPL-2.0-only
"""--seeds of rtscope measure: an ensemble with one bar for all of its runs."""

import sys
from pathlib import Path

from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rtscope.cli.interrupt import Interrupt
from rtscope.engine.crew import Crew
from rtscope.engine.ensemble import measure_ensemble
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.report.terminal.console import output_console
from rtscope.target.agent import Target
from rtscope.wording.plain import plain


def several_seeds(
    target: Target,
    count: int | None,
    first: int | None,
    samples_file: Path | None,
    explain: int | None,
) -> range | None:
    """The seeds that --seeds asks for, from --seed or the target's own on; None without it.

    Raises RtscopeError where it cannot be had.
    """
    if count is None:
        return None
    if target.capabilities.seed is None:
        raise RtscopeError(
            "--seeds is for the lab: a real machine varies by itself, so measure longer; or name "
            "a --target vm:KERNEL"
        )
    for name, given in (("--samples-file", samples_file), ("--explain", explain)):
        if given:
            raise RtscopeError(f"{name} is of one run: give the --seed of one in place of --seeds")
    first = target.capabilities.seed if first is None else first
    return range(first, first + count)


def measure_seeds(
    request: Request,
    seeds: range,
    machine: Machine,
    target: Target,
    interrupt: Interrupt,
    *,
    quiet: bool,
) -> Run:
    """Run one request with several seeds at once; a bar on a terminal, else a line for each."""
    console = output_console(sys.stderr)
    title = plain(f"{request.probe} under load {request.load}, seeds")
    columns = (TextColumn("{task.description}", markup=False), BarColumn(), MofNCompleteColumn())
    shown = console.is_terminal and not quiet
    bar = Progress(
        *columns, TimeElapsedColumn(), console=console, transient=True, disable=not shown
    )
    crew = Crew()
    interrupt.watch(crew)
    try:
        with bar:
            task = bar.add_task(title, total=len(seeds))

            def done(run: Run) -> None:
                bar.advance(task)
                if not (shown or quiet):
                    text = f"{title}: {bar.tasks[0].completed:.0f} of {len(seeds)}"
                    console.print(text, markup=False, highlight=False)

            return measure_ensemble(request, seeds, machine, crew, done, target)
    finally:
        interrupt.agent = None
