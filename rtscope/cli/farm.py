# SPDX-License-Identifier: GPL-2.0-only
"""rtscope farm: plans on many boards, leased by labgrid or reached over ssh."""

import math
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rtscope.cli.groups import CommandGroup
from rtscope.cli.options import Fresh, Json, JsonRuns, Quiet, Scale, Tags
from rtscope.engine.cells import Cell, cells_of
from rtscope.engine.farm.check import check_farm
from rtscope.engine.farm.interrupt import FarmInterrupt
from rtscope.engine.farm.run import run_farm
from rtscope.engine.farm.session import BoardResult, Work
from rtscope.engine.interrupt import ended_by_signals
from rtscope.engine.observer import Observer, Observers
from rtscope.engine.planfile import PlanFile, find_plan, plan_names
from rtscope.engine.runner import Experiment
from rtscope.farm.farmfile import read_farm
from rtscope.model.errors import RtscopeError
from rtscope.model.farm import Board
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.observers.notes import Notes
from rtscope.report.observers.printed import JsonLines
from rtscope.report.observers.store import Store
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.farm import check_table, result_table, state_line, state_table
from rtscope.report.terminal.streams import complain, note, output_written
from rtscope.statistics.cells import CellResult
from rtscope.store.activity import activities, is_silent

app = typer.Typer(cls=CommandGroup, no_args_is_help=True)

FarmArgument = Annotated[
    Path, typer.Argument(metavar="FARM", help="Farm file, in TOML (docs/how-to/farm.md).")
]
PlanArguments = Annotated[
    list[str],
    typer.Argument(
        metavar="PLAN...",
        help="Plans: names such as quick, or files (docs/plans.md).",
        autocompletion=plan_names,
    ),
]


@app.command("run")
def run(
    farm: FarmArgument,
    plan: PlanArguments,
    tag: Tags = None,
    fresh: Fresh = False,
    scale: Scale = 1.0,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """Measure plans on all boards of a farm, all boards at once.

    Each board is leased, booted, checked for other load, measured, and released, also on Ctrl-C. A
    board that hangs is power-cycled, and measured on where it stopped; so does the same command
    after it was interrupted. The targets of the plans are not used. Exit status: 0, 1 when a budget
    fails or is inconclusive or a board could not be measured, 2 for a bad farm file, plan or board,
    130 on Ctrl-C.

    \b
    rtscope farm run lab.toml quick --tag nightly
    rtscope farm run lab.toml control-loop.toml network.toml
    """
    if not (math.isfinite(scale) and 0 < scale <= 1_000_000):
        raise RtscopeError(f"--scale {scale} is not a factor above 0, such as 0.01")
    file, plans = read_farm(farm), [find_plan(name) for name in plan]
    stores: list[Store] = []
    lock = threading.Lock()

    def observer_of(name: str) -> Observer:
        store = Store()
        stores.append(store)
        printed = [JsonLines()] if json else []
        return _Named(name, [store, Notes(quiet=quiet), *printed], lock)

    def changed(board: Board) -> None:
        if not quiet:
            note(state_line(board))

    interrupt = FarmInterrupt()
    work = Work(file, plans, scale, fresh, tag or [], observer_of)
    results = run_farm(work, interrupt, changed)
    lost = any(one.lost for one in stores)
    if not json:
        lost |= not output_written(lambda: output_console().print(result_table(results)))
    for result in results:
        if result.failure:
            complain(f"{result.name}: {result.failure}")
    if interrupt.signal is not None:
        complain("interrupted: the same command continues with the remaining measurements")
        raise typer.Exit(128 + interrupt.signal)
    raise typer.Exit(_status(results, lost=lost))


@app.command("check")
def check(
    farm: FarmArgument,
    plan: Annotated[
        list[str] | None,
        typer.Argument(metavar="[PLAN...]", help="Plans to check too.", autocompletion=plan_names),
    ] = None,
    json: Json = False,
) -> None:
    """Check a farm file, its places, boards and plans, and lease nothing.

    Exit status: 0, or 2 where a board or a plan cannot be used.

    \b
    rtscope farm check lab.toml
    rtscope farm check lab.toml quick --json
    """
    file = read_farm(farm)
    for name in plan or []:
        cells_of(_on_any_board(find_plan(name)))
    with ended_by_signals():
        checks = list(check_farm(file))
    if json:
        written = output_written(lambda: _print_all(checks))
    else:
        written = output_written(lambda: output_console().print(check_table(checks)))
        for one in checks:
            if text := one.problem or one.held:
                complain(text)
    raise typer.Exit(0 if written and not any(one.problem for one in checks) else 2)


@app.command("status")
def status(json: Json = False) -> None:
    """Show what the boards of this user's farm runs do.

    \b
    rtscope farm status
    rtscope farm status --json
    """
    shown = [(one, boards) for one, boards in activities() if one.kind == "farm"]
    if json:
        output_written(lambda: _print_all([board for _, boards in shown for board in boards]))
        return
    if not shown:
        note("no farm run of this user is known")
    for activity, boards in shown:
        ended = "ended" if activity.ended else "silent: it may have been killed"
        state = f" ({ended} {activity.written})" if activity.ended or is_silent(activity) else ""
        print(f"{activity.title}, started {activity.started}{state}")
        output_console().print(state_table(boards))


def _print_all(records: Sequence[msgspec.Struct]) -> None:
    """Print each record as a line of JSON."""
    for record in records:
        print_json(record)


def _on_any_board(file: PlanFile) -> PlanFile:
    return file.with_changes(targets=["local"])


class _Named(Observers):
    """The observers of one board, one board at a time."""

    def __init__(self, name: str, observers: Sequence[Observer], lock: threading.Lock) -> None:
        super().__init__(observers)
        self._name = name
        self._lock = lock

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        with self._lock:
            super().opened(experiment, times_ns)

    def measured(self, cell: Cell, result: CellResult) -> None:
        with self._lock:
            super().measured(cell, result)

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        with self._lock:
            super().ended(experiment, results)


def _status(results: Sequence[BoardResult], *, lost: bool) -> int:
    if lost or any(result.refused for result in results):
        return 2
    return int(any(result.verdict not in ("pass", "measured") for result in results))
