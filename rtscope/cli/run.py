# SPDX-License-Identifier: GPL-2.0-only
"""rtscope run: measure a plan, cell by cell; go on where an earlier try ended."""

import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.live import Live

from rtscope.cli.interrupt import Interrupt, ended_by_signals
from rtscope.cli.jsonlines import print_json
from rtscope.cli.lab_cells import LabCells
from rtscope.cli.options import Force, JsonRuns, NoReport, Quiet, Report
from rtscope.cli.outputs import check_files, keep_run, print_run
from rtscope.cli.reportfile import write_report
from rtscope.cli.streams import complain, note, told
from rtscope.cli.targets import connecting, reached
from rtscope.engine.cells import Cell, cells_of, plan_hash, unmeasured_steps
from rtscope.engine.check import cell_ns, check_cells, check_tuning
from rtscope.engine.measure import measure, read_machine
from rtscope.engine.planfile import PlanFile, find_plan, shipped_names
from rtscope.engine.runner import Experiment, open_experiment, run_cells
from rtscope.engine.targets import target_of
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.reference import Reference
from rtscope.model.run import Run
from rtscope.model.units import counted
from rtscope.references.library import reference_named
from rtscope.report.exchange.junit import junit_report
from rtscope.report.tables.column import Column
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.experiment import CellTable, ExperimentState, ExperimentView
from rtscope.report.terminal.live import LiveState, follow
from rtscope.report.terminal.run import judgement_line
from rtscope.report.terminal.table import fitted
from rtscope.report.terminal.tuning import StepsView
from rtscope.statistics.cells import CellResult, unkept
from rtscope.statistics.figures import figures_of_run
from rtscope.statistics.reference import tables_beside
from rtscope.statistics.steps import steps_among
from rtscope.statistics.verdict import judge_by_own
from rtscope.store import database
from rtscope.store.files import write_file
from rtscope.store.lock import locked
from rtscope.target.protocol import AnyLine
from rtscope.wording.plain import plain
from rtscope.wording.values import span_text, time_text


@dataclass
class Output:
    """What is shown and written."""

    report: Path | None
    no_report: bool
    junit: Path | None
    force: bool
    json: bool
    quiet: bool

    def json_line(self, run: Run) -> None:
        """With --json, a run as soon as it is there."""
        if self.json:
            told(lambda: print_run(run))


def _plan_names(incomplete: str) -> list[str]:

    return [name for name in shipped_names() if name.startswith(incomplete)]


def run(
    plan: Annotated[
        str,
        typer.Argument(
            metavar="PLAN",
            help="A plan that comes with rtscope, such as quick, or a plan's file (docs/plans.md).",
            autocompletion=_plan_names,
        ),
    ],
    dry_run: Annotated[
        bool,
        typer.Option("--dry-run", "-n", help="Check the plan, show its cells and time, and end."),
    ] = False,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Begin anew, also where an experiment is unfinished.")
    ] = False,
    target: Annotated[
        list[str] | None,
        typer.Option(
            "--target",
            "-t",
            metavar="TARGET",
            help="Where instead of where the plan says: local, ssh:BOARD or vm:KERNEL, as in "
            "rtscope measure; may be given several times.",
        ),
    ] = None,
    scale: Annotated[
        float,
        typer.Option(
            metavar="FACTOR", help="Multiply samples and durations, such as 0.01 for a try."
        ),
    ] = 1.0,
    report: Report = None,
    no_report: NoReport = False,
    junit: Annotated[
        Path | None,
        typer.Option(metavar="FILE", help="Write JUnit XML, a test case for each cell."),
    ] = None,
    force: Force = False,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """
    A bad plan is refused before anything starts. Every finished cell is kept at once; after a crash
    or Ctrl-C the same command goes on with the cells that are left, if the machine is the same.
    Exit status: 0, 1 when a budget fails or is inconclusive or a cell could not be measured, 2 for
    a bad plan, 130 on Ctrl-C.

    \b
    rtscope run quick
    rtscope run quick --target vm:x86_64-rt --target vm:arm64-rt
    rtscope run PLAN --scale 0.01 --junit results.xml
    """
    if not (math.isfinite(scale) and 0 < scale <= 1_000_000):
        raise RtscopeError(f"--scale {scale} is not a factor above 0, such as 0.01")
    check_files([report, junit], force=force)
    file = find_plan(plan)
    if target:
        for name in target:
            reached(name)
        file = file.on(list(dict.fromkeys(target)))
    else:
        connecting(*file.plan.targets)
    output = Output(report, no_report, junit, force, json, quiet)
    measure_plan(file, scale, output, dry_run=dry_run, fresh=fresh)


