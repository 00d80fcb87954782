# SPDX-License-Identifier: GPL-2.0-only
"""rtscope scale: how work scales over the CPUs, and where its threads should run."""

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


def scale(
    program: Program = None,
    cpus: Annotated[
        str | None, typer.Option("--cpus", "-a", metavar="LIST", help="CPUs to use. [default: all]")
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option(
            "--threads",
            metavar="LIST",
            help="Numbers of threads, such as 1-4,8. [default: 1 to the number of CPUs]",
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
    The reference algorithm is periodic and 95 % parallel; it computes with scalar and with vector
    units. It is placed on one CPU after the other in each order that makes sense here: a core for
    each thread first, a core's hardware threads first, and so on. Amdahl's law and the Universal
    Scalability Law are fitted to the times. Your own program gets the CPUs as its
    affinity and runs once in each round.

    \b
    sudo rtscope scale
    sudo rtscope scale --table 64M --form vector --cpus 0-7
    rtscope scale -- ./app --threads {n}
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
        "kind": "scale",
        "program": program or [],
        "cpus": cpus,
        "threads": threads,
        "forms": form or [],
        "table": table,
        "parallel": parallel,
        "duration": time_ns(duration, "duration"),
        "rounds": rounds,
    }
    measure_placements(series, target, seeds, outputs, fresh=fresh, tags=tag)
