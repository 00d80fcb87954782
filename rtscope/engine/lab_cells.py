# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan that the lab measures side by side."""

from collections.abc import Callable, Iterable

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.cells import Cell
from rtscope.engine.interrupt import Interrupt
from rtscope.engine.observer import Observer
from rtscope.engine.targets import target_of
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Run
from rtscope.target.agent import Agent

MeasureOn = Callable[[Cell, Machine, Callable[[Agent], None], AgentGroup], Run]


class LabCells:
    """Measures cells in threads; a signal ends all of them."""

    def __init__(
        self,
        interrupt: Interrupt,
        machine_of: Callable[[str], Machine],
        measure_on: MeasureOn,
        observer: Observer,
    ) -> None:
        """`machine_of` reads a target's fingerprint, `measure_on` measures a cell there."""
        self.tick = observer.tick
        self._observer = observer
        self._interrupt = interrupt
        self._machine_of = machine_of
        self._measure_on = measure_on
        self._machines: dict[str, Machine | RtscopeError] = {}
        self._agents = AgentGroup()

    def takes(self, cell: Cell) -> bool:
        """Return whether the cell's target gives each agent a system of its own."""
        return target_of(cell.target).capabilities.side_by_side

    def begin(self, cells: Iterable[Cell]) -> None:
        """Read the fingerprint of each target once."""
        for name in dict.fromkeys(cell.target for cell in cells):
            if self._interrupt.signal is not None:
                return
            try:
                self._machines[name] = self._machine_of(name)
            except RtscopeError as error:
                self._machines[name] = error
        self._interrupt.watch(self._agents)

    def measure(self, cell: Cell) -> Run:
        """Measure one cell. Raises RtscopeError, also where its system could not be read."""
        machine = self._machines[cell.target]
        if isinstance(machine, RtscopeError):
            raise machine
        return self._measure_on(cell, machine, self._agents.watch, self._agents)

    def interrupt(self) -> None:
        """End all running measurements."""
        self._agents.interrupt()
