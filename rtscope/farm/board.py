# SPDX-License-Identifier: GPL-2.0-only
"""Boards that nobody leases: this computer, its VMs, and boards over ssh."""

import os
import time
from collections.abc import Callable
from typing import Final, Protocol

from rtscope.farm.farmfile import BoardSpec
from rtscope.farm.identity import Identity, check_identity, identity_of
from rtscope.lab.vm import vm_target
from rtscope.model.errors import BootError, RtscopeError
from rtscope.target.agent import Target
from rtscope.target.connection import Connection, destination_of
from rtscope.target.local import LOCAL
from rtscope.target.ssh import CONNECTION_LOST, SshTarget
from rtscope.target.upload import installed_agent

_AGAIN_S: Final = 1.0


class Board(Protocol):
    """A board, from its lease to its release. All methods raise RtscopeError, BootError where the
    board does not answer.
    """

    name: str
    """the target's name"""

    def boot(self) -> None:
        """Boot it, if something can."""

    def reach(self) -> Target:
        """Connect anew, and wait for the board to answer."""
        ...

    def lost(self) -> str:
        """Why the board cannot be measured on as it is; "" if it can."""
        ...

    @property
    def is_ours(self) -> bool:
        """Whether the lease still holds."""
        ...

    def recover(self) -> str:
        """Let the board answer again, by a power cycle if it must be; return what was done."""
        ...

    def close(self) -> None:
        """Disconnect."""


class HereBoard:
    """This computer, or a VM of the lab on it."""

    is_ours = True

    def __init__(self, spec: BoardSpec) -> None:
        """Take the table of the farm file."""
        self.name = spec.target
        self._spec = spec

    def boot(self) -> None:
        """Nothing: a VM boots for each run."""

    def reach(self) -> Target:
        """Return the target."""
        vm = None if self.name == "local" else vm_target(self.name)
        arch = vm.kernel.arch if vm else os.uname().machine
        release = vm.kernel.release if vm else os.uname().release
        check_identity(self.name, self._spec, Identity("", arch, release))
        return vm or LOCAL

    def lost(self) -> str:
        """Return "": it is always there."""
        return ""

    def recover(self) -> str:
        """Return that nothing was done."""
        return "nothing was done"

    def close(self) -> None:
        """Nothing is open."""


class SshBoard:
    """A board over ssh, which nothing here can restart."""

    is_ours = True

    def __init__(self, spec: BoardSpec, is_over: Callable[[], bool]) -> None:
        """Take the table of the farm file."""
        self.name = spec.target
        self._spec = spec
        self._is_over = is_over
        self._connection: Connection | None = None
        self._identity: Identity | None = None

    def boot(self) -> None:
        """Nothing: it has booted."""

    def identify(self) -> Connection:
        """Connect anew, and check which board it is. Raises RtscopeError."""
        self.close()
        destination = destination_of(self.name.removeprefix("ssh:"))
        connection = self._connection = Connection(self.name, destination, may_ask=False)
        self._identity = identity_of(self.name, connection)
        check_identity(self.name, self._spec, self._identity)
        return connection

    def reach(self) -> Target:
        """Connect anew. Raises RtscopeError."""
        connection = self.identify()
        return SshTarget(self.name, connection, installed_agent(self.name, connection))

    def lost(self) -> str:
        """Why the board cannot be measured on as it is; "" if it can."""
        return lost_of(self.name, self._connection, self._identity)

    def recover(self) -> str:
        """Wait for the board to answer again. Raises BootError."""
        before = self._identity
        until = time.monotonic() + self._spec.boot_wait / 1e9
        while True:
            try:
                self.reach()
            except BootError as error:
                if self._is_over() or time.monotonic() > until:
                    raise BootError(f"{error}; nothing here can restart it") from None
                time.sleep(_AGAIN_S)
            else:
                again = before and self._identity and before.boot != self._identity.boot
                return "it started again by itself" if again else "its link came back"

    def close(self) -> None:
        """Disconnect."""
        if self._connection:
            self._connection.close()
            self._connection = None


def lost_of(name: str, connection: Connection | None, before: Identity | None) -> str:
    """Why a board does not answer as the system that it was; "" if it does."""
    if connection is None or before is None:
        return f"{name} is not connected"
    # Asking over a dead link would take as long as a new connection may take.
    if connection.is_lost():
        return CONNECTION_LOST.format(board=name)
    try:
        now = identity_of(name, connection)
    except RtscopeError as error:
        return str(error)
    return "" if now.boot == before.boot else f"{name} started again by itself"
