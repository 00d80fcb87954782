# SPDX-License-Identifier: GPL-2.0-only
"""The engine: it measures a plan and reports to observers. All measurements go through it."""

import itertools
import os
from collections.abc import Callable, Sequence
from functools import cache

import msgspec

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.cells import Cell, cells_of, placement_command, plan_hash
from rtscope.engine.check import cell_ns, check_cells, check_tuning
from rtscope.engine.ensemble import Nodes, measure_alone, measure_ensemble
from rtscope.engine.explain import Received, explained, repeats_exactly
from rtscope.engine.interrupt import Interrupt
from rtscope.engine.keeping import Keeping
from rtscope.engine.lab_cells import LabCells
from rtscope.engine.measure import measure, read_machine
from rtscope.engine.names import function_names
from rtscope.engine.observer import Observer
from rtscope.engine.placement import Machinery, measure_placements
from rtscope.engine.planfile import PlanFile
from rtscope.engine.rounds import Progress
from rtscope.engine.runner import Experiment, open_experiment, run_cells, stamped
from rtscope.engine.targets import target_of
from rtscope.engine.traced import Windows, explained_by_trace
from rtscope.engine.until import Until
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.plan import PlacementSeries
from rtscope.model.request import Request
from rtscope.model.run import Run, RunWarning
from rtscope.statistics.cells import CellResult
from rtscope.statistics.verdict import judge_by_own
from rtscope.store import database
from rtscope.store.lock import locked
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import AnyLine


class CheckedPlan(msgspec.Struct, frozen=True):
    """A plan whose cells have been validated."""

    file: PlanFile
    cells: list[Cell]
    times_ns: dict[str, int | None]
    """duration of each cell by its name; None where it is not known"""


def checked_plan(file: PlanFile, scale: float = 1.0) -> CheckedPlan:
    """Validate a plan before anything is measured. Raises RtscopeError with the file's line."""
    cells = cells_of(file, scale)
    starts = check_cells(file, cells)
    times = {
        cell.name: cell_ns(starts[cell.name]) if cell.name in starts else None for cell in cells
    }
    return CheckedPlan(file, cells, times)


def measure_plan(
    plan: CheckedPlan,
    observer: Observer,
    interrupt: Interrupt,
    *,
    fresh: bool = False,
    tags: Sequence[str] = (),
    nodes: Nodes | None = None,
) -> list[CellResult]:
    """Measure the remaining cells of a plan and return the results of all, in the plan's order.

    With `nodes`, cells of the lab are measured there.

    After a signal, the results are those of the cells measured until then. Raises RtscopeError
    where no measurement could begin.
    """

    @cache
    def machine_of(name: str) -> Machine:
        with observer.busy(f"reading the system {name}"):
            try:
                return read_machine(target_of(name), interrupt.watch)
            finally:
                interrupt.agent = None

    with interrupt.installed(), locked(plan_hash(plan.cells)):
        check_tuning(plan.file, plan.cells, machine_of)
        experiment = msgspec.structs.replace(
            open_experiment(plan.cells, machine_of, fresh=fresh), tags=tags
        )
        observer.opened(experiment, plan.times_ns)
        results = _Measurement(experiment, machine_of, observer, interrupt, nodes).results()
    observer.ended(experiment, results)
    return results


