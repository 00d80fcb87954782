# SPDX-License-Identifier: GPL-2.0-only
"""A watcher of a board's console: the kernel's reports of faults, as they come."""

import re
import threading
from collections import deque
from collections.abc import Callable
from typing import Final

COMPLAINT: Final = re.compile(
    r"Kernel panic - not syncing|\bOops\b|\bBUG: |Unable to handle kernel|general protection fault"
    r"|\bINFO: task .* blocked for more than|rcu.*(?:detected stalls?|self-detected stall)"
    r"|watchdog: .*(?:lockup|LOCKUP)|soft lockup|hard LOCKUP|WARNING: CPU: |Internal error: "
    r"|invalid opcode|Out of memory: Killed|sched: RT throttling activated"
)
FATAL: Final = re.compile(r"Kernel panic - not syncing|---\[ end Kernel panic")
"""after which a board does not answer any more"""
_BOOTS: Final = re.compile(r"Linux version [0-9]")
_MOST_COMPLAINTS: Final = 20
_LONGEST_LINE: Final = 300
_MOST_PENDING: Final = 64 * 1024
_KEPT_LINES: Final = 200


class ConsoleWatcher:
    """Reads a console in a thread, from which nobody else reads meanwhile."""

    def __init__(self, read: Callable[[], bytes]) -> None:
        """Begin; `read` returns what came, at the latest after a second, or raises at the end."""
        self._read = read
        self._lock = threading.Lock()
        self._complaints: list[str] = []
        self._last: deque[str] = deque(maxlen=_KEPT_LINES)
        self._ended = threading.Event()
        self.panicked = False
        """whether the kernel has stopped for good"""
        self.boots = 0
        """how many kernels have begun since"""
        self._thread = threading.Thread(target=self._watch, daemon=True)
        self._thread.start()

    def close(self) -> None:
        """Stop reading."""
        self._ended.set()
        self._thread.join()

    def complaints(self) -> list[str]:
        """The faults reported since the last call."""
        with self._lock:
            said, self._complaints = self._complaints, []
        return said

    def last_lines(self, count: int) -> list[str]:
        """The newest lines."""
        with self._lock:
            return list(self._last)[-count:]

    def _watch(self) -> None:
        pending = b""
        while not self._ended.is_set():
            try:
                pending += self._read()
            except OSError:
                return
            *lines, pending = pending[-_MOST_PENDING:].split(b"\n")
            for line in lines:
                self._take(line.decode(errors="replace"))

    def _take(self, line: str) -> None:
        text = "".join(one if one.isprintable() else " " for one in line[:_LONGEST_LINE]).strip()
        if not text:
            return
        with self._lock:
            self._last.append(text)
            if COMPLAINT.search(text) and len(self._complaints) < _MOST_COMPLAINTS:
                self._complaints.append(text)
        self.panicked |= bool(FATAL.search(text))
        self.boots += bool(_BOOTS.search(text))
