# SPDX-License-Identifier: GPL-2.0-only
"""The exceptions whose text is meant for the person at the keyboard."""

from collections.abc import Sequence


class RtscopeError(Exception):
    """An error message: the problem, its place, and the remedy; the command line exits with 2."""


class OptionsRefusedError(RtscopeError):
    """The agent refused options. Nothing was measured."""

    def __init__(self, message: str, options: Sequence[str], reason: str) -> None:
        """Take the message, the options' names, the one to change first, and the bare reason."""
        super().__init__(message)
        self.options = options
        self.reason = reason


class BootError(RtscopeError):
    """The system under test did not boot, or cannot be reached: nothing of it was measured."""


class SourceError(RtscopeError):
    """A kernel's source cannot be patched, configured or compiled as asked: the fault is in it."""


class StoreError(RtscopeError):
    """The store cannot be used. A run that was to be saved is not lost yet: database.rescue."""


class UnreachableError(StoreError):
    """The server of the store cannot be reached, or not now. Runs are kept on this computer."""


class RefusedError(StoreError):
    """The server of the store refuses this run, and would take others."""


class NotSentError(StoreError):
    """The store did not take a run, which is kept on this computer and sent later."""
