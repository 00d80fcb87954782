"""rtscope interfere: what each kind of work beside it does to a program."""

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
    report: Report = None,
    no_report: NoReport = False,
    force: Force = False,
    json: Json = False,
    quiet: Quiet = False,
) -> None:
    """Measure how much slower a program is beside each kind of work on other CPUs.

    Without a command the reference algorithm of rtscope scale is measured, one thread on each of
    its CPUs. Every load is tried in every round, and none; a program is run once in each.

    \b
    sudo rtscope interfere -- ./app
    sudo rtscope interfere --cpus 0 --load-cpus 1 --load memory --load cache -- ./app
    sudo rtscope interfere --table 64M --form scalar
    """
    import msgspec

    from rtscope.experiment.sweep import check_load, slots_of, usable_cpus
    from rtscope.model.run import RunWarning
    from rtscope.model.scaling import Placement

    check_files([report], force=force)
    if load and "idle" in load:
        raise RtscopeError("--load idle is measured anyway: it is what the others are held against")
    for one in load or []:
        check_load(one)
    usable = usable_cpus(None)
    victims = usable_cpus(cpus) if cpus else usable[-1:]
    others = [cpu for cpu in usable if cpu not in victims]
    aggressors = usable_cpus(load_cpus) if load_cpus else others or victims
    workloads = workloads_of(program, form, table, parallel, duration)
    place = Placement(tuple(victims), len(victims))
    loads = ["idle", *dict.fromkeys(load or AGGRESSORS)]

    def make(machine: "Machine") -> "list[Slot]":
        return slots_of(workloads, [place], loads, aggressors)

    sweep, status = sweep_all(workloads, make, rounds, victims[0], quiet=quiet)
    warnings = list(sweep.warnings)
    if set(aggressors) & set(victims):
        text = "the loads ran on the CPUs that were measured too: they took time of the CPU itself"
        warnings.insert(0, RunWarning("loads-not-beside", text))
    sweep = msgspec.structs.replace(sweep, load_cpus=aggressors, warnings=warnings)
    shown = show_sweep(sweep, "interfere", report, no_report=no_report, json=json)
    raise typer.Exit(status if shown else 2)
