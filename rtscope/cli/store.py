# SPDX-License-Identifier: GPL-2.0-only
"""rtscope store: look after the store of runs."""

from typing import Annotated

import typer

from rtscope.cli.groups import CommandGroup
from rtscope.store.address import Place, parse_place, user_place
from rtscope.store.database import opened

app = typer.Typer(cls=CommandGroup, no_args_is_help=True)

StoreArgument = Annotated[
    str | None,
    typer.Argument(
        metavar="STORE",
        help="Path of an SQLite file, or postgresql://[USER@]HOST[:PORT]/DATABASE. "
        "[default: $RTSCOPE_STORE, else this user's file]",
    ),
]


def _place(store: str | None) -> Place:
    return parse_place(store, "STORE") if store else user_place()


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
    place = _place(store)
    before, now = opened(place).migrate()
    if before is None:
        typer.echo(f"created the store {place}, format {now}")
    elif before == now:
        typer.echo(f"the store {place} has format {before} already")
    else:
        typer.echo(f"migrated the store {place} from format {before} to {now}")
