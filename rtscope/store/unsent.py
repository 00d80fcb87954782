# SPDX-License-Identifier: GPL-2.0-only
"""Runs that a server did not take: kept in an SQLite file on this computer, sent later, once.

A run leaves the file only after the server has committed it, and the server holds one run per id:
one that is sent twice because rtscope was killed in between is stored once.
"""

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from rtscope.model.errors import RefusedError, StoreError
from rtscope.model.run import Run
from rtscope.store.address import Server, default_path
from rtscope.store.search import Search
from rtscope.store.sqlite import SqliteStore


class _Saves(Protocol):
    def save(self, run: Run) -> bool: ...


class Unsent:
    """The runs that wait for one server."""

    def __init__(self, server: Server) -> None:
        """Nothing is opened yet."""
        self.path = unsent_path(server)
        self.runs = SqliteStore(self.path)

    def send(self, store: _Saves) -> None:
        """Send all runs, the oldest first. Those that the server refuses stay here.

        Raises StoreError where the server or the file cannot be used.
        """
        if not self.waiting():
            return
        with self._sending():
            for waiting in reversed(self.runs.found(Search())):
                try:
                    run = self.runs.load(waiting.id)
                    store.save(run)
                except RefusedError:
                    continue
                self.runs.remove_same(run)

    def waiting(self) -> int:
        """The number of runs. Raises StoreError."""
        return len(self.runs.found(Search())) if self.path.exists() else 0

    @contextmanager
    def _sending(self) -> Iterator[None]:
        """One process at a time: a run that another one sends now is not saved before it."""
        path = self.path.with_suffix(".lock")
        try:
            file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
        except OSError as error:
            raise StoreError(f"{path} cannot be opened: {error.strerror}") from None
        try:
            fcntl.flock(file, fcntl.LOCK_EX)
            yield
        finally:
            os.close(file)


def unsent_path(server: Server) -> Path:
    """The file of the runs that wait for this server, next to the default store."""
    return default_path().with_name(f"unsent-{server.key}.sqlite")
