# SPDX-License-Identifier: GPL-2.0-only
"""Progress on standard error: a live view on a terminal, else a line every ten seconds."""

import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

from rich.live import Live

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.engine.targets import target_of
from rtscope.model.progress import Progress
from rtscope.model.timeline import Explanation
from rtscope.model.units import counted, format_duration_ns
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.experiment import ExperimentState, ExperimentView
from rtscope.report.terminal.live import LiveState, follow
from rtscope.report.terminal.streams import note
from rtscope.statistics.cells import CellResult
from rtscope.statistics.metrics import metrics_of_run
from rtscope.target.protocol import AnyLine
from rtscope.wording.explanation import outlier_line
from rtscope.wording.values import time_text

_FIRST_PROGRESS_NS: Final = 2_000_000_000
_PIPED_PROGRESS_NS: Final = 10_000_000_000


class LiveProgress(Observer):
    """Shows the state of the experiment."""

    def __init__(self, title: str) -> None:
        """Use this title for several cells."""
        self._state = ExperimentState(title, 0)
        self._left_ns: dict[str, int | None] = {}
        self._console = output_console(sys.stderr)
        self._live: Live | None = None
        self._seen = self._console.is_terminal
        self._lock = threading.Lock()
        self._next_line_ns = 0

    def opened(self, experiment: Experiment, times_ns: Mapping[str, int | None]) -> None:
        """Begin to show."""
        self._state.cells = len(experiment.cells)
        self._state.done = len(experiment.done)
        # The host's time for one second of a VM is not known in advance.
        self._left_ns = {
            cell.name: None if _emulated(cell) else times_ns[cell.name] for cell in experiment.left
        }
        self._state.left_ns = list(self._left_ns.values())
        self.tick()

    def busy(self, text: str) -> AbstractContextManager[object]:
        """Show this activity."""
        return self._busy(text)

    @contextmanager
    def _busy(self, text: str) -> Iterator[None]:
        with self._lock:
            self._state.begun_s[text] = time.monotonic()
        self.tick()
        try:
            yield
        finally:
            with self._lock:
                del self._state.begun_s[text]

    def began(self, cell: Cell) -> None:
        """Show the cell."""
        with self._lock:
            time_ns = self._left_ns.pop(cell.name, None)
            self._state.left_ns = list(self._left_ns.values())
            if _emulated(cell):
                self._state.begun_s[cell.name] = time.monotonic()
                return
            self._state.cell, self._state.cell_ns = LiveState(cell.name), time_ns
        self._next_line_ns = _FIRST_PROGRESS_NS
        self.tick()

    def received(self, cell: Cell, line: AnyLine) -> None:
        """Show the metrics so far."""
        state = self._state.cell
        if state is None or _emulated(cell):
            return
        follow(state, line)
        if isinstance(line, Progress) and not self._console.is_terminal:
            self._print_progress(state, line)
        self.tick()

    def outlook(self, cell: Cell, sentences: Sequence[str]) -> None:
        """Show how long --until takes, from the next drawing on."""
        if self._state.cell is not None and not _emulated(cell):
            self._state.cell.outlook = sentences

    def outlier(self, cell: Cell, explanation: Explanation) -> None:
        """Print one line for a late sample, above the view."""
        self.close()
        note(outlier_line(explanation))

    def step(self, cell: Cell, text: str, done: int, total: int) -> None:
        """Show the current measurement of a cell."""
        with self._lock:
            self._state.steps[cell.name] = (text, done, total)
        if not _emulated(cell):
            self.tick()

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Count the cell as done, and hide the view while its result is printed."""
        self.close()
        with self._lock:
            self._state.begun_s.pop(cell.name, None)
            self._state.steps.pop(cell.name, None)
            self._left_ns.pop(cell.name, None)
            self._state.left_ns = list(self._left_ns.values())
            self._state.done += 1
            if not _emulated(cell):
                self._state.cell = None
        if not self._console.is_terminal and self._state.cells > 1 and result.run:
            metrics = metrics_of_run(result.run)
            note(
                f"{result.name}: {counted(metrics.count, 'sample')}, max "
                f"{time_text(metrics.max_ns)}, {result.verdict}; {self._state.progress()}"
            )

    def tick(self) -> None:
        """Draw the view."""
        if not self._seen:
            return
        with self._lock:
            try:
                if self._live is None:
                    self._live = Live(
                        console=self._console,
                        auto_refresh=False,
                        transient=True,
                        redirect_stdout=False,
                    )
                    self._live.start()
                self._live.update(ExperimentView(self._state), refresh=True)
            except OSError:  # the terminal is gone, but the runs are wanted
                self._seen = False

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Remove the view."""
        self.close()

    def close(self) -> None:
        """Hide the view until the next drawing."""
        with self._lock:
            if self._live:
                with suppress(OSError):
                    self._live.stop()
                self._live = None

    def _print_progress(self, state: LiveState, progress: Progress) -> None:
        if progress.time_ns < self._next_line_ns:
            return
        self._next_line_ns = progress.time_ns + _PIPED_PROGRESS_NS
        whole = f" of {format_duration_ns(state.duration_ns)}" if state.duration_ns else ""
        samples = sum(thread.count for thread in progress.threads)
        seconds = progress.time_ns // 1_000_000_000
        note(f"{state.title}: {seconds}s{whole}, {counted(samples, 'sample')}")
        for sentence in state.outlook:
            note(sentence)


def _emulated(cell: Cell) -> bool:
    return target_of(cell.target).capabilities.side_by_side