class _Measurement:
    """Measures the cells of one experiment."""

    def __init__(
        self,
        experiment: Experiment,
        machine_of: Callable[[str], Machine],
        observer: Observer,
        interrupt: Interrupt,
        nodes: Nodes | None,
    ) -> None:
        self._nodes = nodes
        self._experiment = experiment
        self._machine_of = machine_of
        self._observer = observer
        self._interrupt = interrupt
        lab_cells = sum(
            target_of(cell.target).capabilities.side_by_side for cell in experiment.left
        )
        self._at_once = max(1, (os.cpu_count() or 1) // max(1, lab_cells))

    def results(self) -> list[CellResult]:
        """Measure the remaining cells; return the results of all cells in the order of the plan."""
        experiment = self._experiment
        results = {name: _judged(database.load(run)) for name, run in experiment.done.items()}
        measure_on, nodes = self._measure_on, self._nodes
        lab = LabCells(self._interrupt, self._machine_of, measure_on, self._observer, nodes)
        for outcome in run_cells(
            experiment, self._measure, lambda run: None, self._interrupt.is_set, lab
        ):
            cell = outcome.cell
            result = (
                _judged(outcome.run)
                if outcome.run
                else CellResult(cell.name, failure=outcome.failure, boot_failed=outcome.boot_failed)
            )
            results[cell.name] = result
            self._observer.measured(cell, result)
        written = sorted(experiment.cells, key=lambda cell: cell.place)
        return [results.get(cell.name) or CellResult(cell.name) for cell in written]

    def _measure(self, cell: Cell) -> Run:
        """Measure one cell, with no other at the same time."""
        machine = self._machine_of(cell.target)
        if self._interrupt.is_set():
            raise RtscopeError("interrupted before it began")
        agents = AgentGroup()

        def on_start(agent: Agent) -> None:
            agents.watch(agent)
            self._interrupt.watch(agents)

        try:
            return self._measure_on(cell, machine, on_start, agents)
        finally:
            self._interrupt.agent = None

    def _measure_on(
        self, cell: Cell, machine: Machine, on_start: Callable[[Agent], None], agents: AgentGroup
    ) -> Run:
        target = target_of(cell.target)
        self._observer.began(cell)
        if isinstance(cell.work, PlacementSeries):
            return self._placements(cell, cell.work, machine, target, on_start, agents)
        if cell.seeds:
            self._observer.step(cell, "seeds", 0, cell.seeds)
            done = itertools.count(1)

            def on_done(run: Run) -> None:
                self._observer.step(cell, "seeds", next(done), cell.seeds or 1)

            return self._ensemble(cell.work, cell.seeds, machine, target, agents, on_done)
        plain = not (cell.explain or cell.until or cell.watch)
        if self._nodes and plain and target.capabilities.side_by_side:
            return self._nodes.submit(measure_alone, target, cell.work, machine).result()
        received, windows = Received(), Windows(most=cell.watch or cell.explain or 1)
        by_trace = bool(cell.explain) and (cell.watch > 0 or not repeats_exactly(target))
        keeping = Keeping(
            windows, lambda run: self._observer.partial(stamped(run, self._experiment, cell))
        )

        def on_line(line: AnyLine) -> None:
            received.receive(line)
            for explanation in windows.receive(line):
                if cell.watch:
                    keeping.changed()
                    self._observer.outlier(cell, explanation)
            self._observer.received(cell, line)
            if until:
                until.receive(line)
                if outlook := until.outlook():
                    self._observer.outlook(cell, outlook)
                if until.decision() != "open" and not ended:
                    ended.append(True)
                    agents.interrupt()

        until = Until(cell.until) if cell.until else None
        ended: list[bool] = []
        work = msgspec.structs.replace(cell.work, explain=cell.explain if by_trace else None)
        so_far = keeping.keep if cell.watch else lambda so_far: None
        run = measure(work, machine, on_start, on_line, target, so_far)
        if until:
            run = until.ended(run, by_us=bool(ended) and not self._interrupt.is_set())
        if by_trace:
            try:
                return explained_by_trace(run, windows, function_names(target, on_start))
            except RtscopeError as error:
                return _unexplained(run, str(error))
        return self._explained(cell, run, received, target, on_start) if cell.explain else run

    def _ensemble(
        self,
        request: Request,
        count: int,
        machine: Machine,
        target: Target,
        agents: AgentGroup,
        on_done: Callable[[Run], None] = lambda run: None,
    ) -> Run:
        """Measure a request with `count` seeds side by side."""
        first = request.seed if request.seed is not None else target.capabilities.seed or 0
        seeds = range(first, first + count)
        at_once = self._at_once
        return measure_ensemble(
            request, seeds, machine, agents, on_done, target, at_once, self._nodes
        )

    def _placements(
        self,
        cell: Cell,
        series: PlacementSeries,
        machine: Machine,
        target: Target,
        on_start: Callable[[Agent], None],
        agents: AgentGroup,
    ) -> Run:
        def run_of(request: Request) -> Run:
            if cell.seeds:
                return self._ensemble(request, cell.seeds, machine, target, agents)
            return measure(request, machine, on_start, lambda line: None, target)

        earlier = self._experiment.begun.get(cell.name)
        progress = Progress(
            on_slot=lambda name, done, total: self._observer.step(cell, name, done, total),
            on_round=lambda run: self._observer.partial(stamped(run, self._experiment, cell)),
            is_over=self._interrupt.is_set,
        )
        return measure_placements(
            series,
            Machinery(machine, target, on_start, run_of),
            placement_command(series, cell.target, cell.seeds),
            progress,
            database.load(earlier) if earlier else None,
        )

    def _explained(
        self,
        cell: Cell,
        run: Run,
        received: Received,
        target: Target,
        on_start: Callable[[Agent], None],
    ) -> Run:
        """Return the run with its worst samples explained, or with a warning why they are not."""
        if not any(thread.count for thread in run.threads) or self._interrupt.is_set():
            return _unexplained(run, "the run ended before its end")
        self._observer.step(cell, "the same run again, observed by QEMU's plugin", 0, 1)
        try:
            assert isinstance(cell.work, Request)
            return explained(run, received, cell.work, target, cell.explain, on_start)
        except RtscopeError as error:
            return _unexplained(run, "interrupted" if self._interrupt.is_set() else str(error))


def _unexplained(run: Run, why: str) -> Run:
    warning = RunWarning("not-explained", f"the worst samples are not explained: {why}")
    return msgspec.structs.replace(run, warnings=[*run.warnings, warning])


def _judged(run: Run) -> CellResult:
    return CellResult(run.cell, run, judge_by_own(run))
