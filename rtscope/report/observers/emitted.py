# SPDX-License-Identifier: GPL-2.0-only
"""Results in a format of other programs, in a file or on standard output."""

import os
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.model.errors import RtscopeError
from rtscope.report.exchange.case import Case, cases_of_cells
from rtscope.report.exchange.formats import LINES, WRITERS
from rtscope.report.exchange.github import github_summary
from rtscope.report.exchange.junit import junit_report
from rtscope.report.exchange.states import Format
from rtscope.report.terminal.streams import complain, output_written, why_not_written
from rtscope.statistics.cells import CellResult
from rtscope.store.files import write_file


class Emit(msgspec.Struct, frozen=True):
    """One --emit option."""

    format: Format
    path: Path | None = None
    """None for standard output"""

    @property
    def replaces_output(self) -> bool:
        """True if nothing else may be on standard output."""
        return self.path is None and self.format not in LINES


def emitted(
    emits: Sequence[Emit], cases: Sequence[Case], junit: Callable[[], bytes], *, force: bool
) -> bool:
    """Write the cases in each format; `junit` makes JUnit XML. False, and a sentence on standard
    error, where one cannot be written.
    """
    written = True
    for emit in emits:
        document = junit() if emit.format == "junit" else WRITERS[emit.format](cases)
        written &= _written(emit, document, force=force)
        if emit.format == "github" and emit.path is None:
            written &= _summarized(cases)
    return written


def _written(emit: Emit, document: bytes, *, force: bool) -> bool:
    if emit.path is None:
        return output_written(lambda: print(document.decode(), end=""))
    try:
        write_file(document, emit.path, f"the {emit.format} file", overwrite=force)
    except RtscopeError as error:
        complain(str(error))
        return False
    return True


def _summarized(cases: Sequence[Case]) -> bool:
    """Append a table to the summary of the job in GitHub Actions, which names the file."""
    file = os.environ.get("GITHUB_STEP_SUMMARY")
    if not file:
        return True
    try:
        with Path(file).open("ab") as summary:
            summary.write(github_summary(cases))
    except OSError as error:
        complain(why_not_written(error))
        return False
    return True


class Emitted(Observer):
    """Writes all results at the end."""

    def __init__(self, emits: Sequence[Emit], title: str, *, force: bool) -> None:
        """`title` is that of the plan."""
        self._emits = emits
        self._title = title
        self._force = force

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Write each format."""
        self.write(results)

    def write(self, results: Sequence[CellResult]) -> None:
        """Write these results in each format."""
        self.lost |= not emitted(
            self._emits,
            cases_of_cells(results),
            lambda: junit_report(self._title, results),
            force=self._force,
        )