def measure_plan(
    file: PlanFile, scale: float, output: Output, *, dry_run: bool, fresh: bool
) -> None:
    """Measure a plan and end with the status that tells what became of it. Raises RtscopeError."""
    cells = cells_of(file, scale)
    for sentence in [] if output.quiet else unmeasured_steps(file):
        note(sentence)
    with ended_by_signals():
        times = {name: cell_ns(start) for name, start in check_cells(file, cells).items()}
    if dry_run:
        _show_plan(file, cells, times)
        return
    interrupt = Interrupt()

    @cache
    def machine_of(name: str) -> Machine:
        try:
            return read_machine(target_of(name), interrupt.watch)
        finally:
            interrupt.agent = None

    with interrupt.installed(), locked(plan_hash(cells)):
        check_tuning(file, cells, machine_of)
        experiment = open_experiment(cells, machine_of, fresh=fresh)
        if not output.quiet:
            _tell_of(experiment)
        results, kept = _measure_cells(file, experiment, times, machine_of, interrupt, output)
    kept &= _finish(file, experiment, results, output)
    if interrupt.signal is not None:
        complain("interrupted; the same command goes on with the cells that are left")
        raise typer.Exit(128 + interrupt.signal)
    raise typer.Exit(2 if not kept else int(any(result.is_bad for result in results)))


def _show_plan(file: PlanFile, cells: list[Cell], times: dict[str, int | None]) -> None:

    console = output_console()
    console.print(plain(file.plan.title), style="bold", markup=False)
    for line in file.plan.description.strip().splitlines():
        console.print(plain(line), markup=False)
    spans = [times[cell.name] for cell in cells]
    columns = [
        Column("cell", 0, [plain(cell.name) for cell in cells], left=True),
        Column("takes about", 1, ["its own time" if ns is None else span_text(ns) for ns in spans]),
        Column("ends after", 3, [_ends_after(cell) for cell in cells], left=True),
        Column("budget", 2, [", ".join(cell.request.budget) for cell in cells], left=True),
    ]
    console.print()
    console.print(fitted(columns, console.width))
    total = f"{counted(len(cells), 'cell')}, about {span_text(sum(ns or 0 for ns in spans))}"
    unknown = spans.count(None)
    more = f", and for {unknown} the time that their probe takes" if unknown else ""
    console.print(f"\n{total}{more}; nothing was measured", markup=False)


def _ends_after(cell: Cell) -> str:

    request = cell.request
    ends = [] if request.samples is None else [counted(request.samples, "sample")]
    if request.duration_ns is not None:
        ends.append(span_text(request.duration_ns))
    return " or ".join(ends)


def _tell_of(experiment: Experiment) -> None:
    """Which experiment this is, and which one it is not."""
    if experiment.elsewhere:
        note(
            f"experiment {experiment.elsewhere} of this plan is of another machine "
            f"({'; '.join(experiment.differences)}) and is left as it is"
        )
    if experiment.finished:
        note(
            f"experiment {experiment.finished} of this plan is finished (rtscope list --experiment "
            f"{experiment.finished}); this is a new one"
        )
    if experiment.done:
        note(
            f"going on with experiment {experiment.id}: {len(experiment.done)} of "
            f"{len(experiment.cells)} cells are done; --fresh begins anew"
        )


