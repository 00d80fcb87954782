# SPDX-License-Identifier: GPL-2.0-only
"""rtscope interfere: the slowdown of a program with each kind of work on other CPUs."""

from typing import Annotated

import typer

from rtscope.cli.emitting import EmitOption
from rtscope.cli.measuring import Outputs
from rtscope.cli.options import (
    Force,
    Forms,
    Fresh,
    JsonRuns,
    JUnitFile,
    NoReport,
    Output,
    Quiet,
    Report,
    Seeds,
    Tags,
    Targets,
    agent_option,
    time_ns,
)
from rtscope.cli.placement import (
    DEFAULT_DURATION,
    DEFAULT_ROUNDS,
    Duration,
    Parallel,
    Program,
    Rounds,
    Table,
    measure_placements,
)


def interfere(
    program: Program = None,
    cpus: Annotated[
        str | None,
        typer.Option(
            "--cpus", "-a", metavar="LIST", help="CPUs to measure. [default: the last CPU]"
        ),
    ] = None,
    load_cpus: Annotated[
        str | None, agent_option("load-cpus", default="all that are not measured")
    ] = None,
    load: Annotated[
        list[str] | None,
        agent_option(
            "load",
            "--load",
            "-L",
            default="each kind by itself",
            text="Measure with this load, as in rtscope measure; may be repeated",
        ),
    ] = None,
    form: Forms = None,
    table: Table = None,
    parallel: Parallel = None,
    duration: Duration = DEFAULT_DURATION,
    rounds: Rounds = DEFAULT_ROUNDS,
    target: Targets = None,
    seeds: Seeds = None,
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    tag: Tags = None,
    fresh: Fresh = False,
    force: Force = False,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """
    Without a command the reference algorithm of rtscope scale is measured, one thread on each of
    its CPUs. Each round measures without a load and with each load once.

    \b
    sudo rtscope interfere -- ./app
    sudo rtscope interfere --cpus 0 --load-cpus 1 --load memory --load cache -- ./app
    sudo rtscope interfere --table 64M --form scalar
    """
    outputs = Outputs(
        output=output,
        report=report,
        no_report=no_report,
        junit=junit,
        emit=emit,
        force=force,
        json=json,
        quiet=quiet,
    )
    series = {
        "kind": "interfere",
        "program": program or [],
        "cpus": cpus,
        "loads": load or [],
        "load_cpus": load_cpus,
        "forms": form or [],
        "table": table,
        "parallel": parallel,
        "duration": time_ns(duration, "duration"),
        "rounds": rounds,
    }
    measure_placements(series, target, seeds, outputs, fresh=fresh, tags=tag)
