# SPDX-License-Identifier: GPL-2.0-only
"""Notes on standard error: the experiment's id, and cells that could not be measured."""

from collections.abc import Mapping

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.report.terminal.streams import complain, note
from rtscope.statistics.cells import CellResult


class Notes(Observer):
    """Prints notes; with `quiet` only failures."""

    def __init__(self, *, quiet: bool, finished: bool = False) -> None:
        """With `finished`, also note that an earlier experiment of the plan is finished."""
        self._quiet = quiet
        self._finished = finished

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Print which experiment is continued, and which ones are not."""
        if self._quiet:
            return
        if experiment.elsewhere and self._finished:
            note(
                f"experiment {experiment.elsewhere} of this plan is of another machine "
                f"({'; '.join(experiment.differences)}) and is not continued"
            )
        if experiment.finished and self._finished:
            note(
                f"experiment {experiment.finished} of this plan is finished (rtscope list "
                f"--experiment {experiment.finished}); this is a new experiment"
            )
        if experiment.done or experiment.begun:
            begun = "" if experiment.done else ", one is begun"
            note(
                f"continuing experiment {experiment.id}: {len(experiment.done)} of "
                f"{len(experiment.cells)} cells are done{begun}; --fresh starts a new experiment"
            )

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Print why a cell has no run."""
        if result.failure:
            complain(f"{cell.name}: {result.failure}")
