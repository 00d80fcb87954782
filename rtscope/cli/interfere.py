# SPDX-License-Identifier: GPL-2.0-only
"""rtscope interfere: what each kind of work beside it does to a program."""

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
from rtscope.engine.sweep import begun, check_load, slots_of, usable_cpus
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Asked, RunWarning
from rtscope.model.scaling import Placement, Swept

AGGRESSORS = (
    *("cpu", "memory", "cache", "files", "disk"),
    *("network", "process", "ipc", "video", "timers"),
)


def interfere(
    program: Program = None,
    cpus: Annotated[
        str | None,
        typer.Option("--cpus", "-a", metavar="LIST", help="Measure here. [default: the last CPU]"),
    ] = None,
    load_cpus: Annotated[
        str | None,
        typer.Option(metavar="LIST", help="Run the loads here. [default: all the others]"),
    ] = None,
    load: Annotated[
        list[str] | None,
        typer.Option(
            "--load",
            "-L",
            metavar="LOAD",
            help="Measure beside each; those of rtscope measure. [default: each kind by itself]",
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
    Without a command the reference algorithm of rtscope scale is measured, one thread on each of
    its CPUs. Every load is tried in every round, and none; a program is run once in each.

    \b
    sudo rtscope interfere -- ./app
    sudo rtscope interfere --cpus 0 --load-cpus 1 --load memory --load cache -- ./app
    sudo rtscope interfere --table 64M --form scalar
    """
    check_files([output, report], force=force)
    if load and "idle" in load:
        raise RtscopeError("--load idle is measured anyway: it is what the others are held against")
    for one in load or []:
        check_load(one)
    with sweeping(target, program) as (place, interrupt):
        usable = usable_cpus(None, place)
        victims = usable_cpus(cpus, place) if cpus else usable[-1:]
        others = [cpu for cpu in usable if cpu not in victims]
        aggressors = usable_cpus(load_cpus, place) if load_cpus else others or victims
        workloads = workloads_of(program, form, table, parallel, duration, place, quiet=quiet)
        loads = list(dict.fromkeys(load or AGGRESSORS))
        placements = [Placement(tuple(victims), len(victims))]
        slots = slots_of(workloads, placements, ["idle", *loads], aggressors)
        text = "the loads ran on the CPUs that were measured too: they took time of the CPU itself"
        beside = not set(aggressors) & set(victims)
        record = begun(
            "interfere",
            read_machine(place.target, interrupt.watch),
            place.target.name,
            Swept(program=program or [], load_cpus=aggressors),
            load=", ".join(loads),
            asked=Asked(command=["rtscope", *sys.argv[1:]], cpus=cpus, loads=["idle", *loads]),
            warnings=[] if beside else [RunWarning("loads-not-beside", text)],
        )
        run = sweep_all(workloads, slots, record, rounds, place, interrupt, quiet=quiet)
        end_sweep(
            run, interrupt, output, report, no_report=no_report, force=force, json=json, quiet=quiet
        )
