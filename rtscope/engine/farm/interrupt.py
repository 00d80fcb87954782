# SPDX-License-Identifier: GPL-2.0-only
"""Signals and the loss of a board, for boards that are measured in threads."""

from contextlib import AbstractContextManager, nullcontext
from types import FrameType

from rtscope.engine.interrupt import Interrupt


class BoardInterrupt(Interrupt):
    """Ends the measurements of one board; the farm run has the signal handlers."""

    def __init__(self) -> None:
        """Start without a signal, and with the board."""
        super().__init__()
        self.lost = ""
        """why the board is not measured on any further; "" while it is"""

    def is_set(self) -> bool:
        """Return whether no further measurement should begin."""
        return super().is_set() or bool(self.lost)

    def installed(self) -> AbstractContextManager[None]:
        """Install nothing: handlers belong to the main thread."""
        return nullcontext()


class FarmInterrupt(Interrupt):
    """Passes signals on to all boards."""

    def __init__(self) -> None:
        """Start without a signal and without boards."""
        super().__init__()
        self._boards: list[BoardInterrupt] = []

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        self.signal = number
        for board in self._boards:
            board(number, frame)

    def of_board(self) -> BoardInterrupt:
        """The interrupt of one more measurement."""
        board = BoardInterrupt()
        self._boards.append(board)
        if self.signal is not None:
            board(self.signal, None)
        return board
