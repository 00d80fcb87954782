# SPDX-License-Identifier: GPL-2.0-only
"""Agents that run side by side, as one to whoever ends them."""

from rtscope.target.agent import Stoppable


class Crew:
    """Passes on to all of its agents, and to those that come later, that they are to end."""

    def __init__(self) -> None:
        """No agent runs yet."""
        self.interrupted = False
        self._agents: list[Stoppable] = []

    def watch(self, agent: Stoppable) -> None:
        """Take in an agent; those that have ended are no harm."""
        self._agents.append(agent)
        if self.interrupted:
            agent.interrupt()

    def interrupt(self) -> None:
        """Ask all to end early and still say what they measured."""
        self.interrupted = True
        for agent in self._agents:
            agent.interrupt()

    def kill(self) -> None:
        """End all at once; what they measured is lost."""
        self.interrupted = True
        for agent in self._agents:
            agent.kill()
