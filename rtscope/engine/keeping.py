# SPDX-License-Identifier: GPL-2.0-only
"""Keep the record of a long measurement while it goes on, so that it can be read meanwhile."""

import time
from collections.abc import Callable
from typing import Final

from rtscope.engine.traced import Windows, explained_by_trace
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run

_SOON_S: Final = 2.0
"""after a new outlier"""
_LATER_S: Final = 60.0
"""without one"""
_MOST_PART: Final = 0.02
"""of the time may be spent on storing"""


class Keeping:
    """Stores the record soon after an outlier, and once a minute."""

    def __init__(self, windows: Windows, store: Callable[[Run], None]) -> None:
        """Store with the explanations of `windows`."""
        self._windows = windows
        self._store = store
        self._is_new = False
        self._not_before_s = time.monotonic() + _SOON_S
        self._due_s = time.monotonic() + _SOON_S

    def changed(self) -> None:
        """A late sample was explained."""
        self._is_new = True

    def keep(self, so_far: Callable[[], Run | None]) -> None:
        """Store the record so far if it is due."""
        begun_s = time.monotonic()
        if begun_s < self._not_before_s or not (self._is_new or begun_s >= self._due_s):
            return
        if (run := so_far()) is None:
            return
        try:
            run = explained_by_trace(run, self._windows)
        except RtscopeError:
            return  # the trace has not come yet, or the end of the run reports what is wrong
        self._store(run)
        self._is_new = False
        ended_s = time.monotonic()
        self._not_before_s = ended_s + max(_SOON_S, (ended_s - begun_s) / _MOST_PART)
        self._due_s = ended_s + _LATER_S
