# SPDX-License-Identifier: GPL-2.0-only
"""The interface of a target: starts an agent and reads its lines."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager
from typing import Protocol

import msgspec

from rtscope.model.request import AgentRequest
from rtscope.model.run import Lab
from rtscope.target.bounds import Span
from rtscope.target.protocol import AnyLine


class Stoppable(Protocol):
    """An agent that a signal can end."""

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
        """The emulation parameters of its VM; None on real hardware."""


class Capabilities(msgspec.Struct, frozen=True):
    """The capabilities of a target. The defaults are those of a real system."""

    exact_time: bool = False
    """time counts instructions: runs with the same seed are identical"""
    side_by_side: bool = False
    """each agent has its own system, so several can measure at once"""
    lasting: bool = True
    """settings outlive the agent"""
    user_programs: bool = True
    """can run programs other than the agent"""
    modules: bool = False
    """loads the kernel module that a probe needs"""
    seed: int | None = None
    """seed of everything random in a run; None: the system varies by itself"""
    cpus: int | None = None
    """number of CPUs; None: not known before the agent has run"""


class Target(Protocol):
    """Where an agent runs."""

    @property
    def name(self) -> str:
        """The target as the user wrote it: local, vm:NAME,..."""

    @property
    def capabilities(self) -> Capabilities:
        """The target's capabilities."""
        ...

    def started_agent(self, request: AgentRequest) -> AbstractContextManager[Agent]:
        """Start an agent with this request, which always ends with the block. Raises
        RtscopeError.
        """
        ...

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path. Raises RtscopeError.

        `on_start` is called with the agent if one is started, so that a signal can interrupt it.
        """
        ...
