# SPDX-License-Identifier: GPL-2.0-only
"""SIGINT, SIGTERM and SIGHUP during a command."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from rtscope.target.agent import Stoppable


class Interrupt:
    """Asks the agent to end at the first signal, and kills it at the second."""

    def __init__(self) -> None:
        """Start without a signal and without an agent."""
        self.signal: int | None = None
        self.agent: Stoppable | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Handle a signal."""
        if self.agent:
            if self.signal is None:
                self.agent.interrupt()
            else:
                self.agent.kill()
        self.signal = number

    def is_set(self) -> bool:
        """Return whether a signal has been received."""
        return self.signal is not None

    def watch(self, agent: Stoppable) -> None:
        """Pass signals on to this agent, including one that was received before."""
        self.agent = agent
        if self.signal is not None:
            agent.interrupt()

    def installed(self) -> AbstractContextManager[None]:
        """Handle signals within the block; restore the previous handlers afterwards."""
        return _signals_to(self)


def ended_by_signals() -> AbstractContextManager[None]:
    """Let the process clean up within the block when a signal ends it."""

    def end(number: int, frame: FrameType | None) -> None:
        sys.exit(128 + number)

    return _signals_to(end)


@contextmanager
def _signals_to(handler: Callable[[int, FrameType | None], None]) -> Iterator[None]:
    numbers = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
    before = [signal.signal(number, handler) for number in numbers]
    try:
        yield
    finally:
        for number, handler_before in zip(numbers, before, strict=True):
            signal.signal(number, handler_before)
