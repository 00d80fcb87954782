# SPDX-License-Identifier: GPL-2.0-only
"""rtscope compare: runs with each other, or with published tables."""

from typing import Annotated

import typer

from rtscope.cli.emitting import EmitOption, checked_emits
from rtscope.cli.options import Force, Json
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.references.library import reference_named
from rtscope.report.exchange.case import cases_of_comparisons
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.exchange.junit import cases_junit_report
from rtscope.report.observers.emitted import emitted
from rtscope.report.terminal.comparison import comparison_table
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.paths import PathsView
from rtscope.report.terminal.placement_comparison import PlacementComparisonTable
from rtscope.report.terminal.references import beside_page
from rtscope.statistics.comparison import compare_series
from rtscope.statistics.paths import compared_paths
from rtscope.statistics.placement_comparison import compare_placements
from rtscope.statistics.reference import beside, tables_beside
from rtscope.store.naming import run_named, runs_named


def compare(
    runs: Annotated[
        list[str],
        typer.Argument(
            metavar="RUN...",
            help="Ids, last, last~1, or files: A and B, or with --reference any number and "
            "experiments too.",
        ),
    ],
    reference: Annotated[
        str | None,
        typer.Option(
            metavar="NAME", help="Print these published tables with the metrics of the runs."
        ),
    ] = None,
    paths: Annotated[
        bool,
        typer.Option(
            "--paths",
            help="Of two exact runs with --explain: which functions entered and left the worst "
            "path, in instructions.",
        ),
    ] = False,
    emit: EmitOption = None,
    force: Force = False,
    json: Json = False,
) -> None:
    """
    The verdict comes first: B is better, worse, or there is no evidence of either. It rests on
    quantiles that both runs have enough samples for, never on the maxima alone. The table's last
    rows were not tested.

    If a probe names its threads (clocks, methods), each name has its own verdict and table, and its
    own line with --json.

    Runs of scale and interfere are compared cell by cell, by the medians of their rounds.

    With --reference the runs fill new columns in a published table. Nothing is called better or
    worse then: the hardware is another, and often the number of samples too.

    \b
    rtscope compare last~1 last
    rtscope compare before.json after.json
    rtscope compare --paths last~1 last
    rtscope compare last --reference NAME
    """
    emits = checked_emits(emit, json=json, force=force)
    if paths and (reference is not None or emits):
        raise RtscopeError("--paths judges nothing: leave out --reference and --emit")
    if reference is not None:
        if emits:
            raise RtscopeError("--emit writes verdicts, and --reference has none: leave one out")
        _beside(runs, reference, json=json)
        return
    if len(runs) != 2:
        raise RtscopeError(
            f"compare puts two runs side by side, not {len(runs)}: name A and B, or add "
            "--reference NAME (rtscope references lists them)"
        )

    left, right = (run_named(name) for name in runs)
    if paths:
        _compare_paths(left, right, json=json)
        return
    if left.placement_series and right.placement_series:
        if emits:
            raise RtscopeError("--emit has no format for comparisons of placements: use --json")
        _compare_placements(left, right, json=json)
        return
    comparisons = compare_series(left, right)
    for comparison in comparisons:
        if json:
            print_json(comparison)
        elif not any(one.replaces_output for one in emits):
            output_console().print(comparison_table(comparison))
    cases = cases_of_comparisons(comparisons)
    title = f"rtscope compare {left.id} {right.id}"
    if not emitted(emits, cases, lambda: cases_junit_report(title, cases), force=force):
        raise typer.Exit(2)


def _compare_paths(left: Run, right: Run, *, json: bool) -> None:
    compared = compared_paths(left, right)
    if json:
        print_json(compared)
    else:
        output_console().print(PathsView(compared))


def _compare_placements(left: Run, right: Run, *, json: bool) -> None:

    comparison = compare_placements(left, right)
    if json:
        print_json(comparison)
    else:
        output_console().print(PlacementComparisonTable(comparison, left, right))


def _beside(names: list[str], reference_name: str, *, json: bool) -> None:

    reference = reference_named(reference_name)
    runs = [run for name in names for run in runs_named(name)]
    tables = tables_beside(reference, runs)
    found = [(table, beside(reference, table, runs)) for table in tables]
    if json:
        print_json([ours for _, ours in found])
        return
    output_console().print(beside_page(reference, found, runs))
