# SPDX-License-Identifier: GPL-2.0-only
"""What an experiment tells those who watch it: a live view, the store, reports."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext

from rtscope.engine.cells import Cell
from rtscope.engine.runner import Experiment
from rtscope.model.run import Run
from rtscope.statistics.cells import CellResult
from rtscope.target.protocol import AnyLine


class Observer:
    """Watches an experiment. Each method does nothing unless it is overridden.

    Cells of the lab are measured side by side: their methods are called from several threads.
    """

    lost = False
    """whether a result could not be written or shown"""

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Take the cells, and how long each takes by its name where that is known."""

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Return a block during which this, which is no measurement, goes on."""
        return nullcontext()

    def began(self, cell: Cell) -> None:
        """Note that a cell begins."""

    def heard(self, cell: Cell, line: AnyLine) -> None:
        """Take a line of the agent that measures a cell."""

    def step(self, cell: Cell, text: str, done: int, total: int) -> None:
        """Note the progress of a cell of many measurements, and which one begins."""

    def partial(self, run: Run) -> None:
        """Take the record of an unfinished cell, which the cell's later records replace."""

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Take the result of a cell: its run, or why there is none."""

    def tick(self) -> None:
        """Note that about a second has passed."""

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Take all results in the order of the plan."""


class Observers(Observer):
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        """Tell each of these, in this order."""
        self._all = observers

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Tell each."""
        for one in self._all:
            one.opened(experiment, times_ns)

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Tell each."""
        stack = ExitStack()
        for one in self._all:
            stack.enter_context(one.busy(text))
        return stack

    def began(self, cell: Cell) -> None:
        """Tell each."""
        for one in self._all:
            one.began(cell)

    def heard(self, cell: Cell, line: AnyLine) -> None:
        """Tell each."""
        for one in self._all:
            one.heard(cell, line)

    def step(self, cell: Cell, text: str, done: int, total: int) -> None:
        """Tell each."""
        for one in self._all:
            one.step(cell, text, done, total)

    def partial(self, run: Run) -> None:
        """Tell each."""
        for one in self._all:
            one.partial(run)

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Tell each."""
        for one in self._all:
            one.measured(cell, result)

    def tick(self) -> None:
        """Tell each."""
        for one in self._all:
            one.tick()

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Tell each."""
        for one in self._all:
            one.ended(experiment, results)
