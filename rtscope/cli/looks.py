"""Looks at something that moves, as an agent tells them: a table that lives, or lines of JSON."""

import sys
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import TYPE_CHECKING, TypeVar

import typer

if TYPE_CHECKING:
    from rich.console import RenderableType

    from rtscope.model.run import RunWarning
    from rtscope.target.agent import Agent


Look = TypeVar("Look")


def follow(
    started: "AbstractContextManager[Agent]",
    kind: type[Look],
    silence_s: float,
    *,
    view: "Callable[[Look, list[RunWarning]], RenderableType]",
    line_of: Callable[[Look], bytes] | None,
    live: bool,
    busy: AbstractContextManager[object] | None = None,
) -> None:
    """Show what the agent sends until it has no more, or Ctrl-C has asked it to end.

    With `line_of` each look is a line. Else `view` is a table of it, which lives where it may, and
    is shown of the last one where not. `busy` goes on until then.
    """
    from rich.live import Live

    from rtscope.cli.interrupt import Interrupt
    from rtscope.model.run import RunWarning
    from rtscope.report.terminal import output_console
    from rtscope.target.protocol import AgentWarning

    console = output_console()
    table = Live(console=console, auto_refresh=False) if live and not line_of else None
    interrupt = Interrupt()
    warnings: list[RunWarning] = []
    last: Look | None = None
    with interrupt.installed(), started as agent, table or nullcontext(), busy or nullcontext():
        interrupt.watch(agent)
        for line in agent.lines(silence_s):
            if isinstance(line, AgentWarning):
                warnings.append(RunWarning(line.code, line.text))
                if line_of:
                    print(f"warning: {line.text}", file=sys.stderr)
            elif isinstance(line, kind):
                last = line
                if line_of:
                    typer.echo(line_of(line))
            if table and last:
                table.update(view(last, warnings), refresh=True)
    if last and not (line_of or table):
        console.print(view(last, warnings))