def _measure_cells(
    file: PlanFile,
    experiment: Experiment,
    times: dict[str, int | None],
    machine_of: Callable[[str], Machine],
    interrupt: Interrupt,
    output: "Output",
) -> tuple[list[CellResult], bool]:
    """Measure what is left. All cells as the plan has them; False where a run is not stored."""
    console = output_console(sys.stderr)
    # What the host takes for a second of a guest's time, nobody knows beforehand.
    left = {cell.name: None if cell.emulated else times[cell.name] for cell in experiment.left}
    results = {name: _judged(database.load(run)) for name, run in experiment.done.items()}
    state = ExperimentState(file.plan.title, len(experiment.cells), len(results))
    kept = True

    def measure_cell(cell: Cell) -> Run:
        request = cell.request
        live = LiveState(cell.name, duration_ns=request.duration_ns, samples=request.samples)
        state.cell, state.cell_ns = live, left.pop(cell.name)
        state.left_ns = list(left.values())

        def heard(line: AnyLine) -> None:
            follow(live, line)
            draw()

        draw()
        try:
            machine, target = machine_of(cell.target), target_of(cell.target)
            return measure(request, machine, interrupt.watch, heard, target)
        finally:
            interrupt.agent = None
            state.cell = None

    def keep(run: Run) -> None:
        nonlocal kept
        kept &= keep_run(run)
        output.json_line(run)

    with _display(console, state, output) as draw:
        lab = LabCells(interrupt, machine_of, state.begun_s, draw)
        for outcome in run_cells(
            experiment, measure_cell, keep, lambda: interrupt.signal is not None, lab
        ):
            cell = outcome.cell.name
            left.pop(cell, None)
            state.left_ns = list(left.values())
            result = (
                _judged(outcome.run) if outcome.run else CellResult(cell, failure=outcome.failure)
            )
            results[cell] = result
            state.done += 1
            if outcome.failure:
                complain(f"{cell}: {outcome.failure}")
            elif not (console.is_terminal or output.quiet):
                note(f"{_told(result)}; {state.progress()}")
    written = sorted(experiment.cells, key=lambda cell: cell.place)
    return [results.get(cell.name) or CellResult(cell.name) for cell in written], kept


@contextmanager
def _display(
    console: Console, state: ExperimentState, output: "Output"
) -> Iterator[Callable[[], None]]:
    """One live view for the whole experiment on a terminal; yields what redraws it."""
    if output.quiet or not console.is_terminal:
        yield lambda: None
        return
    view = ExperimentView(state)
    live = Live(view, console=console, auto_refresh=False, transient=True)
    seen = True

    def draw() -> None:
        nonlocal seen
        try:
            if seen:
                live.update(view, refresh=True)
        except OSError:  # nobody looks any more, but the runs are wanted
            seen = False

    with suppress(OSError):
        live.start()
    try:
        yield draw
    finally:
        with suppress(OSError):
            live.stop()


def _judged(run: Run) -> CellResult:

    return CellResult(run.cell, run, judge_by_own(run))


def _told(result: CellResult) -> str:

    assert result.run is not None
    figures = figures_of_run(result.run)
    return (
        f"{result.name}: {counted(figures.count, 'sample')}, max {time_text(figures.max_ns)}, "
        f"{result.verdict}"
    )


def _reference(file: PlanFile, runs: list[Run]) -> Reference | None:
    """What the plan wants its runs beside; None, and a sentence, where none of them fits."""
    if not file.plan.reference:
        return None
    reference = reference_named(file.plan.reference)
    try:
        tables_beside(reference, runs)
    except RtscopeError as error:
        complain(f"the report is without the plan's reference: {error}")
        return None
    return reference


def _finish(
    file: PlanFile, experiment: Experiment, results: list[CellResult], output: "Output"
) -> bool:
    """Show and write everything; False where a file could not be written."""
    measured = [result for result in results if result.run]
    runs = [result.run for result in measured if result.run]
    steps = steps_among(runs)

    def show() -> None:
        console = output_console()
        console.print(CellTable(results))
        console.print()
        for one in steps:
            console.print(StepsView(one))
            console.print()
        for name, judgement in unkept(results):
            console.print(f"{name}: ", judgement_line(judgement), sep="", markup=False)
        if not output.quiet:
            console.print(f"experiment {experiment.id}: rtscope list --experiment {experiment.id}")

    def show_json() -> None:
        for one in steps:
            print_json(one)

    written = told(show_json if output.json else show)
    if runs and not output.no_report:
        written &= write_report(
            runs,
            [list(result.judgements) for result in measured],
            experiment.id,
            output.report,
            json=output.json,
            quiet=output.quiet,
            reference=_reference(file, runs),
        )
    if output.junit:
        page = junit_report(file.plan.title, results)
        try:
            write_file(page, output.junit, "the JUnit report", overwrite=output.force)
        except RtscopeError as error:
            complain(str(error))
            written = False
    return written
