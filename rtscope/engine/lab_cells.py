# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan that the lab measures side by side."""

import os
from collections.abc import Callable, Iterable
from typing import Final

from rtscope.engine.agent_group import AgentGroup
from rtscope.engine.cells import Cell
from rtscope.engine.ensemble import Nodes
from rtscope.engine.interrupt import Interrupt
from rtscope.engine.observer import Observer
from rtscope.engine.targets import target_of
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Run
from rtscope.target.agent import Agent

_MOST_WAITING: Final = 64
"""cells that are measured on other computers at the same time"""
MeasureOn = Callable[[Cell, Machine, Callable[[Agent], None], AgentGroup], Run]


class LabCells:
    """Measures cells in threads; a signal ends all of them."""

    def __init__(
        self,
        interrupt: Interrupt,
        machine_of: Callable[[str], Machine],
        measure_on: MeasureOn,
        observer: Observer,
        nodes: Nodes | None = None,
    ) -> None:
        """`machine_of` reads a target's fingerprint, `measure_on` measures a cell there.

        With `nodes`, the cells wait for these, and not for this computer's CPUs.
        """
        self.at_once = _MOST_WAITING if nodes else os.cpu_count() or 1
        self.tick = observer.tick
        self._observer = observer
        self._interrupt = interrupt
        self._machine_of = machine_of
        self._measure_on = measure_on
        self._machines: dict[str, Machine | RtscopeError] = {}
        self._agents = AgentGroup()
        if nodes:
            self._agents.watch(nodes)

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
