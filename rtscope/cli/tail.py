# SPDX-License-Identifier: GPL-2.0-only
"""rtscope tail: what a run's latency reaches in longer times."""

from typing import Annotated

import typer

from rtscope.cli.options import Json
from rtscope.cli.waiting import status
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.tail import TailView
from rtscope.statistics.tail.bounds import tails
from rtscope.store.naming import runs_named


def tail(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Ids of runs or of experiments, last, or files."),
    ],
    details: Annotated[
        bool,
        typer.Option("--details", "-v", help="Print every test, and the fit over each threshold."),
    ] = False,
    json: Json = False,
) -> None:
    """
    Measure with --exceedances first: bounds need the largest samples with their times, and 4096 of
    each thread are enough.

    The largest samples of clusters are fitted with a generalised Pareto distribution, thread by
    thread, after tests of what that assumes: enough clusters, no drift, independence, no rare
    second distribution, a stable fit, and a first half that predicts the second. The first test
    that fails ends it without a bound. No bound is a worst case: it holds for the load and the
    state of the machine of this run.

    Exit status: 0 all threads have bounds, 1 some have none, 2 refused.

    \b
    rtscope measure --duration 1h --load mixed --exceedances 4096
    rtscope tail last
    rtscope tail --details last
    """
    with status("fitting the tails"):
        results = [(run, tails(run)) for name in runs for run in runs_named(name)]
    for run, found in results:
        if json:
            print_json({"run": run.id, "tails": found})
        else:
            output_console().print(TailView(run, found, details=details))
    raise typer.Exit(int(any(one.fitted is None for _, found in results for one in found)))
