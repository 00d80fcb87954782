"""rtscope scale: how work scales over this machine's CPUs, and where its threads should run."""

from typing import TYPE_CHECKING, Annotated

import typer

from rtscope.cli.options import Force, Json, NoReport, Quiet, Report
from rtscope.cli.outputs import check_files
from rtscope.cli.sweeping import (
    DEFAULT_ROUNDS,
    Duration,
    Form,
    Parallel,
    Program,
    Rounds,
    Table,
    show_sweep,
    sweep_all,
    workloads_of,
)
from rtscope.model.errors import RtscopeError

if TYPE_CHECKING:
    from rtscope.experiment.sweep import Slot
    from rtscope.model.machine import Machine


def scale(
    program: Program = None,
    cpus: Annotated[
        str | None, typer.Option("--cpus", "-a", metavar="LIST", help="Use these. [default: all]")
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            metavar="LIST",
            help="Numbers of threads, such as 1-4,8. [default: from 1 to that of the CPUs]",
        ),
    ] = None,
    form: Form = None,
    table: Table = None,
    parallel: Parallel = None,
    duration: Duration = "500ms",
    rounds: Rounds = DEFAULT_ROUNDS,
    report: Report = None,
    no_report: NoReport = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how work scales over the CPUs, and tell where its threads should run.

    The reference algorithm is periodic and 95 % parallel; it computes with scalar and with vector
    units. It is placed on one CPU after the other in each order that makes sense here: a core for
    each thread first, a core's hardware threads first, and so on. Amdahl's law and the Universal
    Scalability Law are fitted to the times. A program of yours is given the CPUs and run once a
    round.

    \b
    sudo rtscope scale
    sudo rtscope scale --table 64M --form vector --cpus 0-7
    rtscope scale -- ./app --threads {n}
    """
    import msgspec

    from rtscope.experiment.sweep import THREADS_PLACE, slots_of, usable_cpus
    from rtscope.model.cpulist import parse_cpu_list
    from rtscope.model.placements import kinds_of, orders_of, pairs_of, thread_counts

    check_files([report], force=force)
    if program and not any(THREADS_PLACE in word for word in program):
        raise RtscopeError(
            f"the command does not say how many threads it should have: write {THREADS_PLACE} "
            f"where their number goes, such as {program[0]} --threads {THREADS_PLACE}"
        )
    usable = usable_cpus(cpus)
    counts = [count for count in parse_cpu_list(threads) if count] if threads else []
    counts = sorted({1, *(counts or thread_counts(len(usable)))})
    workloads = workloads_of(program, form, table, parallel, duration)

    def make(machine: "Machine") -> "list[Slot]":
        placed = [one for order in orders_of(machine, usable, counts) for one in order.placements]
        if 2 in counts:
            placed += [pair.placement for pair in pairs_of(machine, usable)]
        placed += kinds_of(machine, usable)
        return slots_of(workloads, list(dict.fromkeys(placed)))

    sweep, status = sweep_all(workloads, make, rounds, usable[0], quiet=quiet)
    sweep = msgspec.structs.replace(
        sweep,
        orders=orders_of(sweep.machine, usable, counts),
        pairs=pairs_of(sweep.machine, usable) if 2 in counts else [],
    )
    shown = show_sweep(sweep, "scale", report, no_report=no_report, json=json)
    raise typer.Exit(status if shown else 2)
