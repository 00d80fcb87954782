# SPDX-License-Identifier: GPL-2.0-only
"""A group of agents that run side by side and are stopped together."""

from rtscope.target.agent import Stoppable


class AgentGroup:
    """Stops all of its agents, including those that are added later."""

    def __init__(self) -> None:
        """No agent runs yet."""
        self.interrupted = False
        self._agents: list[Stoppable] = []

    def watch(self, agent: Stoppable) -> None:
        """Add an agent."""
        self._agents.append(agent)
        if self.interrupted:
            agent.interrupt()

    def interrupt(self) -> None:
        """Ask all agents to end early and to report their results."""
        self.interrupted = True
        for agent in self._agents:
            agent.interrupt()

    def kill(self) -> None:
        """End all agents at once; their results are lost."""
        self.interrupted = True
        for agent in self._agents:
            agent.kill()
