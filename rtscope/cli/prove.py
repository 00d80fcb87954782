# SPDX-License-Identifier: GPL-2.0-only
"""rtscope prove: measure with and without a cause of late samples."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.cli.measuring import Outputs, measured
from rtscope.cli.options import Fresh, Quiet, time_ns
from rtscope.engine.planfile import made_plan
from rtscope.engine.proving import (
    LAST,
    chosen_cause,
    cpus_of,
    outlier_limit_ns,
    plan_content,
    profile_for,
    proof_of,
)
from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.streams import note
from rtscope.store.naming import newest_explained, run_named
from rtscope.tuning.remedies import remedy_of
from rtscope.wording.causes import term_text
from rtscope.wording.proof import proof_lines
from rtscope.wording.values import time_text

_DURATION = "10s"


def prove(
    cause: Annotated[
        str,
        typer.Argument(
            metavar="CAUSE",
            help="Number or name in the run's ranking, such as 1 or hard-interrupt:eth0; last is "
            "the largest that a change addresses.",
        ),
    ] = LAST,
    run: Annotated[
        str | None,
        typer.Option(
            "--run",
            "-r",
            metavar="RUN",
            help="Run whose cause it is. [default: the newest with explained samples]",
        ),
    ] = None,
    above: Annotated[
        str | None,
        typer.Option(
            metavar="TIME", help="Samples above this are outliers. [default: the run's p99]"
        ),
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=2, max=1000, help="Rounds; each measures on and off once.")
    ] = 10,
    duration: Annotated[
        str, typer.Option("--duration", "-D", metavar="TIME", help="Duration of each measurement.")
    ] = _DURATION,
    profile: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Profile with the change to test. [default: the one for this kind of cause]",
        ),
    ] = None,
    cpus: Annotated[
        str | None,
        typer.Option(
            metavar="LIST", help="CPUs that the cause is kept off. [default: those measured]"
        ),
    ] = None,
    target: Annotated[
        str | None,
        typer.Option("--target", "-t", metavar="TARGET", help="Where. [default: as the run]"),
    ] = None,
    dry_run: Annotated[
        bool, typer.Option("--dry-run", "-n", help="Print the change and the cells and exit.")
    ] = False,
    fresh: Fresh = False,
    json: Annotated[bool, typer.Option("--json", help="Print the result as JSON.")] = False,
    quiet: Quiet = False,
) -> None:
    """Prove that a cause makes samples late: measure with and without it.

    A reversible change removes the cause. Each round measures with the change on and off, in random
    order, like the run in which the cause was found, without its trace. The agent undoes the change
    after each measurement, also after Ctrl-C. Exit status: 0 if the change cut the outliers, 1 if
    it did not or that is undecided.

    \b
    sudo rtscope measure --duration 60s --load mixed --explain 20
    sudo rtscope prove 1 --rounds 10
    sudo rtscope prove hard-interrupt:eth0 --above 50us
    """
    source = run_named(run) if run else newest_explained()
    found = chosen_cause(source, cause)
    above_ns = outlier_limit_ns(source) if above is None else parse_time_ns(above, "us")
    if not above_ns:
        raise RtscopeError("--above must be longer than 0")
    path = profile or profile_for(found)
    if not quiet:
        step = "" if profile else f": {remedy_of(found).step}"
        note(f"cause: {term_text(found.kind, found.name)}; change{step or f': {path}'}")
        note(f"outliers are samples above {time_text(above_ns)}")
    content = plan_content(
        source,
        str(path),
        cpus or cpus_of(found, source) or None,
        rounds=rounds,
        duration_ns=time_ns(duration, "duration"),
        target=target or source.target,
    )
    outputs = Outputs(no_report=True, verdict_alone=True, quiet=quiet)
    results, _ = measured(made_plan(content), outputs, dry_run=dry_run, fresh=fresh)
    proof = proof_of(found, [one.run for one in results if one.run], above_ns)
    if json:
        print_json(proof)
    else:
        for line in proof_lines(proof):
            typer.echo(line)
    raise typer.Exit(0 if proof.verdict == "fewer" else 1)
