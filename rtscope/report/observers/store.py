# SPDX-License-Identifier: GPL-2.0-only
"""Stores every run as soon as it is measured."""

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.model.errors import NotSentError, RtscopeError
from rtscope.model.run import Run
from rtscope.report.terminal.streams import complain
from rtscope.statistics.cells import CellResult
from rtscope.store import database


class Store(Observer):
    """Stores runs; a run that cannot be stored is written to a file."""

    def __init__(self) -> None:
        """Nothing is stored yet. Raises RtscopeError where RTSCOPE_STORE is not usable here."""
        database.check_place()
        self.stored: set[str] = set()
        """ids of the runs that are in the store"""

    def partial(self, run: Run) -> None:
        """Store the record of a cell so far."""
        try:
            database.save(run)
            self.stored.add(run.id)
        except NotSentError as error:
            self.lost = True
            complain(str(error))
        except RtscopeError as error:
            self.lost = True
            complain(f"{error}; the run is saved as {database.rescue(run)}")

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Store the run of a cell."""
        if result.run:
            self.partial(result.run)
