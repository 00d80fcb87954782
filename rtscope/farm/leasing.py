# SPDX-License-Identifier: GPL-2.0-only
"""Leases of labgrid's places for a farm run, over one connection that is made when it is needed."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from rtscope.farm.board import Board
from rtscope.farm.farmfile import FarmFile
from rtscope.model.errors import RtscopeError

if TYPE_CHECKING:
    from rtscope.farm.coordinator import Coordinator


class Leases:
    """The places of a farm file."""

    def __init__(self, file: FarmFile) -> None:
        """Nothing is connected yet."""
        self._file = file
        self._lock = threading.Lock()
        self._coordinator: Coordinator | None = None

    def close(self) -> None:
        """Release what is still leased, and disconnect."""
        if self._coordinator:
            self._coordinator.close()
            self._coordinator = None

    def coordinator(self) -> "Coordinator":
        """The connection. Raises RtscopeError."""
        try:
            from rtscope.farm.coordinator import Coordinator
        except ImportError as error:
            raise RtscopeError(
                f"boards of labgrid need the Python package {error.name}: "
                "pip install 'rtscope[farm]' installs it"
            ) from None
        with self._lock:
            if not self._coordinator:
                self._coordinator = Coordinator(self._file.farm.coordinator)
            return self._coordinator

    def check_place(self, number: int) -> str:
        """Refuse a board whose places do not exist, or lack a resource that nobody exports.

        Returns who has its places, "" if one is free. Raises RtscopeError that names the line.
        """
        spec, coordinator = self._file.farm.board[number], self.coordinator()
        places = coordinator.matching(spec.filters)
        if not places:
            known = ", ".join(sorted(coordinator.places())) or "none"
            raise self._file.refusal(
                number,
                "target",
                f"{spec.target}: labgrid's coordinator at {coordinator.address} has no such place; "
                f"it has {known}",
            )
        lacking = {place.name: coordinator.lacking(place) for place in places}
        if all(lacking.values()):
            said = "; ".join(f"place {name} needs {what}" for name, what in lacking.items())
            raise self._file.refusal(
                number,
                "target",
                f"{spec.target}: {said}, which no exporter exports: start labgrid-exporter on the "
                "board's host",
            )
        holders = [coordinator.holder(place) for place in places]
        return "" if not all(holders) else f"place {places[0].name} is {holders[0]}"

    def check_environment(self, number: int) -> None:
        """Refuse a board that labgrid's environment file has no target for. Raises
        RtscopeError.
        """
        spec = self._file.farm.board[number]
        places = self.coordinator().matching(spec.filters)
        from rtscope.farm.labgrid_target import check_role

        if self._file.environment and places:
            try:
                check_role(spec, self._file.environment, places[0].name)
            except RtscopeError as error:
                raise self._file.refusal(number, "target", str(error)) from None

    @contextmanager
    def leased(
        self, number: int, waits: Callable[[str], None], is_over: Callable[[], bool]
    ) -> Iterator[Board]:
        """The board that labgrid leases, until the end of the block. Raises RtscopeError."""
        self.check_place(number)
        self.check_environment(number)
        coordinator = self.coordinator()
        from rtscope.farm.labgrid_board import LabgridBoard

        spec = self._file.farm.board[number]
        wait_s = self._file.farm.lease_wait / 1e9
        with coordinator.leased(spec.filters, wait_s, waits, is_over) as lease:
            yield LabgridBoard(spec, self._file.environment, lease, is_over)
