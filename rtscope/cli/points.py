# SPDX-License-Identifier: GPL-2.0-only
"""rtscope points: a running program's measurement points, live."""

import sys
from pathlib import Path
from typing import Annotated

import msgspec
import typer

from rtscope.cli.options import OneTarget, agent_option, time_ns
from rtscope.cli.readings import follow
from rtscope.cli.targets import reached
from rtscope.model.errors import RtscopeError
from rtscope.model.points import Points
from rtscope.model.request import PointsRequest
from rtscope.report.terminal.points import points_view

_SILENCE_S = 30.0


def include_dir() -> Path:
    """Where rtscope/points.h is: beside this package where installed, or the checkout's.

    Raises RtscopeError where it is in neither.
    """
    package = Path(__file__).resolve().parents[1]
    places = [package / "include", package.parent / "agent" / "include"]
    for place in places:
        if (place / "rtscope" / "points.h").is_file():
            return place
    raise RtscopeError(
        f"there is no rtscope/points.h in {' or '.join(map(str, places))}: install rtscope anew"
    )


def _show_include_dir(wanted: bool) -> None:
    if wanted:
        typer.echo(include_dir())
        raise typer.Exit


def points(
    pid: Annotated[int, typer.Argument(metavar="PID", help="The program's process.")],
    target: OneTarget = "local",
    interval: Annotated[str, agent_option("interval", of="points", default="")] = "1s",
    once: Annotated[bool, typer.Option("--once", "-1", help="Print the table once.")] = False,
    enable: Annotated[list[str] | None, agent_option("enable", of="points")] = None,
    disable: Annotated[list[str] | None, agent_option("disable", of="points")] = None,
    pause: Annotated[bool, agent_option("pause", of="points")] = False,
    resume: Annotated[bool, agent_option("resume", of="points")] = False,
    reset: Annotated[bool, agent_option("reset", of="points")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each look as a line of JSON, with histograms.")
    ] = False,
    include: Annotated[
        bool,
        typer.Option(
            "--include-dir",
            callback=_show_include_dir,
            is_eager=True,
            help="Print the directory of rtscope/points.h, for a compiler's -I.",
        ),
    ] = False,
) -> None:
    """
    The program declares them with rtscope/points.h and is not stopped. The table is refreshed until
    the program ends or Ctrl-C. Without a terminal, and after a change, it is printed once.

    \b
    rtscope points 4711
    rtscope points 4711 --target ssh:root@board
    rtscope points 4711 --disable WFDIAG --reset
    cc -I"$(rtscope points --include-dir)" loop.c
    """
    if pause and resume:
        raise RtscopeError("--pause and --resume contradict each other: give one")
    if pid < 1:
        raise RtscopeError(f"{pid} is not the number of a process")
    place = reached(target)
    if not place.capabilities.user_programs:
        raise RtscopeError(f"{target} runs no program but the agent")
    request = PointsRequest(
        pid,
        histograms=json,
        enable=enable or [],
        disable=disable or [],
        pause=pause,
        resume=resume,
        reset=reset,
    )
    interval_ns = time_ns(interval, "interval", "points") or 0
    live = not (once or request.changes) and (json or sys.stdout.isatty())
    if live:
        request = msgspec.structs.replace(request, interval_ns=interval_ns)
    follow(
        place.started_agent(request),
        Points,
        _SILENCE_S + interval_ns / 1e9,
        view=points_view,
        line_of=msgspec.json.encode if json else None,
        live=live,
    )
