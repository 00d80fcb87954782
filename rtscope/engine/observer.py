# SPDX-License-Identifier: GPL-2.0-only
"""The interface between an experiment and its observers: live view, store, reports."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack, nullcontext

from rtscope.engine.cells import Cell
from rtscope.engine.runner import Experiment
from rtscope.model.run import Run
from rtscope.model.timeline import Explanation
from rtscope.statistics.cells import CellResult
from rtscope.target.protocol import AnyLine


class Observer:
    """Receives the events of an experiment. Each method does nothing unless it is overridden.

    Cells of the lab are measured side by side: their methods are called from several threads.
    """

    lost = False
    """whether a result could not be written or shown"""

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """The experiment begins; `times_ns` are the durations of its cells by name, where known."""

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Return a block during which an activity other than a measurement goes on."""
        return nullcontext()

    def began(self, cell: Cell) -> None:
        """A cell begins."""

    def received(self, cell: Cell, line: AnyLine) -> None:
        """The agent that measures a cell has sent a line."""

    def outlook(self, cell: Cell, sentences: Sequence[str]) -> None:
        """How long each limit of --until takes at the rates so far has been computed again."""

    def outlier(self, cell: Cell, explanation: Explanation) -> None:
        """A late sample of a cell that is watched has been explained."""

    def step(self, cell: Cell, text: str, done: int, total: int) -> None:
        """The next of several measurements of a cell begins."""

    def partial(self, run: Run) -> None:
        """An unfinished cell has a record, which later records of the cell replace."""

    def measured(self, cell: Cell, result: CellResult) -> None:
        """A cell has ended, with a run or with the reason why there is none."""

    def tick(self) -> None:
        """About one second has passed."""

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """The experiment has ended; `results` are in the order of the plan."""


class Observers(Observer):
    """Several observers as one."""

    def __init__(self, observers: Sequence[Observer]) -> None:
        """Forward all events to these observers, in this order."""
        self._all = observers

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Forward."""
        for one in self._all:
            one.opened(experiment, times_ns)

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Forward."""
        stack = ExitStack()
        for one in self._all:
            stack.enter_context(one.busy(text))
        return stack

    def began(self, cell: Cell) -> None:
        """Forward."""
        for one in self._all:
            one.began(cell)

    def received(self, cell: Cell, line: AnyLine) -> None:
        """Forward."""
        for one in self._all:
            one.received(cell, line)

    def outlook(self, cell: Cell, sentences: Sequence[str]) -> None:
        """Forward."""
        for one in self._all:
            one.outlook(cell, sentences)

    def outlier(self, cell: Cell, explanation: Explanation) -> None:
        """Forward."""
        for one in self._all:
            one.outlier(cell, explanation)

    def step(self, cell: Cell, text: str, done: int, total: int) -> None:
        """Forward."""
        for one in self._all:
            one.step(cell, text, done, total)

    def partial(self, run: Run) -> None:
        """Forward."""
        for one in self._all:
            one.partial(run)

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Forward."""
        for one in self._all:
            one.measured(cell, result)

    def tick(self) -> None:
        """Forward."""
        for one in self._all:
            one.tick()

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Forward."""
        for one in self._all:
            one.ended(experiment, results)
