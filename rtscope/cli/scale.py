# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale: how work scales over this machine's CPUs, and where its threads should run."""

import sys
from typing import Annotated

import typer

from rtscope.cli.options import Force, JsonRuns, NoReport, OneTarget, Output, Quiet, Report
from rtscope.cli.outputs import check_files
from rtscope.cli.sweeping import (
    DEFAULT_ROUNDS,
    Duration,
    Form,
    Parallel,
    Program,
    Rounds,
    Table,
    end_sweep,
    sweep_all,
    sweeping,
    workloads_of,
)
from rtscope.engine.measure import read_machine
from rtscope.engine.sweep import THREADS_PLACE, begun, slots_of, usable_cpus
from rtscope.model.cpulist import parse_cpu_list
from rtscope.model.errors import RtscopeError
from rtscope.model.placements import each_alone, kinds_of, orders_of, pairs_of, thread_counts
from rtscope.model.run import Asked
from rtscope.model.scaling import Swept


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
    target: OneTarget = "local",
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    force: Force = False,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """
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
    check_files([output, report], force=force)
    if program and not any(THREADS_PLACE in word for word in program):
        raise RtscopeError(
            f"the command does not say how many threads it should have: write {THREADS_PLACE} "
            f"where their number goes, such as {program[0]} --threads {THREADS_PLACE}"
        )
    wanted = [count for count in parse_cpu_list(threads) if count] if threads else []
    with sweeping(target, program) as (place, interrupt):
        usable = usable_cpus(cpus, place)
        counts = sorted({1, *(wanted or thread_counts(len(usable)))})
        workloads = workloads_of(program, form, table, parallel, duration, place, quiet=quiet)
        machine = read_machine(place.target, interrupt.watch)
        orders = orders_of(machine, usable, counts)
        pairs = pairs_of(machine, usable) if 2 in counts else []
        placed = [one for order in orders for one in order.placements]
        placed += [pair.placement for pair in pairs]
        placed += kinds_of(machine, usable) if program else each_alone(machine, usable)
        slots = slots_of(workloads, list(dict.fromkeys(placed)))
        record = begun(
            "scale",
            machine,
            place.target.name,
            Swept(program=program or [], orders=orders, pairs=pairs),
            asked=Asked(command=["rtscope", *sys.argv[1:]], cpus=cpus, loads=["idle"]),
        )
        run = sweep_all(workloads, slots, record, rounds, place, interrupt, quiet=quiet)
        end_sweep(
            run, interrupt, output, report, no_report=no_report, force=force, json=json, quiet=quiet
        )
