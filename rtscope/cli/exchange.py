# SPDX-License-Identifier: GPL-2.0-only
"""rtscope export and import: runs in files of other programs."""

import re
import sys
from datetime import UTC, datetime
from enum import StrEnum
from pathlib import Path
from typing import Annotated, Final

import typer

from rtscope.explain.imported import Question, explained_trace
from rtscope.explain.tracedat import trace_dat
from rtscope.model.errors import RtscopeError
from rtscope.model.recording import Recording
from rtscope.model.run import Run
from rtscope.model.units import Unit
from rtscope.report.exchange.perfetto import perfetto_trace
from rtscope.report.terminal.streams import note
from rtscope.store import database, exporter, rteval
from rtscope.store.files import write_file
from rtscope.store.importer import import_bytes, import_file
from rtscope.store.naming import run_named
from rtscope.store.runfile import encode_run
from rtscope.wording.plain import plain

_SECONDS: Final = re.compile(r"([0-9]{1,10})(?:\.([0-9]{1,9}))?")


class ExportFormat(StrEnum):
    """Formats that a run can be written in."""

    RUN = "run"
    CYCLICTEST_JSON = "cyclictest-json"
    CYCLICTEST_HISTOGRAM = "cyclictest-histogram"
    RTEVAL = "rteval"
    PERFETTO = "perfetto"
    TRACE_DAT = "trace.dat"


def export(
    run: Annotated[str, typer.Argument(metavar="RUN", help="Id, last, last~1, or a file.")],
    format: Annotated[
        ExportFormat, typer.Option("--format", "-F", help="What to write.")
    ] = ExportFormat.RUN,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="File to write. [default: standard output unless it is a terminal]",
        ),
    ] = None,
    buckets: Annotated[
        int | None,
        typer.Option(
            min=1,
            max=1_000_000,
            help="Rows of a histogram file, 1 us each. [default: as many as it needs]",
        ),
    ] = None,
    force: Annotated[bool, typer.Option("--force", "-f", help="Overwrite FILE.")] = False,
) -> None:
    """
    \b
    rtscope export last -o run.json
    rtscope export last -F cyclictest-json -o cyclictest.json
    rtscope export last -F rteval -o summary.xml
    rtscope export last -F perfetto -o late.pftrace
    rtscope export last -F trace.dat -o trace.dat
    """
    exported = run_named(run)
    match format:
        case ExportFormat.RUN:
            data = encode_run(exported)
        case ExportFormat.CYCLICTEST_JSON:
            data = exporter.to_cyclictest_json(exported).encode()
        case ExportFormat.CYCLICTEST_HISTOGRAM:
            data = exporter.to_cyclictest_histogram(exported, buckets).encode()
        case ExportFormat.RTEVAL:
            data = rteval.to_summary_xml(exported).encode()
        case ExportFormat.PERFETTO:
            data = perfetto_trace(exported)
        case ExportFormat.TRACE_DAT:
            data = trace_dat(_recording(exported))
    if output is None and sys.stdout.isatty():
        raise RtscopeError("standard output is a terminal: name a file with -o, or -o - to print")
    if output is None or str(output) == "-":
        sys.stdout.buffer.write(data)
    else:
        write_file(data, output, f"run {exported.id}", overwrite=force)
        typer.echo(f"wrote {output}", err=True)


def _recording(run: Run) -> Recording:
    """The kernel's trace of a run. Raises RtscopeError."""
    if run.recording is None:
        raise RtscopeError(
            f"run {run.id} has no recorded trace: measure with --explain N on a target other than "
            "an exact VM"
        )
    return run.recording


def import_files(
    files: Annotated[
        list[Path], typer.Argument(metavar="FILE...", help="Files to import; - for standard input.")
    ],
    format: Annotated[
        str | None,
        typer.Option("--format", "-F", help="Format of the files. [default: detected]"),
    ] = None,
    unit: Annotated[
        Unit | None,
        typer.Option(
            help="Unit of times in cyclictest's text, which does not state it; ns if it ran "
            "with -N. [default: us]"
        ),
    ] = None,
    deadline: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="Of a trace: when the thread was due, on the trace's clock, as 123.456789.",
        ),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(metavar="NAME", help="Of a trace: the late thread, by its name or number."),
    ] = None,
    until: Annotated[
        str | None,
        typer.Option(
            metavar="SECONDS",
            help="Of a trace: when the thread answered. [default: when it ran after the deadline]",
        ),
    ] = None,
    force: Annotated[
        bool, typer.Option("--force", "-f", help="Replace stored runs that have the same id.")
    ] = False,
) -> None:
    """
    Reads rtscope's own run files; --json, --histfile and -q output of cyclictest; --json and -q
    output of signaltest and cyclicdeadline; oslat --json; rtla timerlat hist and its auto-
    analysis; jitterdebugger's results.json; latmus -g; and rteval's summary.xml. With --deadline
    and --thread, explains a late thread in a trace: trace-cmd's trace.dat, or the text of `trace-
    cmd report` or of tracefs' file trace. Nothing is stored unless every file can be read.

    \b
    rtscope import cyclictest.json
    rtscope import trace.dat --thread control --deadline 1234.567000
    cyclictest -q -D 1m | rtscope import -
    cyclictest -q -N -h 100000 -D 1m | rtscope import --unit ns -
    """
    question = _question(deadline, thread, until)
    runs = []
    for file in files:
        now = datetime.now(UTC).isoformat(timespec="seconds")
        if question:
            runs.append(_explained(file, now, question))
        elif str(file) == "-":
            runs += import_bytes(sys.stdin.buffer.read(), now, format, unit)
        else:
            runs += import_file(file, format, unit)
    if not runs:
        raise RtscopeError("nothing to import")
    other = [run.id for run in runs if database.held(run) is False]
    if other and not force:
        raise RtscopeError(
            f"the store holds another run with the id {other[0]}; nothing was imported. Use "
            "--force to replace it"
        )
    for run in runs:
        database.save(run)
        typer.echo(f"{run.id}  {plain(run.source)} {plain(run.probe)}")
    for text in dict.fromkeys(warning.text for run in runs for warning in run.warnings):
        note(f"! {text}")


def _question(deadline: str | None, thread: str | None, until: str | None) -> Question | None:
    """Which late thread of a trace to explain; None: the files are no traces."""
    if deadline is None and thread is None and until is None:
        return None
    if deadline is None or thread is None:
        raise RtscopeError("a trace needs both --deadline SECONDS and --thread NAME")
    end_ns = None if until is None else _seconds_ns(until, "--until")
    return Question(thread, _seconds_ns(deadline, "--deadline"), end_ns)


def _seconds_ns(text: str, option: str) -> int:
    """Nanoseconds of a time as traces print it. Raises RtscopeError."""
    if not (found := _SECONDS.fullmatch(text)):
        raise RtscopeError(f"{option} {text[:40]} is no time in seconds, such as 123.456789")
    return int(found[1]) * 10**9 + int((found[2] or "").ljust(9, "0"))


def _explained(file: Path, now: str, question: Question) -> Run:
    """The explained sample of a trace. Raises RtscopeError that begins with the path."""
    try:
        if str(file) == "-":
            return explained_trace(sys.stdin.buffer.read(), now, question)
        changed = datetime.fromtimestamp(file.stat().st_mtime, UTC)
        created = changed.isoformat(timespec="seconds")
        return explained_trace(file.read_bytes(), created, question)
    except OSError as error:
        raise RtscopeError(f"{file} cannot be read: {error.strerror}") from None
    except RtscopeError as error:
        raise RtscopeError(f"{file}: {error}") from None
