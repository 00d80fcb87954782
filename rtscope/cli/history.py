# SPDX-License-Identifier: GPL-2.0-only
"""rtscope history: metrics of a machine over time."""

from typing import Annotated

import typer

from rtscope.cli.options import Json, SearchSince, SearchTags, search_of
from rtscope.cli.waiting import status
from rtscope.model.errors import RtscopeError
from rtscope.model.units import counted
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.history import HistoryView
from rtscope.statistics.history import percent_of, series_of
from rtscope.store import database
from rtscope.wording.history import differing_rows


def history(
    machine: Annotated[
        str | None,
        typer.Argument(metavar="MACHINE", help="Host name or its beginning. [default: all]"),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="mean, max, a percentile such as p99.9, or p99.9.response, with missed periods "
            "filled in; may be repeated.",
        ),
    ] = None,
    last: Annotated[
        int, typer.Option("--last", "-n", min=2, help="Number of newest runs to read.")
    ] = 500,
    since: SearchSince = "",
    tag: SearchTags = None,
    json: Json = False,
) -> None:
    """
    Metrics are p99, p99.99 and max of each complete run, unless --metric names others. Runs that
    measured the same on the same machine form one series. At a change point the values before and
    after differ for at least five runs each; a single spike is not one. What else differs between
    the runs on both sides is printed: kernel, command line, microcode, settings.

    \b
    rtscope history
    rtscope history board7 --metric p99.9 --since 2026-11-01
    rtscope history --json | jq '.metrics[].changes[]'
    """
    names = metric or ["p99", "p99.99", "max"]
    for name in names:
        if name not in ("mean", "max"):
            percent_of(name)
    search = search_of(machine=machine or "", tags=tag, since=since, limit=last)
    chosen = [one.id for one in database.found(search) if one.status == "complete" and one.count]
    with status(f"reading {counted(len(chosen), 'run')}"):
        runs = [
            (run, run.machine_name or "a machine without a name") for run in database.loaded(chosen)
        ]
    if not runs:
        raise RtscopeError(
            f"no complete run of {machine or 'any machine'} is among the newest {last} of the store"
            f"{f' since {since}' if since else ''}; rtscope list shows them"
        )
    with status("looking for change points"):
        series = series_of(runs, names)
    if json:
        for one in series:
            print_json(one)
        return
    by_id = {run.id: run for run, _ in runs}
    differing = {
        (change.before, change.after): differing_rows(by_id[change.before], by_id[change.after])
        for one in series
        for found in one.metrics
        for change in found.changes
    }
    output_console().print(HistoryView(series, differing))
