"""Run the agent on this machine."""

import os
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Final

from rtscope.model.errors import RtscopeError
from rtscope.target.agent import Agent, Target
from rtscope.target.process import AgentProcess
from rtscope.target.protocol import files_of

_SILENCE_S: Final = 90.0


def agent_path(arch: str | None = None) -> Path:
    """The agent for this machine, or for `arch` as uname -m says it.

    $RTSCOPE_AGENT (this machine's only), the installed one, or the build tree's.
    Raises RtscopeError.
    """
    native = arch in {None, os.uname().machine}
    arch = arch or os.uname().machine
    package = Path(__file__).resolve().parent.parent
    chosen = os.environ.get("RTSCOPE_AGENT") if native else None
    build = package.parent / "build"
    candidates = [
        package / "agents" / arch / "rtscope-agent",
        build / ("native" if native else f"agents/{arch}") / "rtscope-agent",
    ]
    if chosen:
        candidates = [Path(chosen)]
    for candidate in candidates:
        if os.access(candidate, os.X_OK) and candidate.is_file():
            return candidate
    made = "`make agent`, or name one in RTSCOPE_AGENT" if native else "`make agents`"
    raise RtscopeError(
        f"no rtscope-agent at {' or '.join(map(str, candidates))}: build it with {made}"
    )


@contextmanager
def started_agent(arguments: list[str]) -> Iterator[AgentProcess]:
    """An agent that surely ends with the block. Raises RtscopeError where it cannot be started."""
    agent = AgentProcess([str(agent_path()), *arguments])
    try:
        yield agent
    finally:
        agent.close()


class _Local:
    """This machine."""

    name = "local"

    def started_agent(self, arguments: list[str]) -> AbstractContextManager[AgentProcess]:
        """An agent that surely ends with the block."""
        return started_agent(arguments)

    def machine_files(self, on_start: Callable[[Agent], None]) -> dict[str, str | bytes]:
        """The files that the verb `machine` sends, by path."""
        with started_agent(["machine", "--json"]) as agent:
            on_start(agent)
            return files_of(agent.lines(_SILENCE_S))


LOCAL: Final[Target] = _Local()
