# SPDX-License-Identifier: GPL-2.0-only
"""Files that a command names: copies of runs, the HTML report, JUnit XML."""

import re
import sys
from collections.abc import Sequence
from pathlib import Path

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.model.errors import RtscopeError
from rtscope.model.reference import Reference
from rtscope.model.request import Request
from rtscope.model.run import Run
from rtscope.references.library import reference_named
from rtscope.report.exchange.junit import junit_report
from rtscope.report.page.report import html_report
from rtscope.report.terminal.streams import complain, output_written, why_not_written
from rtscope.statistics.cells import CellResult
from rtscope.statistics.reference import tables_beside
from rtscope.store.database import report_path
from rtscope.store.files import write_file
from rtscope.store.runfile import write_run


def run_files(output: Path | None, cells: Sequence[Cell]) -> dict[str, Path]:
    """Return the file of each cell's run: FILE for one cell, FILE-<number>-<load> for several."""
    if output is None:
        return {}
    if len(cells) == 1:
        return {cells[0].name: output}
    several = len({cell.target for cell in cells}) > 1
    return {
        cell.name: output.with_stem(f"{output.stem}-{number}-{_word(cell, with_target=several)}")
        for number, cell in enumerate(cells, 1)
    }


def _word(cell: Cell, *, with_target: bool) -> str:
    name = cell.work.load if isinstance(cell.work, Request) else cell.work.kind
    name += f" {cell.target}" if with_target else ""
    return re.sub(r"[^A-Za-z0-9]+", "-", name)[:40]


class RunFiles(Observer):
    """Copies each run to a file."""

    def __init__(self, files: dict[str, Path], *, force: bool) -> None:
        """`files` by the names of the cells."""
        self._files = files
        self._force = force

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Write the run of a cell."""
        if result.run is None or cell.name not in self._files:
            return
        try:
            write_run(result.run, self._files[cell.name], overwrite=self._force)
        except RtscopeError as error:
            self.lost = True
            complain(f"{error}; the run is in the store as {result.run.id}")


class Page(Observer):
    """Writes the HTML report at the end."""

    def __init__(
        self, chosen: Path | None, *, reference: str = "", to_stderr: bool, quiet: bool
    ) -> None:
        """Write the file `chosen`, else one in the store's directory, with `reference`'s tables."""
        self._chosen = chosen
        self._reference = reference
        self._to_stderr = to_stderr
        self._quiet = quiet

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Write the page and print its path."""
        measured = [result for result in results if result.run]
        runs = [result.run for result in measured if result.run]
        if not runs:
            return
        name = experiment.id if len(experiment.cells) > 1 else runs[0].id
        path = self._chosen or report_path(name)
        judgements = [list(result.judgements) for result in measured]
        page = html_report(runs, judgements, self._reference_of(runs))
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            # A chosen file was checked before; one in the store may be an earlier part's.
            write_file(page.encode(), path, "the report", overwrite=True)
        except (OSError, RtscopeError) as error:
            self.lost = True
            why = why_not_written(error) if isinstance(error, OSError) else error
            complain(f"{why}; rtscope report {name} writes it again")
            return
        if not self._quiet:
            place = sys.stderr if self._to_stderr else sys.stdout
            self.lost |= not output_written(lambda: print(f"report: {path}", file=place))

    def _reference_of(self, runs: list[Run]) -> Reference | None:
        """Return the published tables; None, with a sentence, where none of them fits the runs."""
        if not self._reference:
            return None
        reference = reference_named(self._reference)
        try:
            tables_beside(reference, runs)
        except RtscopeError as error:
            complain(f"the report does not have the plan's reference: {error}")
            return None
        return reference


class JUnit(Observer):
    """Writes JUnit XML at the end, a test case for each cell."""

    def __init__(self, file: Path, title: str, *, force: bool) -> None:
        """The suite has this title."""
        self._file = file
        self._title = title
        self._force = force

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Write the file."""
        try:
            page = junit_report(self._title, results)
            write_file(page, self._file, "the JUnit report", overwrite=self._force)
        except RtscopeError as error:
            self.lost = True
            complain(str(error))
