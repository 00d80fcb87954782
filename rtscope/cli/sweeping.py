# SPDX-License-Identifier: GPL-2.0-only
"""What scale and interfere have in common: workloads, rounds with a bar, and where it all goes."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, NoReturn

import typer
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

from rtscope.cli.interrupt import Interrupt
from rtscope.cli.outputs import Display, ended_by_watchdog, finish_run, keep_run
from rtscope.cli.reportfile import write_report
from rtscope.cli.streams import complain
from rtscope.cli.targets import reached
from rtscope.engine.sweep import Place, Slot, every, fitting_interval_ns, swept
from rtscope.model.errors import RtscopeError
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.model.units import parse_time_ns
from rtscope.report.terminal.console import output_console
from rtscope.wording.plain import plain

FORMS = ("scalar", "vector")
DEFAULT_ROUNDS = 5

Program = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="[-- COMMAND...]",
        help="A program of yours, measured in place of the reference algorithm; {n} in its words "
        "becomes the number of threads.",
    ),
]
Form = Annotated[
    list[str] | None,
    typer.Option(
        "--form", "-f", metavar="FORM", help="Of the algorithm: scalar or vector. [default: both]"
    ),
]
Table = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="Of the algorithm's look-up table, such as 64M. [16K]"),
]
Parallel = Annotated[
    int | None,
    typer.Option(min=0, max=100, metavar="PERCENT", help="Of the algorithm's work. [95]"),
]
Rounds = Annotated[
    int, typer.Option("--rounds", "-r", min=2, max=1000, help="Measure each so many times.")
]
Duration = Annotated[
    str,
    typer.Option(
        "--duration", "-D", metavar="TIME", help="Of each measurement of the algorithm; bare: s."
    ),
]


@contextmanager
def sweeping(target: str, program: Sequence[str] | None) -> Iterator[tuple[Place, Interrupt]]:
    """The target to measure on, and what takes signals until the end of the block.

    What fails because of a signal ends the command with the status that says so.
    """
    place = reached(target)
    if program and not place.capabilities.user_programs:
        raise RtscopeError(
            f"{target} cannot run your program: measure the reference algorithm there, or your "
            "program on a board over ssh"
        )
    interrupt = Interrupt()
    with interrupt.installed():
        try:
            yield Place(place, interrupt.watch), interrupt
        except RtscopeError as error:
            if interrupt.signal is None:
                raise
            complain(str(error))
            raise typer.Exit(128 + interrupt.signal) from None


def workloads_of(
    program: Sequence[str] | None,
    forms: Sequence[str] | None,
    table: str | None,
    parallel: int | None,
    duration: str,
    place: Place,
    *,
    quiet: bool,
) -> dict[str, Request]:
    """The requests by workload, without their CPUs. Raises RtscopeError."""
    if program:
        given = {"--form": forms, "--table": table, "--parallel": parallel}
        for name, value in given.items():
            if value not in (None, []):
                raise RtscopeError(f"{name} is of the reference algorithm: leave out -- COMMAND")
        return {program[0]: Request(probe="exec", samples=1, program=list(program), worst=0)}
    options = {"table": table, "parallel": None if parallel is None else str(parallel)}
    own = {name: value for name, value in options.items() if value is not None}
    requests = {
        form: Request(
            probe="scaling",
            duration_ns=parse_time_ns(duration, "s"),
            options={"form": form} | own,
            worst=0,
        )
        for form in forms or FORMS
    }
    found = {}
    for form, request in requests.items():
        try:
            place.rehearsed(request)
            found[form] = request
        except RtscopeError as error:
            if forms or form != "vector" or "no vector unit" not in str(error):
                raise
            if not quiet:
                complain(
                    "this CPU has no vector unit that the agent can use: measuring scalar only"
                )
    return found


def sweep_all(
    workloads: Mapping[str, Request],
    slots: list[Slot],
    record: Run,
    rounds: int,
    place: Place,
    interrupt: Interrupt,
    *,
    quiet: bool,
) -> Run:
    """Measure the slots, keeping the record after each round. Raises RtscopeError."""
    run_of = place.run_of(record.machine)
    if record.sweep and not record.sweep.program:
        first = slots[0].placement.cpus[0]
        interval_ns = fitting_interval_ns(workloads, first, run_of)
        slots = [every(slot, interval_ns) for slot in slots]
    with _bar(len(slots) * rounds, quiet=quiet) as advance:
        return swept(slots, rounds, record, run_of, advance, interrupt.is_set, keep_run)


@contextmanager
def _bar(total: int, *, quiet: bool) -> Iterator[Callable[[Slot], None]]:
    """A bar on a terminal, nothing elsewhere."""
    console = output_console(sys.stderr)
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    with Progress(
        *columns,
        TimeElapsedColumn(),
        console=console,
        transient=True,
        disable=quiet or not console.is_terminal,
    ) as progress:
        task = progress.add_task("", total=total)
        done = -1

        def advance(slot: Slot) -> None:
            nonlocal done
            done += 1
            progress.update(task, completed=done, description=plain(slot.name))

        yield advance


def end_sweep(
    run: Run,
    interrupt: Interrupt,
    output: Path | None,
    report: Path | None,
    *,
    no_report: bool,
    force: bool,
    json: bool,
    quiet: bool,
) -> NoReturn:
    """Keep, show and draw the run, and end with the status that tells what became of it."""
    lost = not finish_run(run, [], output, Display(json, quiet), force=force)
    if not no_report:
        lost |= not write_report([run], [], run.id, report, json=json, quiet=quiet)
    if interrupt.signal:
        raise typer.Exit(128 + interrupt.signal)
    if lost:
        raise typer.Exit(2)
    raise typer.Exit(ended_by_watchdog([run]) or int(run.status != "complete"))
