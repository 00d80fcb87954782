"""The command table, and what every command has in common: errors become sentences."""

import os
import sys

import typer

from rtscope import __version__
from rtscope.cli import compare, keep, lab, measure, points, references, report, run
from rtscope.model.errors import RtscopeError

EXAMPLES = """
Measure how late this machine answers, idle and under load, and judge it:

  sudo rtscope measure --duration 30s --load idle --load mixed --budget 'p99.99<50us'

See what was measured, compare two runs, draw them:

  rtscope list
  rtscope compare last~1 last
  rtscope report last~1 last -o report.html
"""

app = typer.Typer(
    name="rtscope",
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


app.command("measure")(measure.measure)
app.command("run")(run.run)
app.add_typer(lab.app, name="lab")
app.command("report")(report.report)
app.command("compare")(compare.compare)
app.add_typer(references.app, name="references")
app.command("points")(points.points)
app.command("list")(keep.list_runs)
app.command("show")(keep.show)
app.command("rm")(keep.remove)
app.command("export")(keep.export)
app.command("import")(keep.import_files)


def main() -> None:
    """Run the command line; an error that is meant for a person exits with 2."""
    try:
        app(standalone_mode=True)
    except RtscopeError as error:
        print(f"rtscope: {error}", file=sys.stderr)
        sys.exit(2)
    except BrokenPipeError:
        # The reader, such as head(1), has enough; Python would complain again on exit.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(141)


if __name__ == "__main__":
    main()
