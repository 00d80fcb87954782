# SPDX-License-Identifier: GPL-2.0-only
"""rtscope threads: the threads of a system in the order of preemption."""

import sys
from typing import Annotated

import msgspec
import typer

from rtscope.cli.options import OneTarget, agent_option, time_ns
from rtscope.cli.readings import follow
from rtscope.cli.targets import reached
from rtscope.cli.waiting import status
from rtscope.model.errors import RtscopeError
from rtscope.model.request import ThreadsRequest
from rtscope.model.threads import Threads
from rtscope.report.terminal.threads import threads_view
from rtscope.statistics.threadorder import thread_findings
from rtscope.wording.findings import sentence

_SILENCE_S = 90.0


def threads(
    target: OneTarget = "local",
    live: Annotated[
        bool,
        typer.Option("--live", "-l", help="Refresh the table on the terminal until Ctrl-C."),
    ] = False,
    interval: Annotated[
        str | None,
        agent_option("interval", of="threads", default="1s", text="Refresh interval of --live"),
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Show every thread.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each reading as a line of JSON, with all threads.")
    ] = False,
) -> None:
    """
    Threads that can preempt others come first: what stops a CPU, then deadline, fifo and rr by
    priority, then the rest by nice. A line with ! names a wrong order, a line with i a doubtful
    one. With --live, CPU time and switches are those since the last refresh. Without a terminal the
    table is printed once; --live --json prints every refresh. docs/reference/threads.md defines
    the columns.

    \b
    rtscope threads
    sudo rtscope threads --live --interval 5s
    rtscope threads --all --json | jq -r '.threads[] | select(.policy == "fifo") | .name'
    rtscope threads --live --target ssh:pi@board
    rtscope threads --target vm:6.12-rt-amd64
    """
    if interval and not live:
        raise RtscopeError("--interval is the refresh interval of --live: add --live")
    interval_ns = time_ns(interval or "1s", "interval", "threads") or 0
    place = reached(target)
    emulated = not place.capabilities.lasting
    if live and emulated:
        raise RtscopeError(
            "--live is for real machines: one of the lab runs nothing but the agent, so a second "
            "look would show the first"
        )
    live = live and (json or sys.stdout.isatty())
    follow(
        place.started_agent(ThreadsRequest(interval_ns if live else None)),
        Threads,
        _SILENCE_S + interval_ns / 1e9,
        view=lambda reading, warnings: threads_view(reading, warnings, every=every),
        line_of=_line_of if json else None,
        live=live,
        busy=status(f"booting {place.name}") if emulated else None,
    )


def _line_of(reading: Threads) -> bytes:

    remarks = [
        {
            "severity": one.severity,
            "code": msgspec.to_builtins(one)["kind"],
            "text": sentence(one).text,
        }
        for one in thread_findings(reading)
    ]
    return msgspec.json.encode(msgspec.to_builtins(reading) | {"remarks": remarks})
