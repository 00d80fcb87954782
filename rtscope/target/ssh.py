# SPDX-License-Identifier: GPL-2.0-only
"""A target: a board over ssh, where the agent ends when the connection is silent."""

import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest, MachineRequest
from rtscope.target.agent import Agent, Capabilities
from rtscope.target.bounds import Span
from rtscope.target.command import WATCHDOG_CONNECTION, command_of
from rtscope.target.connection import ANSWER, LOST, Connection, destination_of, printable
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import (
    AgentWarning,
    AnyLine,
    End,
    Hello,
    check_description,
    files_of,
)
from rtscope.target.samples import Samples
from rtscope.target.upload import Installed, installed_agent

_SILENCE_S: Final = 90.0
_BEAT_S: Final = 1.0
_POLL_S: Final = 0.1
"""polling interval for a request to end"""
CONNECTION_LOST: Final = "the connection to {board} was lost"
_MOST_LINES_BEFORE: Final = 10_000
_START: Final = r"""
printf "\nrtscope: agent\n"
exec "$@"
"""


class SshAgent(AgentProcess):
    """An agent on a board, at the other end of an ssh."""

    def __init__(self, board: "SshTarget", request: AgentRequest) -> None:
        """Start it. Raises RtscopeError."""
        self._board = board
        self._samples = Samples(board.connection, board.installed.folder, request)
        words = command_of(self._samples.request, board.installed.description)
        words = [*board.installed.command, WATCHDOG_CONNECTION, *words]
        super().__init__(board.connection.command(_START, *words), stdin=subprocess.PIPE)
        self._wanted = True
        self._lost = False
        self._heart = threading.Thread(target=self._beat, daemon=True)
        self._heart.start()

    def interrupt(self) -> None:
        """Ask the agent to end early and still say what it measured."""
        self._interrupted = True
        self._wanted = False

    def kill(self) -> None:
        """End the agent at once; what it measured is lost."""
        self._wanted = False
        self._samples.give_up()
        super().kill()

    def close(self) -> None:
        """End the agent if it still runs, first by a signal that it can handle, and reap ssh."""
        self._wanted = False
        self._heart.join()
        super().close()
        if not self._lost:
            self._samples.remove()

    def lines(self, silence_limit_s: float, span: Span = Span()) -> Iterator[AnyLine]:
        """Yield the agent's lines, hello first, end last. Raises RtscopeError."""
        for line in super().lines(silence_limit_s, span):
            if isinstance(line, Hello):
                check_description(line, self._board.installed.description)
            if isinstance(line, End):
                yield from self._samples.fetched()
            yield line
            if isinstance(line, Hello) and self._board.installed.not_root:
                yield AgentWarning("not-root", self._board.installed.not_root)

    def why_it_ended(self) -> str:
        """The message for an agent that ended before its last line."""
        status, said = self.outcome()
        killed = status < 0 and self._wanted and not self._was_killed
        if killed:
            said += f"{'; ' * bool(said)}ssh was ended here by {signal.Signals(-status).name}"
        if status != LOST and not killed:
            return printable(super().why_it_ended())
        self._lost = True
        why = f" ({printable(said)})" if said else ""
        left = f"; its samples are on the board in {there}" if (there := self._samples.path) else ""
        return CONNECTION_LOST.format(board=self._board.name) + why + left

    def _beat(self) -> None:
        """Send the board bytes that keep the agent alive; it ends when they stop."""
        stdin = self._process.stdin
        assert stdin is not None
        os.set_blocking(stdin.fileno(), False)
        due_s = 0.0
        with suppress(OSError), stdin:
            while self._wanted:
                if time.monotonic() >= due_s:
                    stdin.write(b".")
                    due_s = time.monotonic() + _BEAT_S
                time.sleep(_POLL_S)

    def _raw_lines(self) -> Iterator[bytes]:
        """The agent's lines, without the output of the board's shell before it starts."""
        lines = super()._raw_lines()
        for count, line in enumerate(lines):
            if line == ANSWER + b"agent":
                yield from lines
                return
            if count == _MOST_LINES_BEFORE:
                raise RtscopeError(
                    f"{self._board.name} wrote more than {_MOST_LINES_BEFORE} lines before the "
                    f"agent: check the output of its shell at a login"
                )


class SshTarget(msgspec.Struct, frozen=True):
    """A board, connected, with the agent on it."""

    name: str
    connection: Connection
    installed: Installed
    capabilities: Capabilities = Capabilities()

    @contextmanager
    def started_agent(self, request: AgentRequest) -> Iterator[SshAgent]:
        """Start an agent, which always ends with the block. Raises RtscopeError."""
        agent = SshAgent(self, request)
        try:
            yield agent
        finally:
            agent.close()

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path. Raises RtscopeError."""
        with self.started_agent(MachineRequest()) as agent:
            on_start(agent)
            return files_of(agent.lines(_SILENCE_S, Span(prompt=True)))


@cache
def ssh_target(name: str) -> SshTarget:
    """The board of a name such as "ssh:root@board", connected until this process ends. Raises
    RtscopeError if it cannot be reached, or cannot run the agent.
    """
    connection = Connection(name, destination_of(name.removeprefix("ssh:")))
    return SshTarget(name, connection, installed_agent(name, connection))
