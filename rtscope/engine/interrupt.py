# SPDX-License-Identifier: GPL-2.0-only
"""What SIGINT, SIGTERM and SIGHUP do while a command works."""

import signal
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from types import FrameType

from rtscope.target.agent import Stoppable


class Interrupt:
    """Turns a signal into a kind word to the agent, and a second into an end."""

    def __init__(self) -> None:
        """Nothing has been received and no agent runs."""
        self.signal: int | None = None
        self.agent: Stoppable | None = None

    def __call__(self, number: int, frame: FrameType | None) -> None:
        """Take a signal."""
        if self.agent:
            if self.signal is None:
                self.agent.interrupt()
            else:
                self.agent.kill()
        self.signal = number

    def is_set(self) -> bool:
        """Whether a signal has come."""
        return self.signal is not None

    def watch(self, agent: Stoppable) -> None:
        """Pass signals on to this agent, also one that came before it."""
        self.agent = agent
        if self.signal is not None:
            agent.interrupt()

    def installed(self) -> AbstractContextManager[None]:
        """Take signals within the block, as before after it."""
        return _signals_to(self)


def ended_by_signals() -> AbstractContextManager[None]:
    """Within the block, whoever asks this process to end lets it clean up first."""

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
