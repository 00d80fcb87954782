"""Measure the cells of a plan one after the other, and go on where an earlier try ended.

What is done is what the store has: a run carries the id of its experiment and the name of its cell,
so saving it and noting the cell as done are one step, and no crash can come between them.
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec

from rtscope.experiment.cells import Cell, plan_hash
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.store import database

FINAL: Final = frozenset({"complete", "threshold", "watchdog"})
"""how a run ends that need not be measured again"""


class Experiment(msgspec.Struct, frozen=True):
    """The cells of a plan in their order, and the runs of those that are done."""

    id: str
    cells: list[Cell]
    done: dict[str, str]
    """name of a cell to the id of its run"""
    finished: str = ""
    """id of the latest experiment of these cells, where it is finished and this one is new"""

    @property
    def left(self) -> list[Cell]:
        """The cells that are yet to be measured."""
        return [cell for cell in self.cells if cell.name not in self.done]


class Outcome(msgspec.Struct, frozen=True):
    """What became of one cell."""

    cell: Cell
    run: Run | None
    failure: str = ""
    """why there is no run"""


def open_experiment(
    cells: Sequence[Cell], *, fresh: bool = False, store: Path | None = None
) -> Experiment:
    """The unfinished experiment of these cells; a new one where there is none, or if `fresh`.

    Raises StoreError.
    """
    plan = plan_hash(list(cells))
    new = Experiment(plan + secrets.token_hex(3), list(cells), {})
    if fresh:
        return new
    held = database.list_runs(store=store, experiment=plan)
    if not held:
        return new
    latest = held[0].experiment
    names = {cell.name for cell in cells}
    done = {
        run.cell: run.id
        for run in reversed(held)
        if run.experiment == latest and run.cell in names and run.status in FINAL
    }
    experiment = Experiment(latest, list(cells), done)
    return experiment if experiment.left else msgspec.structs.replace(new, finished=latest)


def run_cells(
    experiment: Experiment,
    measure: Callable[[Cell], Run],
    keep: Callable[[Run], None],
    stopped: Callable[[], bool],
) -> Iterator[Outcome]:
    """Measure what is left, keeping each run before the next begins; yields each outcome.

    A cell that cannot be measured does not stop the others. Ends early, after the present cell,
    once `stopped` says so.
    """
    for cell in experiment.left:
        if stopped():
            return
        try:
            run = measure(cell)
        except RtscopeError as error:
            yield Outcome(cell, None, str(error))
            continue
        run = msgspec.structs.replace(
            run,
            experiment=experiment.id,
            cell=cell.name,
            target=cell.target,
            asked=msgspec.structs.replace(run.asked, scale=cell.scale),
        )
        keep(run)
        yield Outcome(cell, run)
