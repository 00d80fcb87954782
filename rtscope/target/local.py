# SPDX-License-Identifier: GPL-2.0-only
"""Find the agent, and run it on this computer."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest, MachineRequest
from rtscope.target.agent import Agent, Capabilities, Target
from rtscope.target.building import built_agent, is_checkout
from rtscope.target.command import command_of
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import files_of

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_SILENCE_S: Final = 90.0


def agent_path(arch: str | None = None) -> Path:
    """The agent for this computer, or for `arch`, which is built where there is none yet.

    $RTSCOPE_AGENT (for this computer only), the build tree's in a checkout, else the installed
    one. Raises RtscopeError.
    """
    native = os.uname().machine
    arch = arch or native
    if arch == native and (chosen := os.environ.get("RTSCOPE_AGENT")):
        candidate = Path(chosen)
    elif is_checkout(_PACKAGE):
        build = _PACKAGE.parent / "build"
        candidate = build / ("native" if arch == native else f"agents/{arch}") / "rtscope-agent"
    else:
        candidate = _PACKAGE / "agents" / arch / "rtscope-agent"
        if arch == native:
            candidate = _installed_agent() or candidate
    if os.access(candidate, os.X_OK) and candidate.is_file():
        return candidate
    if arch != native:
        return built_agent(arch, _PACKAGE)
    raise RtscopeError(
        f"there is no rtscope-agent at {candidate}: build it with `make agent` in the checkout, or "
        "name one in RTSCOPE_AGENT"
    )


@cache
def _installed_agent() -> Path | None:
    """The agent that pip installed with this package, among the commands.

    A wheel that holds a program for one CPU, and nothing that depends on Python's version, has to
    hold it there.
    """
    try:
        files = distribution("rtscope").files or []
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "rtscope-agent"]
    return found[0].resolve() if found else None


@contextmanager
def started_agent(request: AgentRequest) -> Iterator[AgentProcess]:
    """An agent that surely ends with the block. Raises RtscopeError where it cannot be started."""
    agent = AgentProcess([str(agent_path()), *command_of(request)])
    try:
        yield agent
    finally:
        agent.close()


class _Local:
    """This computer."""

    name = "local"
    capabilities = Capabilities()

    def started_agent(self, request: AgentRequest) -> AbstractContextManager[AgentProcess]:
        """An agent that surely ends with the block."""
        return started_agent(request)

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path."""
        with started_agent(MachineRequest()) as agent:
            on_start(agent)
            return files_of(agent.lines(_SILENCE_S))


LOCAL: Final[Target] = _Local()
