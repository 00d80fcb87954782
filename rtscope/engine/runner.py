# SPDX-License-Identifier: GPL-2.0-only
"""Measure the remaining cells of an experiment.

What is done is what the store has: a run carries the id of its experiment and the name of its cell,
so saving it and noting the cell as done are one step, and no crash can come between them.
"""

import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from functools import partial
from pathlib import Path
from typing import Final, Protocol, cast

import msgspec

from rtscope.engine.cells import Cell, plan_hash
from rtscope.model.errors import BootError, RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import FINAL, Run
from rtscope.store import database
from rtscope.store.summary import Summary

_TICK_S: Final = 1.0
_SAME: Final = {
    "host": "hostname",
    "CPU model": "cpu_model",
    "kernel": "kernel_release",
    "kernel build": "kernel_version",
    "preemption": "preemption",
    "kernel command line": "command_line",
}
"""fields of the fingerprint that identify a system, by their names for people"""


class Experiment(msgspec.Struct, frozen=True):
    """The cells of a plan in their order, and the runs of finished cells."""

    id: str
    cells: list[Cell]
    done: dict[str, str]
    """name of a cell to the id of its run"""
    begun: dict[str, str] = {}
    """name of a cell that is not done to the id of its record so far"""
    finished: str = ""
    """id of the latest experiment of these cells, if it is finished"""
    elsewhere: str = ""
    """id of the latest experiment of these cells, if it was on another system"""
    differences: list[str] = []
    """differences of that system"""
    tags: Sequence[str] = ()
    """of the runs that are measured now"""

    @property
    def left(self) -> list[Cell]:
        """The remaining cells."""
        return [cell for cell in self.cells if cell.name not in self.done]


class Outcome(msgspec.Struct, frozen=True):
    """The outcome of one cell."""

    cell: Cell
    run: Run | None
    failure: str = ""
    """why there is no run"""
    boot_failed: bool = False
    """that is because its system did not boot, or cannot be reached"""


def open_experiment(
    cells: Sequence[Cell],
    machine_of: Callable[[str], Machine],
    *,
    fresh: bool = False,
    store: Path | None = None,
) -> Experiment:
    """Return the latest experiment of these cells on these systems if unfinished, else a new one.

    `machine_of` returns the present machine of a target, and is asked where something is measured
    there already. With `fresh` it is a new one always. Raises StoreError and what
    `machine_of` raises.
    """
    plan = plan_hash(list(cells))
    new = Experiment(plan + secrets.token_hex(3), list(cells), {})
    if fresh:
        return new
    held: dict[str, list[Summary]] = {}
    for run in database.list_reachable(plan, store):
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
        begun = {run.cell: run.id for run in reversed(runs) if run.cell not in done}
        return msgspec.structs.replace(new, id=latest, done=done, begun=begun)
    return new


def _differences(
    known: dict[str, str], machine_of: Callable[[str], Machine], store: Path | None
) -> list[str]:
    """Return how the targets differ from the systems of these runs."""
    changed = []
    for target, run in known.items():
        then, now = database.load(run, store).machine, machine_of(target)
        where = "" if target == "local" else f"{target}: "
        for words, field in _SAME.items():
            before, present = getattr(then, field), getattr(now, field)
            if before != present:
                changed.append(
                    f"{where}{words} was {before or 'unknown'}, is {present or 'unknown'}"
                )
    return changed


class LabMeasure(Protocol):
    """Measures the lab's cells, several at once."""

    at_once: int

    def takes(self, cell: Cell) -> bool:
        """Return whether a cell may be measured at the same time as others."""
        ...

    def begin(self, cells: Iterable[Cell]) -> None:
        """Prepare; called once, before the first cell."""

    def measure(self, cell: Cell) -> Run:
        """Measure one cell in a thread of its own. Raises RtscopeError."""
        ...

    def tick(self) -> None:
        """Called about once a second during the measurements."""

    def interrupt(self) -> None:
        """End all running measurements; called from another thread."""


def run_cells(
    experiment: Experiment,
    measure: Callable[[Cell], Run],
    keep: Callable[[Run], None],
    stopped: Callable[[], bool],
    lab: LabMeasure | None = None,
) -> Iterator[Outcome]:
    """Measure the remaining cells, pass each run to `keep`, and yield each outcome.

    Real machines are measured one cell at a time; after those come the cells of the lab, as many
    at once as it takes. A cell that cannot be measured does not stop the others. Ends early,
    after the present cells, once `stopped` says so.
    """
    emulated = [cell for cell in experiment.left if lab and lab.takes(cell)]
    real = [cell for cell in experiment.left if cell not in emulated]
    for cell in real:
        if stopped():
            return
        outcome = _recorded(experiment, cell, partial(measure, cell), keep)
        if outcome.run is None and stopped():
            return
        yield outcome
    if lab and emulated and not stopped():
        lab.begin(emulated)
        yield from _side_by_side(experiment, emulated, lab, keep, stopped)


def _side_by_side(
    experiment: Experiment,
    cells: list[Cell],
    lab: LabMeasure,
    keep: Callable[[Run], None],
    stopped: Callable[[], bool],
) -> Iterator[Outcome]:
    def measure_unless_stopped(cell: Cell) -> Run | None:
        return None if stopped() else lab.measure(cell)

    with ThreadPoolExecutor(lab.at_once) as pool:
        begun = {pool.submit(measure_unless_stopped, cell): cell for cell in cells}
        try:
            pending = set(begun)
            while pending:
                done, pending = wait(pending, _TICK_S, FIRST_COMPLETED)
                lab.tick()
                for future in done:
                    if not _never_begun(future, stopped):
                        measured = cast("Callable[[], Run]", future.result)
                        yield _recorded(experiment, begun[future], measured, keep)
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            lab.interrupt()
            raise


def _never_begun(future: Future[Run | None], stopped: Callable[[], bool]) -> bool:
    """Return whether the experiment ended before the cell, or before its VM had booted."""
    error = future.exception()
    return (error is None and future.result() is None) or (
        isinstance(error, RtscopeError) and stopped()
    )


def _recorded(
    experiment: Experiment, cell: Cell, measured: Callable[[], Run], keep: Callable[[Run], None]
) -> Outcome:
    try:
        run = measured()
    except RtscopeError as error:
        return Outcome(cell, None, str(error), isinstance(error, BootError))
    run = stamped(run, experiment, cell)
    keep(run)
    return Outcome(cell, run)


def stamped(run: Run, experiment: Experiment, cell: Cell) -> Run:
    """Return the run with its experiment and cell."""
    return msgspec.structs.replace(
        run,
        experiment=experiment.id,
        cell=cell.name,
        place=cell.place,
        target=cell.target,
        tags=list(dict.fromkeys(experiment.tags)),
        asked=msgspec.structs.replace(run.asked, scale=cell.scale),
    )
