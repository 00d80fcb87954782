# SPDX-License-Identifier: GPL-2.0-only
"""rtscope lab patchstat: how much patches change, and where in the kernel's source."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.cli.options import Force
from rtscope.cli.waiting import status
from rtscope.lab.patchstat import patchstat as stat_of
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.page.patchstat import patchstat_page
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.patchstat import patchstat_view
from rtscope.store.files import check_files, write_file


def patchstat(
    patches: Annotated[
        list[str],
        typer.Argument(
            metavar="SERIES|PATCH...",
            help="Files, packed or not, folders with a series, series that come with rtscope by "
            "name, or - for standard input.",
        ),
    ],
    strip: Annotated[
        int,
        typer.Option("--strip", "-p", min=0, max=99, metavar="N", help="As patch -p takes it."),
    ] = 1,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write the tables and charts here.")
    ] = None,
    force: Force = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each patch or series as a line of JSON.")
    ] = False,
) -> None:
    """Tell the size, files and lines of patches by architecture and subsystem.

    A file that several patches of a series change counts once, its lines each time.

    \b
    rtscope lab patchstat lab-x86_64
    rtscope lab patchstat patch-6.12-rt5.patch.xz --html rt.html
    git diff v6.12 | rtscope lab patchstat -
    """
    check_files([html], force=force)
    with status("reading"):
        stats = [stat_of(name, strip) for name in patches]
    if html:
        write_file(patchstat_page(stats).encode(), html, "the page", overwrite=force)
    if json:
        for stat in stats:
            print_json(stat)
    else:
        output_console().print(patchstat_view(stats))
    if html:
        typer.echo(f"page: {html}", err=json)
