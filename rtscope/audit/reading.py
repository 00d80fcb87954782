# SPDX-License-Identifier: GPL-2.0-only
"""The state of a target, as its agent reads it."""

from collections.abc import Iterator
from typing import Final

from rtscope.audit.state import State
from rtscope.model.request import MachineRequest
from rtscope.target.agent import Agent, Target
from rtscope.target.protocol import AgentWarning, AnyLine, files_of

_SILENCE_S: Final = 90.0


def read_state(target: Target) -> tuple[State, list[str]]:
    """The state of a target, and its agent's warnings. Raises RtscopeError."""
    warnings = []

    def received(agent: Agent) -> Iterator[AnyLine]:
        for line in agent.lines(_SILENCE_S):
            if isinstance(line, AgentWarning):
                warnings.append(line.text)
            yield line

    with target.started_agent(MachineRequest(audit=True)) as agent:
        return State(files_of(received(agent))), warnings
