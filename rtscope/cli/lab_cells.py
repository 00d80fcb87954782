# SPDX-License-Identifier: GPL-2.0-only
"""The cells of a plan that the lab measures side by side."""

import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

from rtscope.cli.interrupt import Interrupt
from rtscope.engine.cells import Cell
from rtscope.engine.crew import Crew
from rtscope.engine.measure import measure
from rtscope.engine.targets import target_of
from rtscope.model.errors import RtscopeError
from rtscope.model.machine import Machine
from rtscope.model.run import Run


class LabCells:
    """Measures cells in threads; a signal is for all of them."""

    def __init__(
        self,
        interrupt: Interrupt,
        machine_of: Callable[[str], Machine],
        begun_s: dict[str, float],
        tick: Callable[[], None],
    ) -> None:
        """`machine_of` reads a target's fingerprint, one after the other.

        `begun_s` gets what goes on, and since when; `tick` is called whenever that may be shown.
        """
        self.tick = tick
        self._interrupt = interrupt
        self._machine_of = machine_of
        self._begun_s = begun_s
        self._machines: dict[str, Machine | RtscopeError] = {}
        self._crew = Crew()

    def begin(self, cells: Iterable[Cell]) -> None:
        """Read each fingerprint once, before several cells want it."""
        for name in dict.fromkeys(cell.target for cell in cells):
            if self._interrupt.signal is not None:
                return
            with self._told(f"looking at the machine {name}"):
                self.tick()
                try:
                    self._machines[name] = self._machine_of(name)
                except RtscopeError as error:
                    self._machines[name] = error
        self._interrupt.watch(self._crew)

    def measure(self, cell: Cell) -> Run:
        """Measure one. Raises RtscopeError, also where its machine could not be read."""
        machine = self._machines[cell.target]
        if isinstance(machine, RtscopeError):
            raise machine
        target = target_of(cell.target)
        with self._told(cell.name):
            return measure(cell.request, machine, self._crew.watch, lambda line: None, target)

    def interrupt(self) -> None:
        """End all that are being measured."""
        self._crew.interrupt()

    @contextmanager
    def _told(self, doing: str) -> Iterator[None]:
        self._begun_s[doing] = time.monotonic()
        try:
            yield
        finally:
            del self._begun_s[doing]
