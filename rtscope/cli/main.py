"""The command table, and what every command has in common: errors become sentences."""

import sys
from typing import Any

import typer
from typer.core import TyperGroup

from rtscope import __version__
from rtscope.cli import (
    check,
    compare,
    interfere,
    keep,
    lab,
    measure,
    points,
    references,
    report,
    run,
    scale,
    threads,
    tune,
)
from rtscope.cli.options import ProbeCommand
from rtscope.cli.streams import abandon_output, complain, ready_streams, why_not_written
from rtscope.model.errors import RtscopeError

EXAMPLES = """
Measure how late this machine answers, idle and under load, and judge it:

  sudo rtscope measure --duration 30s --load idle --load mixed --budget 'p99.99<50us'

See what was measured, compare two runs, draw them:

  rtscope list
  rtscope compare last~1 last
  rtscope report last~1 last -o report.html

See what stands in the way of this machine:

  sudo rtscope check

Change it by a profile, see what each step buys, and take it back:

  sudo rtscope tune measure isolated-cores --cpus 1-3 --load mixed
  sudo rtscope tune apply isolated-cores --cpus 1-3
  sudo rtscope tune undo

Runs are kept in $XDG_DATA_HOME/rtscope (~/.local/share/rtscope); what sudo measured is in root's.
"""


class _Commands(TyperGroup):
    """All commands; one whose reader goes away, such as head(1), ends as SIGPIPE would end it."""

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
    help="Measure, explain and prove how late a Linux machine answers.\n\n\b" + EXAMPLES,
    no_args_is_help=True,
    add_completion=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
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


app.command("measure", cls=ProbeCommand)(measure.measure)
app.command("run")(run.run)
app.command("scale")(scale.scale)
app.command("interfere")(interfere.interfere)
app.command("check")(check.check)
app.add_typer(tune.app, name="tune")
app.add_typer(lab.app, name="lab")
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.add_typer(references.app, name="references")
app.command("points")(points.points)
app.command("threads")(threads.threads)
app.command("list")(keep.list_runs)
app.command("show")(keep.show)
app.command("rm")(keep.remove)
app.command("export")(keep.export)
app.command("import")(keep.import_files)


def main() -> None:
    """Run the command line; an error that is meant for a person exits with 2."""
    try:
        ready_streams()
        app(standalone_mode=True)
    except RtscopeError as error:
        complain(str(error))
        sys.exit(2)
    except OSError as error:
        abandon_output()
        complain(why_not_written(error))
        sys.exit(2)


if __name__ == "__main__":
    main()
