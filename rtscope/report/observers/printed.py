# SPDX-License-Identifier: GPL-2.0-only
"""Results on standard output: each run's metrics, one table of all cells, or lines of JSON."""

from collections.abc import Container, Sequence

from rtscope.engine.cells import Cell
from rtscope.engine.observer import Observer
from rtscope.engine.runner import Experiment
from rtscope.report.exchange.jsonlines import print_json, print_run
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.experiment import CellTable
from rtscope.report.terminal.run import judgement_line, marked_line, summary
from rtscope.report.terminal.streams import output_written
from rtscope.report.terminal.tuning import StepsView
from rtscope.statistics.cells import CellResult, not_passed
from rtscope.statistics.steps import steps_among
from rtscope.store.address import user_place
from rtscope.store.database import by_sudo
from rtscope.wording.run import warnings_of_all


class JsonLines(Observer):
    """Prints each run as a line of JSON, and at the end the effect of each step of a profile."""

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Print a run."""
        run = result.run
        if run:
            self.lost |= not output_written(lambda: print_run(run))

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Print the steps."""

        def show() -> None:
            for one in steps_among([result.run for result in results if result.run]):
                print_json(one)

        self.lost |= not output_written(show)


class Summaries(Observer):
    """Prints each run's metrics as soon as it is measured."""

    def __init__(self, stored: Container[str], *, quiet: bool, phases: bool = False) -> None:
        """With `quiet`, omit the run's place in the store; with `phases`, add the load's phases.

        `stored` has the ids of the runs in the store.
        """
        self._stored = stored
        self._quiet = quiet
        self._phases = phases
        self._warned: set[str] = set()

    def measured(self, cell: Cell, result: CellResult) -> None:
        """Print a run."""
        run = result.run
        if run is None:
            return

        def show() -> None:
            console = output_console()
            shown = summary(run, result.judgements, phases=self._phases, warned=self._warned)
            console.print(shown)
            if run.id in self._stored and not self._quiet:
                command = f"{'sudo ' if by_sudo() else ''}rtscope show {run.id[:8]}"
                said = f"run {run.id} is in the store {user_place()}: {command}"
                console.print(said, markup=False, soft_wrap=True)
            console.print()

        self.lost |= not output_written(show)


class Table(Observer):
    """Prints one table of all cells at the end."""

    def __init__(self, *, quiet: bool) -> None:
        """With `quiet`, omit the experiment's id."""
        self._quiet = quiet

    def ended(self, experiment: Experiment, results: Sequence[CellResult]) -> None:
        """Print all cells, the warnings, the effect of each step, and limits that do not pass."""

        def show() -> None:
            console = output_console()
            console.print(CellTable(results))
            for text in warnings_of_all([result.run for result in results if result.run]):
                console.print(marked_line("! ", text, "bold yellow"))
            console.print()
            for one in steps_among([result.run for result in results if result.run]):
                console.print(StepsView(one))
                console.print()
            for name, judgement in not_passed(results):
                console.print(f"{name}: ", judgement_line(judgement), sep="", markup=False)
            if not self._quiet:
                listed = f"rtscope list --experiment {experiment.id}"
                console.print(f"experiment {experiment.id}: {listed}")

        self.lost |= not output_written(show)
