# SPDX-License-Identifier: GPL-2.0-only
"""The five commands that measure: their common options, observers and exit status."""

import shlex
import sys
from collections.abc import Iterator, Sequence
from contextlib import closing, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import NoReturn

import typer

from rtscope.cli.emitting import checked_emits
from rtscope.cli.targets import connecting
from rtscope.engine.cells import unmeasured_steps
from rtscope.engine.experiment import CheckedPlan, checked_plan, measure_plan
from rtscope.engine.interrupt import Interrupt, ended_by_signals
from rtscope.engine.observer import Observer, Observers
from rtscope.engine.planfile import PlanFile
from rtscope.farm.nodes import nodes_of
from rtscope.model.errors import BootError, RtscopeError
from rtscope.report.observers.activity import ActivityFile
from rtscope.report.observers.emitted import Emit, Emitted
from rtscope.report.observers.files import JUnit, Page, RunFiles, run_files
from rtscope.report.observers.live import LiveProgress
from rtscope.report.observers.notes import Notes
from rtscope.report.observers.printed import JsonLines, Summaries, Table
from rtscope.report.observers.store import Store
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.plan import PlanView
from rtscope.report.terminal.streams import complain, note
from rtscope.statistics.cells import CellResult
from rtscope.store.files import check_files


@dataclass(frozen=True, kw_only=True)
class Outputs:
    """The outputs of a command."""

    output: Path | None = None
    report: Path | None = None
    no_report: bool = False
    junit: Path | None = None
    emit: Sequence[str] | None = None
    """FORMAT or FORMAT:FILE"""
    force: bool = False
    json: bool = False
    quiet: bool = False
    phases: bool = False
    table: bool = False
    """print one table of all cells instead of each run's metrics"""
    verdict_alone: bool = False
    """print nothing of the cells: the command prints a verdict on all of them"""

    @property
    def names_files(self) -> bool:
        """Whether the command line names a file to write."""
        return bool(
            self.output or self.report or self.junit or any(":" in one for one in self.emit or [])
        )

    def check(self) -> None:
        """Refuse files that exist or cannot be written. Raises RtscopeError."""
        check_files([self.report, self.junit], force=self.force)
        self._emits()

    def _emits(self) -> list[Emit]:
        return checked_emits(self.emit, json=self.json, force=self.force)

    @contextmanager
    def boot_failure_emitted(self, title: str) -> Iterator[None]:
        """Write --emit with one case where a target cannot be reached, and raise the BootError.

        A CI system then shows a failure, and no missing file.
        """
        try:
            yield
        except BootError as error:
            results = [CellResult(title, failure=str(error), boot_failed=True)]
            Emitted(self._emits(), title, force=self.force).write(results)
            raise

    def observers(self, plan: CheckedPlan) -> list[Observer]:
        """Return the observers in the order in which they receive a result."""
        emits = self._emits()
        alone = any(emit.replaces_output for emit in emits)
        files = run_files(self.output, plan.cells)
        check_files(list(files.values()), force=self.force)
        title = plan.file.plan.title
        store = Store()
        observers: list[Observer] = [store, RunFiles(files, force=self.force)]
        observers.append(Notes(quiet=self.quiet, finished=self.table))
        if self.verdict_alone:
            return observers
        if self.json:
            observers.append(JsonLines())
        elif self.table and not alone:
            observers.append(Table(quiet=self.quiet))
        elif not alone:
            observers.append(Summaries(store.stored, quiet=self.quiet, phases=self.phases))
        if not self.no_report:
            reference = plan.file.plan.reference
            to_stderr = self.json or alone
            page = Page(self.report, reference=reference, to_stderr=to_stderr, quiet=self.quiet)
            observers.append(page)
        if self.junit:
            observers.append(JUnit(self.junit, title, force=self.force))
        observers.append(Emitted(emits, title, force=self.force))
        return observers


def measure_and_end(
    file: PlanFile,
    outputs: Outputs,
    scale: float = 1.0,
    *,
    dry_run: bool = False,
    fresh: bool = False,
    tags: Sequence[str] | None = None,
    dask: str | None = None,
) -> NoReturn:
    """Measure a plan and exit with the status of its results. Raises RtscopeError."""
    results, lost = measured(
        file, outputs, scale, dry_run=dry_run, fresh=fresh, tags=tags, dask=dask
    )
    raise typer.Exit(status_of(results, lost=lost))


def measured(
    file: PlanFile,
    outputs: Outputs,
    scale: float = 1.0,
    *,
    dry_run: bool = False,
    fresh: bool = False,
    tags: Sequence[str] | None = None,
    dask: str | None = None,
) -> tuple[list[CellResult], bool]:
    """Measure a plan; return the results, and whether an output was lost.

    Exits after a dry run and after a signal. Raises RtscopeError.
    """
    if not outputs.quiet:
        for sentence in unmeasured_steps(file):
            note(sentence)
    connecting(*file.plan.targets)
    with ended_by_signals(), outputs.boot_failure_emitted(file.plan.title):
        plan = checked_plan(file, scale)
    if dry_run:
        output_console().print(PlanView(plan))
        raise typer.Exit
    interrupt = Interrupt()
    observers = outputs.observers(plan)
    live = LiveProgress(plan.file.plan.title)
    activity = ActivityFile(plan.file.plan.title, shlex.join(["rtscope", *sys.argv[1:]]))
    shown: list[Observer] = [activity] if outputs.quiet else [activity, live]
    try:
        with nodes_of(dask) as nodes, closing(live), closing(activity):
            everybody = Observers([*shown, *observers])
            results = measure_plan(
                plan, everybody, interrupt, fresh=fresh, tags=tags or [], nodes=nodes
            )
    except RtscopeError as error:
        if interrupt.signal is None:
            raise
        complain(str(error))
        raise typer.Exit(128 + interrupt.signal) from None
    if interrupt.signal is not None:
        if any(_is_left(result) for result in results):
            again = ", with --force to overwrite its files" if outputs.names_files else ""
            complain(
                f"interrupted: the same command continues with the remaining measurements{again}"
            )
        raise typer.Exit(128 + interrupt.signal)
    return results, any(one.lost for one in observers)


def _is_left(result: CellResult) -> bool:
    return result.run is None or result.run.status == "interrupted"


def status_of(results: Sequence[CellResult], *, lost: bool) -> int:
    """The exit status of a command with these results; `lost`: an output was lost."""
    if lost or not any(result.run for result in results):
        return 2
    if any(result.run and result.run.status == "watchdog" for result in results):
        return 3
    return int(any(result.is_bad for result in results))
