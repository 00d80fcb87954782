# SPDX-License-Identifier: GPL-2.0-only
"""The command table, and the errors of all commands."""

import sys
from typing import Any

import typer

from rtscope import __version__
from rtscope.cli.completion import joined_values_completed
from rtscope.cli.groups import LazyGroup, Source
from rtscope.model.errors import RtscopeError
from rtscope.report.terminal.streams import abandon_output, complain, ready_streams, why_not_written

EXAMPLES = """\
Measure how late this machine answers, idle and under load, and judge it:

\b
  sudo rtscope measure --duration 30s --load idle --load mixed --budget 'p99.99<50us'

List the runs, compare two of them, and draw them:

\b
  rtscope list
  rtscope compare last~1 last
  rtscope report last~1 last -o report.html

Find the settings of this machine that cost latency:

\b
  sudo rtscope check

Change it by a profile, measure the effect of each step, and undo it:

\b
  sudo rtscope tune measure isolated-cores --cpus 1-3 --load mixed
  sudo rtscope tune apply isolated-cores --cpus 1-3
  sudo rtscope tune undo

Runs are stored in $XDG_DATA_HOME/rtscope (~/.local/share/rtscope), or in the store that
RTSCOPE_STORE names; runs made with sudo are in root's store.
"""


class _Commands(LazyGroup):
    """All commands. A closed pipe ends a command with the status of SIGPIPE."""

    sources = {  # noqa: RUF012
        "measure": Source(
            "rtscope.cli.measure:measure",
            "Measure how late the system under test answers.",
            kind="rtscope.cli.probe_command:ProbeCommand",
        ),
        "watch": Source(
            "rtscope.cli.watch:watch",
            "Record for days, and explain each late sample or late cycle of a program.",
        ),
        "run": Source(
            "rtscope.cli.run:run",
            "Measure all cells of a plan: probes × loads × intervals × policies × targets.",
        ),
        "scale": Source(
            "rtscope.cli.scale:scale",
            "Measure how work scales over the CPUs and where its threads should run.",
        ),
        "interfere": Source(
            "rtscope.cli.interfere:interfere",
            "Measure how much each kind of load on other CPUs slows a program.",
        ),
        "check": Source(
            "rtscope.cli.check:check",
            "Find the kernel options and settings that cost latency. Changes nothing.",
        ),
        "tune": Source(
            "rtscope.cli.tune:app",
            "Change settings by a profile, prove that it helped, and undo it.",
        ),
        "prove": Source(
            "rtscope.cli.prove:prove",
            "Measure with and without a cause of late samples, and undo the change.",
        ),
        "lab": Source(
            "rtscope.cli.lab:app",
            "Measure on real kernels in emulated machines whose time is counted in instructions.",
        ),
        "farm": Source(
            "rtscope.cli.farm:app",
            "Measure plans on many boards at once: boards of labgrid, over ssh, or VMs.",
        ),
        "report": Source(
            "rtscope.cli.report:report",
            "Draw runs as one HTML file; several share the charts.",
        ),
        "compare": Source(
            "rtscope.cli.compare:compare",
            "Decide whether run B is better or worse than run A, with confidence intervals.",
        ),
        "gate": Source(
            "rtscope.cli.gate:gate_command",
            "Pass or fail a candidate against a baseline, from several runs of each.",
            kind="rtscope.cli.gate:GateCommand",
        ),
        "history": Source(
            "rtscope.cli.history:history",
            "Show a machine's metrics over time, their change points, and what else changed there.",
        ),
        "tail": Source(
            "rtscope.cli.tail:tail",
            "Estimate the latency that an hour, a day and a year of a run's load reach.",
        ),
        "references": Source(
            "rtscope.cli.references:app",
            "List the published tables that come with rtscope, and show one.",
        ),
        "serve": Source(
            "rtscope.cli.serve:serve",
            "Serve web pages: what got worse, machines over time, runs, and boards at work.",
        ),
        "agent": Source(
            "rtscope.cli.agent:agent",
            "Run the agent by hand on this computer.",
            kind="rtscope.cli.agent:AgentCommand",
        ),
        "points": Source(
            "rtscope.cli.points:points", "Show the measurement points of a running program."
        ),
        "threads": Source(
            "rtscope.cli.threads:threads",
            "Show the threads that have a real-time policy or sit on an isolated CPU.",
        ),
        "list": Source("rtscope.cli.runs:list_runs", "List the newest runs in the store."),
        "show": Source(
            "rtscope.cli.runs:show", "Show one run's metrics, and judge it by a budget."
        ),
        "rm": Source(
            "rtscope.cli.runs:remove",
            "Remove runs and their reports from the store.",
        ),
        "store": Source(
            "rtscope.cli.store:app",
            "Maintain the store: the SQLite file of this user, or a PostgreSQL server's.",
        ),
        "export": Source(
            "rtscope.cli.exchange:export",
            "Write a run as a file: rtscope's own, or what cyclictest would have written.",
        ),
        "import": Source(
            "rtscope.cli.exchange:import_files",
            "Import runs of rtscope and of other tools into the store.",
        ),
    }

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - typer's own class is private
        """Run a command."""
        try:
            return super().invoke(ctx)
        except BrokenPipeError:
            abandon_output()
            sys.exit(141)


app = typer.Typer(
    name="rtscope",
    cls=_Commands,
    help="Measure, explain and prove how late a Linux machine answers.\n\n" + EXAMPLES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    # Rich would interpret '[default: 10s]' and 'name[part]' as markup and drop them.
    rich_markup_mode=None,
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)


def _show_version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"rtscope {__version__}")
        raise typer.Exit


@app.callback()
def _options(
    version: bool = typer.Option(
        False, "--version", callback=_show_version, is_eager=True, help="Show the version."
    ),
) -> None:
    pass


def main() -> None:
    """Run the command line; an RtscopeError becomes a sentence and exit status 2."""
    try:
        ready_streams()
        with joined_values_completed():
            app(prog_name="rtscope", standalone_mode=True)
    except RtscopeError as error:
        complain(str(error))
        sys.exit(2)
    except OSError as error:
        abandon_output()
        complain(why_not_written(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
