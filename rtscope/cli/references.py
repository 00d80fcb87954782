# SPDX-License-Identifier: GPL-2.0-only
"""rtscope references: published tables to compare runs with."""

from typing import Annotated

import typer

from rtscope.cli.groups import CommandGroup
from rtscope.cli.options import Json
from rtscope.references.library import reference_named, reference_names
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.references import reference_page, reference_table

app = typer.Typer(
    cls=CommandGroup,
    help="\b\n"
    "rtscope references\n"
    "rtscope references show NAME\n"
    "rtscope compare last --reference NAME",
    invoke_without_command=True,
)


@app.callback()
def references(context: typer.Context, json: Json = False) -> None:
    """List the references."""
    if context.invoked_subcommand is not None:
        return

    found = [reference_named(name) for name in reference_names()]
    if json:
        for reference in found:
            print_json(reference)
        return
    output_console().print(reference_table(found))


@app.command("show")
def show(
    name: Annotated[str, typer.Argument(metavar="NAME", help="Name from rtscope references list.")],
    json: Json = False,
) -> None:
    """Show a publication's tables, its system, and notes on how to read them.

    \b
    rtscope references show NAME
    rtscope references show NAME --json
    """
    reference = reference_named(name)
    if json:
        print_json(reference)
    else:
        output_console().print(reference_page(reference))
