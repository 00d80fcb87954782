# SPDX-License-Identifier: GPL-2.0-only
"""What is measured now, in a file that `rtscope serve` shows (store/activity.py)."""

import os
import threading
import time
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Final

from msgspec.structs import replace

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.model.errors import StoreError
from rtscope.model.farm import Activity, Board, progress_of
from rtscope.model.progress import Progress
from rtscope.statistics.cells import CellResult
from rtscope.store.activity import remove_activity, remove_old_measurements, write_activity
from rtscope.target.protocol import AnyLine, Start

_EVERY_SECONDS: Final = 1.0
_VERDICTS: Final = {"pass": "pass", "fail": "fail", "inconclusive": "inconclusive"}


class ActivityFile(Observer):
    """Writes the state of each target, at most once a second; the file is removed at the end.

    Where it cannot be written, nothing is: a measurement does not depend on it.
    """

    def __init__(self, title: str, command: str) -> None:
        """Nothing is written yet. `command` repeats the measurement."""
        self._activity = Activity(
            "measure", title[:400], _now(), _now(), pid=os.getpid(), command=command[:2000]
        )
        self._name = f"measure-{os.getpid()}"
        self._boards: dict[str, Board] = {}
        self._durations_ns: dict[str, int | None] = {}
        self._lock = threading.Lock()
        self._written_s = 0.0
        self._writes = True

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Write all targets."""
        with self._lock:
            for cell in experiment.cells:
                board = self._boards.get(cell.target) or _board(cell.target)
                done = board.done + (cell.name in experiment.done)
                self._boards[cell.target] = replace(board, cells=board.cells + 1, done=done)
            remove_old_measurements()
            self._write()

    def began(self, cell: Cell) -> None:
        """Write that a target is made ready."""
        self._change(cell, state="booting" if cell.target.startswith("vm:") else "checking")

    def received(self, cell: Cell, line: AnyLine) -> None:
        """Write the progress."""
        if isinstance(line, Start):
            self._durations_ns[cell.name] = line.duration_ns or None
            self._change(cell, state="measuring")
        elif isinstance(line, Progress):
            progress = progress_of(line, cell.name[:400], self._durations_ns.get(cell.name))
            self._change(cell, at_once=False, state="measuring", progress=progress)

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Write the verdict."""
        board = self._boards.get(cell.target) or _board(cell.target)
        self._change(
            cell,
            state="failed" if result.run is None else "done",
            progress=None,
            done=board.done + (result.run is not None),
            verdict=_VERDICTS.get(result.verdict, board.verdict),
            run=result.run.id if result.run else board.run,
            text=result.failure[:400],
        )

    def tick(self) -> None:
        """Write that the program still runs."""
        with self._lock:
            self._write_if_due()

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Remove the file."""
        self.close()

    def close(self) -> None:
        """Remove the file; nothing is written after that."""
        with self._lock:
            if self._writes and self._written_s:
                self._writes = False
                try:
                    remove_activity(self._name)
                except StoreError:
                    return

    def _change(self, cell: Cell, *, at_once: bool = True, **fields: object) -> None:
        with self._lock:
            board = self._boards.get(cell.target) or _board(cell.target)
            if fields["state"] != board.state:
                fields["time"] = _now()
            self._boards[cell.target] = replace(board, **fields)
            if at_once:
                self._write()
            else:
                self._write_if_due()

    def _write_if_due(self) -> None:
        if time.monotonic() >= self._written_s + _EVERY_SECONDS:
            self._write()

    def _write(self) -> None:
        if not self._writes:
            return
        self._written_s = time.monotonic()
        self._activity = replace(self._activity, written=_now())
        try:
            write_activity(self._name, self._activity, list(self._boards.values()))
        except StoreError:
            self._writes = False


def _board(target: str) -> Board:
    name = target.partition(":")[2] or target
    return Board(name[:400], target[:400], "queued", _now())


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="seconds")
