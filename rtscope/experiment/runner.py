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
from rtscope.model.machine import Machine
from rtscope.model.run import FINAL, Run
from rtscope.store import database

_SAME: Final = {
    "host": "hostname",
    "CPU model": "cpu_model",
    "kernel": "kernel_release",
    "kernel build": "kernel_version",
    "preemption": "preemption",
    "kernel command line": "command_line",
}
"""what makes a machine another one, in words and as the fingerprint's field"""


class Experiment(msgspec.Struct, frozen=True):
    """The cells of a plan in their order, and the runs of those that are done."""

    id: str
    cells: list[Cell]
    done: dict[str, str]
    """name of a cell to the id of its run"""
    finished: str = ""
    """id of the latest experiment of these cells, where it is finished and this one is new"""
    elsewhere: str = ""
    """id of the latest experiment of these cells, where that was begun on another machine"""
    differences: list[str] = []
    """in what that machine is another"""

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
    cells: Sequence[Cell],
    machine_of: Callable[[str], Machine],
    *,
    fresh: bool = False,
    store: Path | None = None,
) -> Experiment:
    """The latest experiment of these cells on these machines if it is unfinished, else a new one.

    `machine_of` tells the present machine of a target, and is asked where something is measured
    there already. With `fresh` it is a new one always. Raises StoreError and what
    `machine_of` raises.
    """
    plan = plan_hash(list(cells))
    new = Experiment(plan + secrets.token_hex(3), list(cells), {})
    if fresh:
        return new
    held: dict[str, list[database.Summary]] = {}
    for run in database.list_runs(store=store, experiment=plan):
        held.setdefault(run.experiment, []).append(run)
    targets = {cell.name: cell.target for cell in cells}
    for latest, runs in held.items():
        known = {targets[run.cell]: run.id for run in runs if run.cell in targets}
        differences = _differences(known, machine_of, store)
        if differences:
            if not new.elsewhere:
                new = msgspec.structs.replace(new, elsewhere=latest, differences=differences)
            continue
        done = {run.cell: run.id for run in reversed(runs) if run.status in FINAL}
        if targets.keys() <= done.keys():
            return msgspec.structs.replace(new, finished=latest)
        return msgspec.structs.replace(new, id=latest, done=done)
    return new


def _differences(
    known: dict[str, str], machine_of: Callable[[str], Machine], store: Path | None
) -> list[str]:
    """In what the targets are other machines than they were in the runs that are given for them."""
    told = []
    for target, run in known.items():
        then, now = database.load(run, store).machine, machine_of(target)
        where = "" if target == "local" else f"{target}: "
        for words, field in _SAME.items():
            before, present = getattr(then, field), getattr(now, field)
            if before != present:
                told.append(f"{where}{words} was {before or 'unknown'}, is {present or 'unknown'}")
    return told


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
            place=cell.place,
            target=cell.target,
            asked=msgspec.structs.replace(run.asked, scale=cell.scale),
        )
        keep(run)
        yield Outcome(cell, run)
