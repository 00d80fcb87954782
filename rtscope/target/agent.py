# SPDX-License-Identifier: GPL-2.0-only
"""What a target is to those who measure: a place where an agent can be started and heard."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

from rtscope.model.run import Lab
from rtscope.target.bounds import Span
from rtscope.target.protocol import AnyLine


class Stoppable(Protocol):
    """What a signal ends."""

    def interrupt(self) -> None:
        """Ask the agent to end early and still say what it measured."""

    def kill(self) -> None:
        """End the agent at once; what it measured is lost."""


class Agent(Stoppable, Protocol):
    """A started agent. Its lines are read once, in order, until its end line."""

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last; bounded. Raises RtscopeError."""
        ...

    def lab(self) -> Lab | None:
        """How the machine under it was emulated; None where it is real."""


class Target(Protocol):
    """Where an agent runs."""

    @property
    def name(self) -> str:
        """As the user wrote it: local, vm:NAME,..."""

    def started_agent(self, arguments: list[str]) -> AbstractContextManager[Agent]:
        """An agent with these arguments that surely ends with the block. Raises RtscopeError."""
        ...

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path. Raises RtscopeError.

        `on_start` gets the agent where one is started for it, so that a signal can interrupt it.
        """
        ...
