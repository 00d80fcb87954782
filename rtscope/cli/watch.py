# SPDX-License-Identifier: GPL-2.0-only
"""rtscope watch: a flight recorder that explains each late sample as it happens."""

import time
from collections.abc import Sequence
from typing import Annotated, Any, Final

import typer

from rtscope.cli.measuring import Outputs, measured, status_of
from rtscope.cli.options import (
    Interval,
    JsonRuns,
    NoReport,
    OneTarget,
    Output,
    Priority,
    Quiet,
    Report,
    Tags,
    agent_option,
    time_ns,
)
from rtscope.engine.planfile import made_plan
from rtscope.model.errors import BootError, RtscopeError
from rtscope.report.terminal.streams import note
from rtscope.statistics.cells import CellResult
from rtscope.target.ssh import CONNECTION_LOST

_DURATION = "5d"
_KEPT = 200
_WORST = 10
_RECONNECT_S: Final = 10.0
"""between two attempts; the agent has ended on the board by then"""


def watch(
    above: Annotated[
        str | None,
        agent_option(
            "above",
            default="the worst so far",
            text="Explain each sample of TIME or more",
        ),
    ] = None,
    duration: Annotated[
        str | None,
        agent_option(
            "duration", "--for", "-D", default=_DURATION, text="Watch for TIME, such as 8h or 5d"
        ),
    ] = None,
    thread: Annotated[
        str | None,
        agent_option(
            "thread",
            of="response",
            text="Watch the threads of this name instead of measuring, from each wake-up until "
            "they sleep again; * and ? match any text and any character",
        ),
    ] = None,
    pid: Annotated[
        int | None,
        agent_option(
            "pid",
            of="response",
            text="Watch the measurement points of this process instead (rtscope/points.h)",
        ),
    ] = None,
    point: Annotated[str | None, agent_option("point", of="response")] = None,
    cpus: Annotated[
        str | None,
        agent_option(
            "cpus",
            text="Measure on these CPUs, and count which programs take time from them; first or "
            "all",
        ),
    ] = None,
    load: Annotated[
        str | None,
        agent_option("load", "--load", "-L", default="idle", text="Watch under this load"),
    ] = None,
    interval: Interval = None,
    priority: Priority = None,
    target: OneTarget = "local",
    keep: Annotated[
        int,
        typer.Option(
            min=1,
            max=10_000,
            metavar="N",
            help="Keep the N worst outliers with their explanations.",
        ),
    ] = _KEPT,
    explain_deep: Annotated[str | None, agent_option("explain-deep")] = None,
    output: Output = None,
    report: Report = None,
    no_report: NoReport = False,
    tag: Tags = None,
    json: JsonRuns = False,
    quiet: Quiet = False,
) -> None:
    """
    The run is stored soon after each outlier and once a minute, so that `rtscope show last` reads
    it from another terminal. If the connection to a board is lost, the agent ends there and removes
    what it made; the watch goes on as another run once the board answers again. Ctrl-C ends the
    watch and keeps everything.

    Without --thread and --pid a thread on each CPU measures, as `rtscope measure` does. Exit
    status: 0; 2 when nothing could be watched; 130 on Ctrl-C.

    \b
    rtscope watch --above 100us --for 12h
    rtscope watch --target ssh:root@board --above 50us --cpus 2,3
    rtscope watch --thread control --above 500us
    rtscope watch --pid 1234 --point MAINLOOP
    """
    probe = "response" if thread or pid else "cyclic"
    if probe == "response" and (interval or priority):
        raise RtscopeError(
            "--interval and --priority are of the thread that measures: leave them out with "
            "--thread and --pid"
        )
    if point and not pid:
        raise RtscopeError("--point needs the process: give --pid PID, too")
    options: dict[str, Any] = {"thread": thread, "pid": pid, "point": point}
    measure: dict[str, Any] = {
        "probes": [probe],
        "loads": [load or "idle"],
        "intervals": [time_ns(interval, "interval")] if interval else [],
        "priority": priority,
        "cpus": cpus,
        "duration": time_ns(duration or _DURATION, "duration"),
        "explain": _WORST,
        "above": time_ns(above, "above") or (1 if pid else None),
        "explain_deep": explain_deep,
        "watch": keep,
        "options": {name: str(value) for name, value in options.items() if value is not None},
    }
    outputs = Outputs(output=output, report=report, no_report=no_report, json=json, quiet=quiet)
    outputs.check()
    content = {
        "title": f"rtscope watch {thread or pid or ''}".strip(),
        "order": "as written",
        "seed": None,
        "targets": [target],
    }
    ends_s = time.monotonic() + (measure["duration"] or 0) / 1e9
    again = False
    while True:
        plan = made_plan(content | {"measure": [measure]})
        try:
            results, lost = measured(plan, outputs, fresh=True, tags=tag)
        except BootError as error:
            if not again or time.monotonic() >= ends_s:
                raise
            note(f"{error}; trying again")
            time.sleep(_RECONNECT_S)
            continue
        measure["duration"] = int(max(ends_s - time.monotonic(), 0) * 1e9)
        if lost or not connection_was_lost(results, target) or not measure["duration"]:
            raise typer.Exit(status_of(results, lost=lost))
        again = True
        note("the connection was lost: the watch goes on as another run once it is back")
        time.sleep(_RECONNECT_S)


def connection_was_lost(results: Sequence[CellResult], target: str) -> bool:
    """Whether the target could not be reached any more, during the run or before it began."""
    sentence = CONNECTION_LOST.format(board=target)
    return any(
        sentence in text
        for result in results
        for text in [
            result.failure,
            *(one.text for one in (result.run.warnings if result.run else ())),
        ]
    )
