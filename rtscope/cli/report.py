# SPDX-License-Identifier: GPL-2.0-only
"""rtscope report: runs as one HTML file that opens without a network."""

from pathlib import Path
from typing import Annotated

import typer

from rtscope.model.budget import parse_limit
from rtscope.references.library import reference_named
from rtscope.report.page.report import html_report
from rtscope.statistics.verdict import judge, judge_by_own
from rtscope.store.files import write_file
from rtscope.store.naming import runs_named


def report(
    runs: Annotated[
        list[str],
        typer.Argument(metavar="RUN...", help="Ids, last, last~1, files of runs, or experiments."),
    ],
    output: Annotated[
        Path,
        typer.Option(
            "--output", "-o", metavar="FILE", help="File to write; - for standard output."
        ),
    ] = Path("report.html"),
    budget: Annotated[
        list[str] | None,
        typer.Option(
            "--budget",
            "-B",
            metavar="LIMIT",
            help="Judge by these limits, such as 'max<50us'. [default: each run's own]",
        ),
    ] = None,
    reference: Annotated[
        str | None,
        typer.Option("--reference", "-r", metavar="NAME", help="Add these published tables."),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite FILE.")] = False,
) -> None:
    """
    \b
    rtscope report last -o report.html
    rtscope report 3fa9 cyclictest.json -o both.html
    rtscope report last -r NAME
    """
    published = reference_named(reference) if reference else None
    drawn = [run for name in runs for run in runs_named(name)]
    limits = [parse_limit(text) for text in budget or []]
    page = html_report(
        drawn,
        [judge(run, limits) if limits else judge_by_own(run) for run in drawn],
        published,
    )
    if str(output) == "-":
        typer.echo(page, nl=False)
        return
    write_file(page.encode(), output, "the report", overwrite=force)
    typer.echo(f"report: {output}")
