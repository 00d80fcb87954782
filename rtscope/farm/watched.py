# SPDX-License-Identifier: GPL-2.0-only
"""A target whose console is watched: the kernel's reports of faults are warnings of the run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rtscope.farm.console import ConsoleWatcher
from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest
from rtscope.model.run import Lab
from rtscope.target.agent import Agent, Capabilities, Target
from rtscope.target.bounds import Span
from rtscope.target.protocol import AgentWarning, AnyLine, End

CONSOLE: str = "board-complained"
"""code of the warning"""


class _WatchedAgent:
    """An agent, and the console of its board."""

    def __init__(self, agent: Agent, console: ConsoleWatcher) -> None:
        self._agent = agent
        self._console = console

    def interrupt(self) -> None:
        """Ask the agent to end early and still say what it measured."""
        self._agent.interrupt()

    def kill(self) -> None:
        """End the agent at once; what it measured is lost."""
        self._agent.kill()

    def lab(self) -> Lab | None:
        """None: it is no VM of the lab."""
        return self._agent.lab()

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines, and before its last one, or its loss, the console's faults."""
        self._console.complaints()
        boots = self._console.boots
        try:
            for line in self._agent.lines(silence_limit_s, span):
                if isinstance(line, End):
                    yield from self._complaints(boots)
                yield line
        except RtscopeError:
            yield from self._complaints(boots)
            raise

    def _complaints(self, boots: int) -> Iterator[AgentWarning]:
        for text in self._console.complaints():
            yield AgentWarning(CONSOLE, f'the board\'s console has "{text}"')
        if self._console.boots > boots:
            yield AgentWarning(CONSOLE, "the board started again by itself during the run")


class WatchedTarget:
    """A board with a watched console."""

    def __init__(self, target: Target, console: ConsoleWatcher) -> None:
        """Take both; the watcher is the caller's to close."""
        self._target = target
        self._console = console
        self.name = target.name
        self.capabilities: Capabilities = target.capabilities

    @contextmanager
    def started_agent(self, request: AgentRequest) -> Iterator[Agent]:
        """Start an agent, which always ends with the block. Raises RtscopeError."""
        with self._target.started_agent(request) as agent:
            yield _WatchedAgent(agent, self._console)

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path. Raises RtscopeError."""
        return self._target.machine_files(on_start)
