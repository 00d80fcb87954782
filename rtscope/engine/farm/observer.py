# SPDX-License-Identifier: GPL-2.0-only
"""An observer of the measurements on one board: its progress, and whether it is still there."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from rtscope.engine.cells import Cell
from rtscope.engine.farm.interrupt import BoardInterrupt
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.farm.board import Board
from rtscope.model.farm import progress_of
from rtscope.model.progress import Progress
from rtscope.statistics.cells import CellResult
from rtscope.target.protocol import AnyLine


class BoardObserver(Observer):
    """Reports the progress of a plan on a board, and ends it when the board is lost."""

    def __init__(
        self, board: Board, interrupt: BoardInterrupt, change: Callable[..., None], done: int
    ) -> None:
        """`change` takes fields of a farm's board; `done` cells of earlier plans are measured."""
        self._board = board
        self._interrupt = interrupt
        self._change = change
        self._done = done
        self._times_ns: Mapping[str, int | None] = {}

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Count the cells that were measured before."""
        self._times_ns = times_ns
        self._done += len(experiment.done)
        self._change(done=self._done)

    def began(self, cell: Cell) -> None:
        """Report the cell."""
        self._change(state="measuring", text=cell.name, progress=None)

    def received(self, cell: Cell, line: AnyLine) -> None:
        """Report progress."""
        if isinstance(line, Progress):
            self._change(progress=progress_of(line, cell.name, self._times_ns.get(cell.name)))

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Report the run, and check the board after a measurement that failed."""
        changes: dict[str, Any] = {"progress": None}
        if result.run:
            changes["run"] = result.run.id
            if result.judgements:
                changes["verdict"] = _verdict(result)
        failed = result.run is None or result.run.status == "failed"
        if not failed:
            self._done += 1
            changes["done"] = self._done
        self._change(**changes)
        if (failed or not self._board.is_ours) and not self._interrupt.is_set():
            self._interrupt.lost = self._board.lost()

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Report that nothing is measured any more."""
        self._change(progress=None)


def _verdict(result: CellResult) -> str:
    outcomes = {judgement.outcome for judgement in result.judgements}
    return next(one for one in ("fail", "inconclusive", "pass") if one in outcomes)
