# SPDX-License-Identifier: GPL-2.0-only
"""Dry runs: the agent validates a request and reports its start line without measuring."""

from collections.abc import Callable
from typing import Final

import msgspec

from rtscope.model.errors import RtscopeError
from rtscope.model.request import DryRun, Request
from rtscope.target import protocol
from rtscope.target.agent import Agent, Target
from rtscope.target.bounds import Span
from rtscope.target.local import LOCAL

SILENCE_S: Final = 20.0


def dry_run(request: Request, target: str = "local") -> protocol.Start:
    """Return the start line of a dry run. Raises RtscopeError where the agent refuses.

    The local agent is asked for every target, because a boot is slow.
    """
    if target != "local":
        request = msgspec.structs.replace(request, cpus=None)
    return dry_run_on(LOCAL, request)


def dry_run_on(
    place: Target,
    request: Request,
    on_start: Callable[[Agent], None] = lambda agent: None,
) -> protocol.Start:
    """Return the start line of a dry run there. Raises RtscopeError where the agent refuses."""
    with place.started_agent(DryRun(request)) as agent:
        on_start(agent)
        for line in agent.lines(SILENCE_S, Span(prompt=True)):
            if isinstance(line, protocol.Start):
                return line
    raise RtscopeError("the agent did not say what it would measure")
