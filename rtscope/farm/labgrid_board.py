# SPDX-License-Identifier: GPL-2.0-only
"""A board of labgrid: a leased place, booted by a strategy or by its power, reached over ssh."""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import msgspec

from rtscope.farm.board import lost_of
from rtscope.farm.console import ConsoleWatcher
from rtscope.farm.coordinator import Lease
from rtscope.farm.farmfile import BoardSpec
from rtscope.farm.identity import Identity, check_identity, identity_of
from rtscope.farm.labgrid_target import (
    console_reader,
    destination_of_target,
    driver_of,
    open_target,
    shut,
    strategy_of,
)
from rtscope.farm.watched import WatchedTarget
from rtscope.model.errors import BootError, RtscopeError
from rtscope.target.agent import Target
from rtscope.target.connection import Connection
from rtscope.target.ssh import SshTarget
from rtscope.target.upload import installed_agent

_AGAIN_S: Final = 1.0
_RETURN_S: Final = 20.0
"""for a board that started again by itself, or whose link was away, before its power is cycled"""


class LabgridBoard:
    """A board, from its lease to its release."""

    def __init__(
        self,
        spec: BoardSpec,
        environment: Path | None,
        lease: Lease,
        is_over: Callable[[], bool],
    ) -> None:
        """Take what `Coordinator.leased` gave; nothing is done yet."""
        self.name = f"labgrid:{lease.place}"
        self._spec = spec
        self._environment = environment
        self._lease = lease
        self._is_over = is_over
        self._labgrid: Any = None
        self._watcher: ConsoleWatcher | None = None
        self._connection: Connection | None = None
        self._identity: Identity | None = None
        self._boots = 0

    def boot(self) -> None:
        """Boot it, if something can and the farm file wants it. Raises RtscopeError."""
        self.close()
        with self._labgrid_says():
            self._labgrid = open_target(self._spec, self._environment, self._lease.place)
            strategy = strategy_of(self._labgrid)
            if self._spec.boot and strategy:
                strategy.transition(self._spec.state)
                console = driver_of(self._labgrid, "ConsoleProtocol")
                self._watch(console)
                return
            console = driver_of(self._labgrid, "ConsoleProtocol")
            power = driver_of(self._labgrid, "PowerProtocol")
            if self._spec.boot and power:
                power.cycle()
            self._watch(console)

    def reach(self) -> Target:
        """Connect anew, and wait for the board to answer. Raises RtscopeError."""
        identity = self._connected(self._spec.boot_wait / 1e9)
        check_identity(self.name, self._spec, identity)
        self._identity = identity
        assert self._connection
        self._boots = self._watcher.boots if self._watcher else 0
        installed = installed_agent(self.name, self._connection)
        target = SshTarget(self.name, self._connection, installed)
        return WatchedTarget(target, self._watcher) if self._watcher else target

    def lost(self) -> str:
        """Why the board cannot be measured on as it is; "" if it can."""
        if self._lease.lost:
            return f"the place was taken by {self._lease.lost} when the coordinator was restarted"
        return lost_of(self.name, self._connection, self._identity)

    @property
    def is_ours(self) -> bool:
        """Whether the lease still holds."""
        return not self._lease.lost

    def recover(self) -> str:
        """Let the board answer again, by a power cycle if it must be; return what was done.

        Raises RtscopeError.
        """
        panicked = self._watcher and self._watcher.panicked
        if not panicked:
            before = self._identity
            try:
                now = self._connected(_RETURN_S)
            except BootError:
                pass
            else:
                again = before and before.boot != now.boot
                return "it started again by itself" if again else "its link came back"
        with self._labgrid_says():
            can = self._labgrid and (
                strategy_of(self._labgrid) or driver_of(self._labgrid, "PowerProtocol")
            )
        if not can:
            raise BootError(
                f"{self.name} does not answer, and labgrid has no power driver to restart it with"
            )
        self._spec = msgspec.structs.replace(self._spec, boot=True)
        self.boot()
        return "its power was cycled"

    def close(self) -> None:
        """Disconnect, stop watching and deactivate the drivers; its power stays as it is."""
        self._disconnect()
        if self._watcher:
            self._watcher.close()
            self._watcher = None
        target, self._labgrid = self._labgrid, None
        if target:
            with self._labgrid_says():
                shut(target)

    def _watch(self, console: Any) -> None:  # noqa: ANN401 - labgrid has no types
        if console:
            self._watcher = ConsoleWatcher(console_reader(console))

    def _disconnect(self) -> None:
        if self._connection:
            self._connection.close()
            self._connection = None

    def _is_booting(self) -> bool:
        """Whether its console has shown a kernel that begins, since it was measured."""
        return self._watcher is not None and self._watcher.boots > self._boots

    def _connected(self, limit_s: float) -> Identity:
        """Connect anew within `limit_s` seconds, or boot_wait if it boots. Raises BootError."""
        self._disconnect()
        with self._labgrid_says():
            destination = destination_of_target(self._labgrid)
        if destination is None:
            raise RtscopeError(
                f"{self.name} has no NetworkService: export the address of its sshd with labgrid"
            )
        start = time.monotonic()
        while True:
            try:
                self._connection = Connection(self.name, destination, may_ask=False)
                return identity_of(self.name, self._connection)
            except BootError as error:
                self._disconnect()
                if self._is_over():
                    raise BootError("interrupted while it booted") from None
                if self._watcher and self._watcher.panicked:
                    said = "; ".join(self._watcher.last_lines(5))
                    raise BootError(f"{self.name} panicked: {said}") from None
                if self._is_booting():
                    limit_s = self._spec.boot_wait / 1e9
                if time.monotonic() > start + limit_s:
                    raise BootError(f"{error} (after {limit_s:.0f} s)") from None
            time.sleep(_AGAIN_S)

    @contextmanager
    def _labgrid_says(self) -> Iterator[None]:
        """Turn labgrid's exceptions, and those of a user's strategy, into a BootError."""
        try:
            yield
        except RtscopeError:
            raise
        except Exception as error:
            cause = error.__cause__ or error
            text = f"{type(cause).__name__}: {cause}" if str(cause) else type(cause).__name__
            raise BootError(f"{self.name}: labgrid: {text}") from None
