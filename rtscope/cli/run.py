# SPDX-License-Identifier: GPL-2.0-only
"""rtscope run: measure all cells of a plan, or continue an interrupted experiment."""

import math
from typing import Annotated

import typer

from rtscope.cli.emitting import EmitOption
from rtscope.cli.measuring import Outputs, measure_and_end
from rtscope.cli.options import (
    Dask,
    Force,
    Fresh,
    JsonRuns,
    JUnitFile,
    NoReport,
    PlanTargets,
    Quiet,
    Report,
    Scale,
    Seeds,
    Tags,
)
from rtscope.cli.targets import reached
from rtscope.engine.planfile import find_plan, plan_names
from rtscope.model.errors import RtscopeError


def run(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="Plan: a name such as quick, or a file (docs/reference/plans.md).",
            autocompletion=plan_names,
        ),
    ],
    dry_run: Annotated[
        bool,
        typer.Option(
            "--dry-run", "-n", help="Check the plan, print its cells and duration, and exit."
        ),
    ] = False,
    tag: Tags = None,
    fresh: Fresh = False,
    target: PlanTargets = None,
    seeds: Seeds = None,
    dask: Dask = None,
    scale: Scale = 1.0,
    report: Report = None,
    no_report: NoReport = False,
    junit: JUnitFile = None,
    emit: EmitOption = None,
    force: Force = False,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """
    A bad plan is refused before anything starts. Every finished cell is stored at once. After a
    crash or Ctrl-C the same command continues with the remaining cells on the same system.
    Exit status: 0, 1 when a budget fails or is inconclusive or a cell could not be measured, 2 for
    a bad plan, 130 on Ctrl-C.

    \b
    rtscope run quick
    rtscope run quick --target vm:x86_64-rt --target vm:arm64-rt
    rtscope run PLAN --scale 0.01 --junit results.xml
    """
    if not (math.isfinite(scale) and 0 < scale <= 1_000_000):
        raise RtscopeError(f"--scale {scale} is not a factor above 0, such as 0.01")
    outputs = Outputs(
        report=report,
        no_report=no_report,
        junit=junit,
        emit=emit,
        force=force,
        json=json,
        quiet=quiet,
        table=True,
    )
    outputs.check()
    file = find_plan(plan)
    if target:
        with outputs.boot_failure_emitted(file.plan.title):
            for name in target:
                reached(name)
        file = file.with_changes(targets=list(dict.fromkeys(target)))
    if seeds:
        file = file.with_changes(seeds=seeds)
    measure_and_end(file, outputs, scale, dry_run=dry_run, fresh=fresh, tags=tag, dask=dask)
