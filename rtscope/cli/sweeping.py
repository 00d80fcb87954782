"""What scale and interfere have in common: workloads, rounds with a bar, and where it all goes."""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from rtscope.cli.interrupt import Interrupt
from rtscope.cli.streams import complain, told
from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

if TYPE_CHECKING:
    from rtscope.experiment.request import Request
    from rtscope.experiment.sweep import Slot
    from rtscope.model.machine import Machine
    from rtscope.model.scaling import Sweep

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


def workloads_of(
    program: Sequence[str] | None,
    forms: Sequence[str] | None,
    table: str | None,
    parallel: int | None,
    duration: str,
) -> dict[str, "Request"]:
    """The requests by workload, without their CPUs. Raises RtscopeError."""
    from rtscope.experiment.check import rehearse
    from rtscope.experiment.request import Request

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
            rehearse(request)
            found[form] = request
        except RtscopeError as error:
            if forms or form != "vector" or "no vector unit" not in str(error):
                raise RtscopeError(str(error).removeprefix("rtscope-agent scaling: ")) from None
            complain("this CPU has no vector unit that the agent can use: scalar alone is measured")
    return found


def _settings(workloads: Mapping[str, "Request"], interval_ns: int) -> dict[str, str]:
    """What the algorithm was, for people."""
    from rtscope.model.units import format_duration_ns

    one = next(iter(workloads.values()))
    return {
        "parallel": f"{one.options.get('parallel', '95')} %",
        "table": one.options.get("table", "16K"),
        "every": format_duration_ns(interval_ns),
    }


def sweep_all(
    workloads: Mapping[str, "Request"],
    make: "Callable[[Machine], list[Slot]]",
    rounds: int,
    cpu: int,
    *,
    quiet: bool,
) -> "tuple[Sweep, int]":
    """Measure the slots that `make` makes of the machine; and the exit status.

    That is 128 + a signal, or 1 where a round failed.
    """
    import msgspec

    from rtscope.experiment.measure import read_machine
    from rtscope.experiment.sweep import every, fitting_interval_ns, measured_on, swept

    interrupt = Interrupt()
    settings: dict[str, str] = {}
    program = next(iter(workloads.values())).program
    with interrupt.installed():
        try:
            machine = read_machine(on_start=interrupt.watch)
            run_of = measured_on(machine, interrupt.watch)
            slots = make(machine)
            if not program:
                interval_ns = fitting_interval_ns(workloads, cpu, run_of)
                slots = [every(slot, interval_ns) for slot in slots]
                settings = _settings(workloads, interval_ns)
            with _bar(len(slots) * rounds, quiet=quiet) as advance:
                over = interrupt.is_set
                sweep = swept(slots, rounds, machine, run_of, advance, over)
        except RtscopeError as error:
            if interrupt.signal is None:
                raise
            complain(str(error))
            raise typer.Exit(128 + interrupt.signal) from None
    sweep = msgspec.structs.replace(
        sweep, command=["rtscope", *sys.argv[1:]], program=program, settings=settings
    )
    if interrupt.signal:
        return sweep, 128 + interrupt.signal
    return sweep, int(sweep.rounds < rounds)


@contextmanager
def _bar(total: int, *, quiet: bool) -> "Iterator[Callable[[Slot], None]]":
    """A bar on a terminal, nothing elsewhere."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn

    from rtscope.report.terminal import output_console
    from rtscope.report.words import plain

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

        def advance(slot: "Slot") -> None:
            nonlocal done
            done += 1
            load = "" if slot.load == "idle" else f" beside {slot.load}"
            place = f"{slot.workload}, {slot.placement.threads} threads{load}"
            progress.update(task, completed=done, description=plain(place))

        yield advance


def show_sweep(
    sweep: "Sweep", name: str, chosen: Path | None, *, no_report: bool, json: bool
) -> bool:
    """Print the sweep and write its page; whether both could be done."""
    import msgspec

    from rtscope.report.scaling import sweep_page, sweep_sentences, sweep_view
    from rtscope.report.terminal import output_console
    from rtscope.store.database import new_run_id, report_path
    from rtscope.store.files import write_file

    if json:
        advice, findings = sweep_sentences(sweep)
        record = msgspec.to_builtins(sweep) | {"advice": advice, "findings": findings}
        written = told(lambda: typer.echo(msgspec.json.encode(record)))
    else:
        written = told(lambda: output_console().print(sweep_view(sweep)))
    if no_report and not chosen:
        return written
    path = chosen or report_path(f"{name}-{new_run_id()}")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(sweep_page(sweep).encode(), path, "the report", overwrite=chosen is not None)
    except (OSError, RtscopeError) as error:
        complain(str(error))
        return False
    where = sys.stderr if json else sys.stdout
    return told(lambda: print(f"report: {path}", file=where)) and written
