# SPDX-License-Identifier: GPL-2.0-only
"""The state of a farm run: what each board does, shown to the caller and written for serve."""

import os
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec

from rtscope.model.errors import StoreError
from rtscope.model.farm import Activity, Board
from rtscope.store.activity import write_activity

_EVERY_S: Final = 1.0
"""between two writes for progress alone; a change of a board's state is written at once"""
_LONGEST_S: Final = 4.0


def moment() -> str:
    """The present time in UTC, as ISO 8601."""
    return datetime.now(UTC).isoformat(timespec="seconds")


def _shown(board: Board) -> tuple[str, str, int]:
    return board.state, board.text, board.done


class FarmState:
    """What each board does. Boards change it from their own threads."""

    def __init__(
        self, title: str, boards: Sequence[Board], changed: Callable[[Board], None]
    ) -> None:
        """Begin; `changed` gets each board that enters another state, or waits for another."""
        now = moment()
        self._name = f"farm-{os.getpid()}"
        self._activity = Activity("farm", title, now, now, pid=os.getpid())
        self._boards = list(boards)
        self._changed = changed
        self._lock = threading.Lock()
        self._written_s = 0.0
        self._write()

    def boards(self) -> list[Board]:
        """What all boards do now."""
        with self._lock:
            return list(self._boards)

    def change(self, number: int, **changes: Any) -> None:  # noqa: ANN401 - fields of Board
        """Change a board."""
        with self._lock:
            before = self._boards[number]
            if changes.get("state", before.state) != before.state:
                changes["time"] = moment()
            board = msgspec.structs.replace(before, **changes)
            self._boards[number] = board
            moved = (board.state, board.text, board.done) != (
                before.state,
                before.text,
                before.done,
            )
            if moved or time.monotonic() > self._written_s + _EVERY_S:
                self._write()
            if moved:
                self._changed(board)

    def tick(self) -> None:
        """Write the state again if it was written long ago."""
        with self._lock:
            if time.monotonic() > self._written_s + _LONGEST_S:
                self._write()

    def end(self) -> None:
        """Write that the run has ended."""
        with self._lock:
            self._activity = msgspec.structs.replace(self._activity, ended=True)
            self._write()

    def _write(self) -> None:
        self._written_s = time.monotonic()
        self._activity = msgspec.structs.replace(self._activity, written=moment())
        with suppress(StoreError):
            write_activity(self._name, self._activity, self._boards)
