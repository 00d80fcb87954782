# SPDX-License-Identifier: GPL-2.0-only
"""rtscope list, show and rm: the runs in the store."""

from collections.abc import Sequence
from typing import Annotated

import typer

from rtscope.cli.emitting import EmitOption, checked_emits
from rtscope.cli.options import (
    Force,
    Phases,
    SearchBefore,
    SearchKernel,
    SearchMachine,
    SearchMetrics,
    SearchSince,
    SearchTags,
    search_of,
)
from rtscope.cli.waiting import status
from rtscope.engine.until import outlooks_of
from rtscope.model.budget import parse_limit
from rtscope.model.errors import RtscopeError
from rtscope.model.units import counted
from rtscope.report.exchange.case import cases_of_cells
from rtscope.report.exchange.jsonlines import print_json, print_run
from rtscope.report.exchange.junit import junit_report
from rtscope.report.observers.emitted import emitted
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.mergedlist import merged_table
from rtscope.report.terminal.run import summary
from rtscope.report.terminal.runlist import run_table
from rtscope.report.terminal.streams import complain
from rtscope.statistics.cells import CellResult
from rtscope.statistics.verdict import exit_code, judge, judge_by_own
from rtscope.store import database, responses
from rtscope.store.address import Place, default_path, user_place
from rtscope.store.merging import merged_runs
from rtscope.store.naming import run_named
from rtscope.store.search import Search
from rtscope.store.summary import Summary


def list_runs(
    limit: Annotated[
        int | None,
        typer.Option(
            "--limit",
            "-n",
            min=1,
            help="Number of newest runs. [default: 30; all with --experiment or --merge]",
        ),
    ] = None,
    experiment: Annotated[
        str,
        typer.Option("--experiment", "-e", metavar="ID", help="List all runs of this experiment."),
    ] = "",
    machine: SearchMachine = "",
    kernel: SearchKernel = "",
    tag: SearchTags = None,
    metric: SearchMetrics = None,
    since: SearchSince = "",
    before: SearchBefore = "",
    merge: Annotated[
        bool,
        typer.Option(
            "--merge",
            help="Print the metrics of all samples of these runs together, for each host, kernel, "
            "probe and load.",
        ),
    ] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each run, or each row, as a line of JSON.")
    ] = False,
) -> None:
    """
    \b
    rtscope list -n 5
    rtscope list --experiment 3fa9
    rtscope list --machine board7 --kernel 6.12 --since 90d --metric 'p99.9>50us'
    rtscope list --machine board7 --since 90d --merge
    rtscope list --json | jq -r 'select(.status == "complete") | .id'
    """
    search = search_of(
        experiment=experiment,
        machine=machine,
        kernel=kernel,
        tags=tag,
        metrics=metric,
        since=since,
        before=before,
        limit=limit or (None if experiment or merge else 30),
    )
    runs = responses.found(database.with_sent(None), search)
    groups = []
    if merge:
        with status(f"reading {counted(len(runs), 'run')}"):
            groups = merged_runs(database.with_sent(None), runs)
    if json:
        for one in groups if merge else runs:
            print_json(one)
    elif experiment and not runs:
        raise RtscopeError(
            f"no experiment has runs in the store and an id that begins with '{experiment[:40]}'"
        )
    elif runs:
        output_console().print(merged_table(groups) if merge else run_table(runs))
    elif search != Search(limit=search.limit):
        raise RtscopeError("no run in the store meets all of this: leave out a condition")
    else:
        typer.echo(_no_runs(), err=True)


def _no_runs() -> str:
    place = user_place()
    message = f"no runs yet in {place}: rtscope measure makes one"
    if place != default_path():
        return message
    where = (
        "without sudo is in your own store"
        if database.by_sudo()
        else "with sudo is in root's store"
    )
    return f"{message}; what was measured {where}"


def show(
    run: Annotated[
        str, typer.Argument(metavar="RUN", help="Id, last, last~1, or a file.")
    ] = "last",
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Judge by these limits, such as "
            "'max<50us'; exit 1 unless they pass. [default: the run's own]",
        ),
    ] = None,
    until: Annotated[
        list[str] | None,
        typer.Option(
            "--until",
            metavar="LIMIT",
            help="Print how much longer it takes to prove LIMIT at this run's rate, as `measure "
            "--until` does; exit 1 unless it is proven.",
        ),
    ] = None,
    phases: Phases = False,
    ledger: Annotated[
        bool,
        typer.Option("--ledger", "-l", help="Divide the latency of each explained sample."),
    ] = False,
    emit: EmitOption = None,
    force: Force = False,
    json: Annotated[bool, typer.Option("--json", help="Print the run as JSON.")] = False,
) -> None:
    """
    \b
    rtscope show
    rtscope show 3fa9 --budget 'p99.9<20us'
    rtscope show last --ledger
    rtscope show last --until 'p99.999<50us' --until 'rate(>50us)<1/h'
    """
    emits = checked_emits(emit, json=json, force=force)
    shown = run_named(run)
    outlooks = outlooks_of(shown, until) if until else []
    limits = [parse_limit(text) for text in budget or []]
    judgements = judge(shown, limits) if limits else judge_by_own(shown)
    if json:
        print_run(shown, until=outlooks)
    elif not any(one.replaces_output for one in emits):
        output_console().print(summary(shown, judgements, phases=phases, ledgers=ledger))
        for one in outlooks:
            output_console().print(one.text, markup=False, highlight=False)
    name = shown.cell or f"{shown.probe}, load {shown.load}"
    results = [CellResult(name, shown, judgements)]
    written = emitted(
        emits, cases_of_cells(results), lambda: junit_report(name, results), force=force
    )
    open_limits = any(one.decision != "proven" for one in outlooks)
    raise typer.Exit(max(exit_code(judgements), int(open_limits)) if written else 2)


def remove(
    runs: Annotated[
        list[str], typer.Argument(metavar="RUN...", help="Ids, or their first characters.")
    ],
) -> None:
    """
    \b
    rtscope rm 3fa9 81c0
    """
    removed = database.remove(runs)
    for one in removed:
        typer.echo(f"removed {one.id}")
    remove_reports(removed)


def remove_reports(removed: Sequence[Summary], store: Place | None = None) -> None:
    """Remove the reports of removed runs, and of experiments that have no other run."""
    experiments = sorted({one.experiment for one in removed} - {""})
    gone = [name for name in experiments if not database.list_runs(1, store, name)]
    for name in [*(one.id for one in removed), *gone]:
        report = database.report_path(name)
        try:
            report.unlink()
        except FileNotFoundError:
            continue
        except OSError as error:
            complain(f"cannot remove {report}: {error.strerror}")
            continue
        typer.echo(f"removed {report}")
