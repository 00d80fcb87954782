"""The cells of a plan that the lab measures side by side."""

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING

from rtscope.model.errors import RtscopeError

if TYPE_CHECKING:
    from rtscope.cli.interrupt import Interrupt
    from rtscope.experiment.cells import Cell
    from rtscope.model.machine import Machine
    from rtscope.model.run import Run


class LabCells:
    """Measures cells in threads; a signal is for all of them."""

    def __init__(self, interrupt: "Interrupt", machine_of: Callable[[str], "Machine"]) -> None:
        """`machine_of` reads a target's fingerprint, one after the other."""
        from rtscope.experiment.crew import Crew

        self._interrupt = interrupt
        self._machine_of = machine_of
        self._machines: dict[str, Machine | RtscopeError] = {}
        self._crew = Crew()

    def begin(self, cells: "Iterable[Cell]") -> None:
        """Read each fingerprint once, before several cells want it."""
        for name in dict.fromkeys(cell.target for cell in cells):
            if self._interrupt.signal is not None:
                return
            try:
                self._machines[name] = self._machine_of(name)
            except RtscopeError as error:
                self._machines[name] = error
        self._interrupt.watch(self._crew)

    def measure(self, cell: "Cell") -> "Run":
        """Measure one. Raises RtscopeError, also where its machine could not be read."""
        from rtscope.experiment.measure import measure
        from rtscope.experiment.targets import target_of

        machine = self._machines[cell.target]
        if isinstance(machine, RtscopeError):
            raise machine
        target = target_of(cell.target)
        return measure(cell.request, machine, self._crew.watch, lambda line: None, target)

    def interrupt(self) -> None:
        """End all that are being measured."""
        self._crew.interrupt()
