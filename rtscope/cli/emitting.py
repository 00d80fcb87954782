# SPDX-License-Identifier: GPL-2.0-only
"""The option --emit of the commands that judge."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from rtscope.model.errors import RtscopeError
from rtscope.report.exchange.kcidb import kcidb_sender
from rtscope.report.exchange.states import FORMATS
from rtscope.report.observers.emitted import Emit
from rtscope.store.files import check_files

EmitOption = Annotated[
    list[str] | None,
    typer.Option(
        "--emit",
        metavar="FORMAT[:FILE]",
        help=f"Write the results for another program: {', '.join(FORMATS[:-1])} or {FORMATS[-1]}; "
        "may be repeated. [default FILE: standard output]",
        autocompletion=lambda incomplete: [one for one in FORMATS if one.startswith(incomplete)],
    ),
]


def checked_emits(texts: Sequence[str] | None, *, json: bool, force: bool) -> list[Emit]:
    """Read the options, and refuse files that exist or cannot be written. Raises RtscopeError."""
    emits = [_parsed(text) for text in texts or []]
    printed = [emit.format for emit in emits if emit.path is None]
    if len(printed) > 1 or (printed and json):
        other = "--json" if json else f"--emit {printed[0]}"
        raise RtscopeError(
            f"--emit {printed[-1]} and {other} both go to standard output: write "
            f"--emit {printed[-1]}:FILE"
        )
    files = [emit.path for emit in emits if emit.path]
    if len({*files}) < len(files):
        raise RtscopeError("two --emit options name the same file")
    check_files(files, force=force)
    if any(emit.format == "kcidb" for emit in emits):
        kcidb_sender()
    return emits


def _parsed(text: str) -> Emit:
    name, colon, path = text.partition(":")
    for known in FORMATS:
        if name == known and bool(path) == bool(colon):
            return Emit(known, Path(path) if path else None)
    raise RtscopeError(
        f"--emit '{text[:40]}' is not FORMAT or FORMAT:FILE, with one of the formats "
        f"{', '.join(FORMATS)}"
    )
