# SPDX-License-Identifier: GPL-2.0-only
"""rtscope store: look after the store of runs."""

from collections import Counter
from pathlib import Path
from typing import Annotated

import typer

from rtscope.cli.groups import CommandGroup
from rtscope.cli.options import (
    Json,
    SearchKernel,
    SearchMachine,
    SearchSince,
    SearchTags,
    search_of,
)
from rtscope.cli.runs import remove_reports
from rtscope.cli.waiting import status
from rtscope.model.errors import RtscopeError
from rtscope.model.units import counted
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.streams import complain
from rtscope.store.address import Place, parse_place, user_place
from rtscope.store.copying import copy_runs
from rtscope.store.database import opened, refused_runs, with_sent

app = typer.Typer(cls=CommandGroup, no_args_is_help=True)

_PLACE = "Path of an SQLite file, or postgresql://[USER@]HOST[:PORT]/DATABASE."

StoreArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE", help=f"{_PLACE} [default: $RTSCOPE_STORE, else this user's file]"
    ),
]


def _existing(store: str | None, what: str = "STORE") -> Place:
    """The place of a store; a file that is named must exist. Raises RtscopeError."""
    place = parse_place(store, what) if store else user_place()
    if store and isinstance(place, Path) and not place.exists():
        raise RtscopeError(f"{what} {place} does not exist: name a store's file, or its URL")
    return place


@app.command("migrate")
def migrate(store: StoreArgument = None) -> None:
    """Create the store, or bring it to the format of this rtscope.

    On a server it is needed once, and again after an update that changes the format; boards with an
    older rtscope then keep their runs until they are updated too. An SQLite file is also migrated
    by the first run that is saved in it.

    \b
    rtscope store migrate
    rtscope store migrate postgresql://fleet@db.example.org/rtscope
    """
    place = parse_place(store, "STORE") if store else user_place()
    before, now = opened(place).migrate()
    if before is None:
        typer.echo(f"created the store {place}, format {now}")
    elif before == now:
        typer.echo(f"the store {place} has format {before} already")
    else:
        typer.echo(f"migrated the store {place} from format {before} to {now}")


@app.command("copy")
def copy(
    source: Annotated[str, typer.Argument(metavar="FROM", help=_PLACE)],
    destination: Annotated[str, typer.Argument(metavar="TO", help="As FROM.")],
    machine: SearchMachine = "",
    kernel: SearchKernel = "",
    tag: SearchTags = None,
    since: SearchSince = "",
) -> None:
    """Copy the runs that another store lacks. FROM stays as it is.

    A run of TO is never replaced. After an interruption, the same command copies the rest. Exit
    status: 0; 1 when a run was not copied because it is damaged, or because TO has another run
    with its id.

    \b
    rtscope store copy ~/.local/share/rtscope/runs.sqlite postgresql://db.example.org/rtscope
    rtscope store copy old.sqlite new.sqlite --machine board7 --since 90d
    """
    places = _existing(source, "FROM"), parse_place(destination, "TO")
    if places[0] == places[1]:
        raise RtscopeError(f"FROM and TO are the same store {places[0]}: name two stores")
    search = search_of(machine=machine, kernel=kernel, tags=tag, since=since)
    counts: Counter[str] = Counter()
    with status("copying"):
        for one in copy_runs(opened(places[0]), opened(places[1]), search):
            counts[one.outcome] += 1
            if one.outcome == "damaged":
                complain(f"{one.text}; it is not copied")
            elif one.outcome == "other":
                complain(f"{places[1]} has another run with the id {one.id}, which stays as it is")
    typer.echo(
        f"copied {counted(counts['copied'], 'run')} to {places[1]}, "
        f"which had {counts['present']:,} already"
    )
    raise typer.Exit(int(bool(counts["damaged"] or counts["other"])))


@app.command("prune")
def prune(
    before: Annotated[
        str,
        typer.Option(
            "--before",
            metavar="DATE",
            help="Runs that began earlier: 2026-11-01, or an age such as 90d, 2w or 12h.",
        ),
    ],
    machine: SearchMachine = "",
    kernel: SearchKernel = "",
    tag: SearchTags = None,
    keep_tag: Annotated[
        list[str] | None,
        typer.Option("--keep-tag", metavar="TAG", help="Not runs with this tag; may be repeated."),
    ] = None,
    yes: Annotated[
        bool, typer.Option("--yes", "-y", help="Remove them. [default: only count them]")
    ] = False,
    store: StoreArgument = None,
) -> None:
    """Remove old runs and their reports, or count them.

    The space is used again by later runs; an SQLite file does not become smaller.

    \b
    rtscope store prune --before 180d --keep-tag release
    rtscope store prune --before 180d --keep-tag release --yes
    """
    place = _existing(store)
    search = search_of(
        machine=machine, kernel=kernel, tags=tag, without_tags=keep_tag, before=before
    )
    if not yes:
        found = opened(place).found(search)
        typer.echo(
            f"{counted(len(found), 'run')} would be removed from {place}; --yes removes them"
        )
        return
    removed = opened(place).prune(search)
    remove_reports(removed, place)
    typer.echo(f"removed {counted(len(removed), 'run')} from {place}")


@app.command("check")
def check(store: StoreArgument = None, json: Json = False) -> None:
    """Read every run and compare it with what the store lists and finds it by. Changes nothing.

    Runs that wait on this computer are sent to their server before. Exit status: 0; 1 when
    something is damaged, or the server refuses a run that waits.

    \b
    rtscope store check
    rtscope store check runs.sqlite --json
    """
    place = _existing(store)
    damaged = 0
    with status("reading all runs"):
        for one in [*with_sent(place).check(), *refused_runs(place)]:
            damaged += 1
            if json:
                print_json(one)
            else:
                typer.echo(one.text)
    if not json:
        typer.echo(f"the store {place} is {'damaged' if damaged else 'clean'}")
    raise typer.Exit(int(bool(damaged)))
