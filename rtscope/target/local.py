# SPDX-License-Identifier: GPL-2.0-only
"""Find the agent, and run it on this computer."""

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import cache
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path
from typing import Final

from rtscope.model.description import Description
from rtscope.model.errors import RtscopeError
from rtscope.model.request import AgentRequest, MachineRequest
from rtscope.target.agent import Agent, Capabilities, Target
from rtscope.target.bounds import Span
from rtscope.target.building import built_agent, is_checkout
from rtscope.target.command import command_of
from rtscope.target.description import our_description
from rtscope.target.process import BAD_USE, AgentProcess
from rtscope.target.protocol import files_of

_PACKAGE: Final = Path(__file__).resolve().parent.parent
_SILENCE_S: Final = 90.0


def agent_path(arch: str | None = None) -> Path:
    """The agent for this computer, or for `arch`, which is built on first use.

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
    """The agent that was installed with this package, as a command. A wheel with a program for
    one platform and no extension module must have it there. A distribution's package has no list
    of its files; its agent is a package of its own that has the same prefix.
    """
    try:
        files = distribution("rtscope").files or []
    except PackageNotFoundError:
        return None
    found = [Path(str(file.locate())) for file in files if file.name == "rtscope-agent"]
    packaged = Path(sys.prefix) / "bin" / "rtscope-agent"
    if not files and packaged.is_file():
        return packaged
    return found[0].resolve() if found else None


def agent_description(arch: str | None = None) -> Description | None:
    """Return what the agent for `arch` can do; None of one that is too old to describe it.

    Only an agent of RTSCOPE_AGENT is asked. The others are of this release. Raises RtscopeError.
    """
    chosen = os.environ.get("RTSCOPE_AGENT")
    if not chosen or arch not in (None, os.uname().machine):
        return our_description()
    return _described(agent_path())


@cache
def _described(path: Path) -> Description | None:
    try:
        agent = AgentProcess([str(path), "describe"])
    except RtscopeError:
        return None  # starting it for a request says why
    try:
        return agent.description()
    finally:
        agent.close()


class _OldAgent(AgentProcess):
    """An agent of RTSCOPE_AGENT that does not describe what it can do."""

    def why_it_ended(self) -> str:
        """The message for an agent that ended before its last line."""
        refused = self.outcome()[0] == BAD_USE
        hint = (
            "; the agent in RTSCOPE_AGENT is older than this rtscope: unset it, or name the agent "
            "of this release there"
        )
        return super().why_it_ended() + hint * refused


@contextmanager
def started_agent(request: AgentRequest) -> Iterator[AgentProcess]:
    """Start an agent, which always ends with the block. Raises RtscopeError."""
    described = agent_description()
    kind = AgentProcess if described else _OldAgent
    agent = kind([str(agent_path()), *command_of(request, described)])
    try:
        yield agent
    finally:
        agent.close()


class _Local:
    """This computer."""

    name = "local"
    capabilities = Capabilities()

    def started_agent(self, request: AgentRequest) -> AbstractContextManager[AgentProcess]:
        """Start an agent, which always ends with the block."""
        return started_agent(request)

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path."""
        with started_agent(MachineRequest()) as agent:
            on_start(agent)
            return files_of(agent.lines(_SILENCE_S, Span(prompt=True)))


LOCAL: Final[Target] = _Local()
