# SPDX-License-Identifier: GPL-2.0-only
"""Successive readings from an agent, shown as a live table or as lines of JSON."""

import math
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Final, TypeVar

from rich.console import RenderableType
from rich.live import Live

from rtscope.engine.interrupt import Interrupt
from rtscope.model.run import RunWarning
from rtscope.report.exchange.jsonlines import print_json
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import complain
from rtscope.target.agent import Agent
from rtscope.target.bounds import Span
from rtscope.target.protocol import AgentWarning

Reading = TypeVar("Reading")

_MOST_WARNINGS: Final = 100


def follow(
    started: AbstractContextManager[Agent],
    kind: type[Reading],
    silence_s: float,
    *,
    view: Callable[[Reading, list[RunWarning]], RenderableType],
    line_of: Callable[[Reading], bytes] | None,
    live: bool,
    busy: AbstractContextManager[object] | None = None,
) -> None:
    """Show the agent's readings until it ends, or until Ctrl-C.

    With `line_of` each look is a line. Else `view` is a table of it, which lives where it may, and
    is shown of the last one where not. `busy` goes on until then.
    """
    console = output_console()
    table = Live(console=console, auto_refresh=False) if live and not line_of else None
    interrupt = Interrupt()
    warnings: list[RunWarning] = []
    last: Reading | None = None
    with interrupt.installed(), started as agent, table or nullcontext(), busy or nullcontext():
        interrupt.watch(agent)
        for line in agent.lines(silence_s, Span(math.inf) if live else Span()):
            if isinstance(line, AgentWarning):
                if len(warnings) < _MOST_WARNINGS:
                    warnings.append(RunWarning(line.code, line.text))
                if line_of:
                    complain(line.text)
            elif isinstance(line, kind):
                last = line
                if line_of:
                    print_json(line_of(line))
            if table and last:
                table.update(view(last, warnings), refresh=True)
    if last and not (line_of or table):
        console.print(view(last, warnings))
