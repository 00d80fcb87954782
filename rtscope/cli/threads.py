"""rtscope threads: the machine's threads, who can preempt whom first."""

import sys
from contextlib import nullcontext
from typing import TYPE_CHECKING, Annotated

import typer

from rtscope.model.errors import RtscopeError
from rtscope.model.units import parse_time_ns

if TYPE_CHECKING:
    from rtscope.target.agent import Target

_SILENCE_S = 90.0


def threads(
    target: Annotated[
        str,
        typer.Option(
            "--target",
            "-t",
            metavar="TARGET",
            help="Where: local, or vm:KERNEL, a kernel of `rtscope lab kernel list`.",
        ),
    ] = "local",
    live: Annotated[
        bool,
        typer.Option("--live", "-l", help="Look again and again until Ctrl-C, in a terminal."),
    ] = False,
    interval: Annotated[
        str | None,
        typer.Option(
            "--interval", "-i", metavar="TIME", help="Between two looks of --live (1s); bare: s."
        ),
    ] = None,
    every: Annotated[bool, typer.Option("--all", "-a", help="Show every thread.")] = False,
    json: Annotated[
        bool, typer.Option("--json", help="Print each look as a line of JSON, with every thread.")
    ] = False,
) -> None:
    """Show the threads, kernel and user, that have a real-time policy or sit on an isolated CPU.

    Who can preempt the others comes first: what stops a CPU, deadline, fifo and rr by priority, the
    rest by nice. A line ! tells where the order is wrong, a line i what may be. With --live, CPU
    time and switches are those since the last look; where the output is no terminal it looks once,
    but --live --json tells each look. docs/threads.md says what each column is.

    \b
    rtscope threads
    sudo rtscope threads --live --interval 5s
    rtscope threads --all --json | jq -r '.threads[] | select(.policy == "fifo") | .name'
    rtscope threads --target vm:6.12-rt-amd64
    """
    from rtscope.experiment.targets import target_of

    if interval and not live:
        raise RtscopeError("--interval is between the looks of --live: give that too")
    interval_ns = parse_time_ns(interval or "1s", "s")
    if live and target != "local":
        raise RtscopeError(
            "--live is for --target local: a machine of the lab runs nothing but the agent, so a "
            "second look would show the first"
        )
    arguments = ["threads", "--json"]
    live = live and (json or sys.stdout.isatty())
    if live:
        arguments.append(f"--interval={interval_ns}ns")
    _follow(target_of(target), arguments, interval_ns / 1e9, json=json, live=live, every=every)


def _follow(
    place: "Target",
    arguments: list[str],
    interval_s: float,
    *,
    json: bool,
    live: bool,
    every: bool,
) -> None:
    """Show what the agent sends until it has no more, or Ctrl-C has asked it to end."""
    import msgspec
    from rich.live import Live

    from rtscope.cli.interrupt import Interrupt
    from rtscope.cli.streams import status
    from rtscope.model.run import RunWarning
    from rtscope.model.threadorder import remarks
    from rtscope.model.threads import Threads
    from rtscope.report.terminal import output_console
    from rtscope.report.threads import threads_view
    from rtscope.target.protocol import AgentWarning

    console = output_console()
    table = Live(console=console, auto_refresh=False) if live and not json else None
    busy = nullcontext() if place.name == "local" else status(f"booting {place.name}")
    interrupt = Interrupt()
    warnings: list[RunWarning] = []
    last: Threads | None = None
    with (
        interrupt.installed(),
        place.started_agent(arguments) as agent,
        table or nullcontext(),
        busy,
    ):
        interrupt.watch(agent)
        for line in agent.lines(_SILENCE_S + interval_s):
            if isinstance(line, AgentWarning):
                warnings.append(RunWarning(line.code, line.text))
                if json:
                    print(f"warning: {line.text}", file=sys.stderr)
            elif isinstance(line, Threads):
                last = line
                if json:
                    told = msgspec.to_builtins(line) | {"remarks": remarks(line)}
                    typer.echo(msgspec.json.encode(told))
            if table and last:
                table.update(threads_view(last, warnings, every=every), refresh=True)
    if last and not (json or table):
        console.print(threads_view(last, warnings, every=every))
