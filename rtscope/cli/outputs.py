# SPDX-License-Identifier: GPL-2.0-only
"""Where results go: the store, files that the command line names, and standard output.

What cannot be written is told and does not end the command: a run that was measured stays.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import msgspec

from rtscope.cli.jsonlines import print_json
from rtscope.cli.streams import complain, told
from rtscope.model.errors import RtscopeError
from rtscope.model.run import Run
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.run import summary
from rtscope.statistics.findings import findings_of
from rtscope.statistics.verdict import Judgement
from rtscope.store import database
from rtscope.store.database import default_path
from rtscope.store.runfile import encode_run, write_run
from rtscope.wording.sweep import sweep_sentences


@dataclass
class Display:
    """How a command prints the runs that it measured."""

    json: bool = False
    quiet: bool = False
    """the results only, without where they are stored"""
    phases: bool = False
    warned: set[str] = field(default_factory=set)
    """warnings that the command has printed: it prints each once"""


def check_files(files: Sequence[Path | None], *, force: bool) -> None:
    """Before anything is measured, raise RtscopeError for what could not be written."""
    for path in files:
        if path and path.exists() and not force:
            raise RtscopeError(f"{path} exists: give another name, or --force to overwrite it")
        if path and not path.parent.is_dir():
            raise RtscopeError(f"{path} cannot be written: there is no directory {path.parent}")


def by_sudo() -> bool:
    """True where root acts for somebody else, who has another store."""
    return os.geteuid() == 0 and os.environ.get("SUDO_USER") not in (None, "", "root")


def keep_run(run: Run) -> bool:
    """Put a run into the store; False, and a file elsewhere, where that fails."""
    try:
        database.save(run)
    except RtscopeError as error:
        complain(f"{error}; the run is kept as {database.rescue(run)}")
        return False
    return True


def copy_run(run: Run, file: Path, *, stored: bool, force: bool) -> bool:
    """Write a run to a file too; False where that fails."""
    try:
        write_run(run, file, overwrite=force)
    except RtscopeError as error:
        complain(f"{error}; the run is in the store as {run.id}" if stored else str(error))
        return False
    return True


def finish_run(
    run: Run,
    judgements: Sequence[Judgement],
    file: Path | None,
    display: Display,
    *,
    force: bool,
) -> bool:
    """Store a run that was just measured, copy it to `file` and print it; False if any failed."""
    stored = keep_run(run)
    copied = file is None or copy_run(run, file, stored=stored, force=force)
    return show_run(run, judgements, display, stored=stored) and stored and copied


def show_run(run: Run, judgements: Sequence[Judgement], display: Display, *, stored: bool) -> bool:
    """Print a run that was just measured, and where it is kept; False where that fails."""

    def show() -> None:
        if display.json:
            print_run(run)
            return
        console = output_console()
        console.print(summary(run, judgements, phases=display.phases, warned=display.warned))
        if stored and not display.quiet:
            command = f"{'sudo ' if by_sudo() else ''}rtscope show {run.id[:8]}"
            said = f"run {run.id} is in the store {default_path()}: {command}"
            console.print(said, markup=False, soft_wrap=True)
        console.print()

    return told(show)


def print_run(run: Run) -> None:
    """Print a run as a line of JSON, with its findings; a sweep's with its advice too."""
    record = msgspec.json.decode(encode_run(run))
    if run.sweep:
        record["advice"], record["findings"] = sweep_sentences(run)
    else:
        record["findings"] = msgspec.to_builtins(findings_of(run))
    print_json(record)


def ended_by_watchdog(runs: Sequence[Run]) -> int:
    """Return the exit status for a run that the watchdog ended, which is the agent's; else 0."""
    return 3 if any(run.status == "watchdog" for run in runs) else 0
