# SPDX-License-Identifier: GPL-2.0-only
"""Ask an agent how it would begin a measurement, without measuring."""

from collections.abc import Callable
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.request import DryRun, Request
from rtscope.target import protocol
from rtscope.target.agent import Agent, Target
from rtscope.target.local import LOCAL

SILENCE_S: Final = 20.0


def rehearse(request: Request, target: str = "local") -> protocol.Start:
    """Return how the agent would begin this request. Raises RtscopeError where it refuses.

    The agent of this machine is asked for every target: a boot would take longer than to fail.
    """
    if target != "local":
        request = msgspec.structs.replace(request, cpus=None)
    return rehearsed_on(LOCAL, request)


def rehearsed_on(
    place: Target,
    request: Request,
    on_start: Callable[[Agent], None] = lambda agent: None,
) -> protocol.Start:
    """Return how the agent of that place would begin. Raises RtscopeError where it refuses."""
    with place.started_agent(DryRun(request)) as agent:
        on_start(agent)
        for line in agent.lines(SILENCE_S):
            if isinstance(line, protocol.Start):
                return line
    raise RtscopeError("the agent did not say what it would measure")
