# SPDX-License-Identifier: GPL-2.0-only
"""The progress of a bisection on the terminal, and its result."""

import sys
from dataclasses import dataclass
from types import TracebackType
from typing import TextIO

from rich.console import Console, ConsoleOptions, RenderResult
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn
from rich.text import Text

from rtscope.lab.bisect.repository import Commit, Left
from rtscope.lab.bisect.rule import Figure
from rtscope.lab.bisect.search import Observer, Result, Role, Verdict
from rtscope.report.tables.column import Column
from rtscope.report.terminal.console import output_console
from rtscope.report.terminal.streams import note
from rtscope.report.terminal.table import fitted
from rtscope.wording.bisect import (
    LAB_NOTE,
    candidate_text,
    commands_of,
    figure_text,
    origin_text,
    result_text,
    step_text,
    verdict_text,
)


class BisectProgress(Observer):
    """A line for each verdict, and between them a live line for the build and the measurement."""

    def __init__(self, verdicts: TextIO) -> None:
        """`verdicts` receives the lines; the live line is on standard error, if a terminal."""
        self._verdicts = verdicts
        self._step = ""
        self._last = ""
        console = output_console(sys.stderr)
        self._live = console.is_terminal
        self._progress = Progress(
            TextColumn("{task.description}", markup=False),
            BarColumn(),
            TextColumn("{task.fields[amount]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
            redirect_stdout=False,
            redirect_stderr=False,
            disable=not self._live,
        )
        self._task = self._progress.add_task("", total=None, amount="")

    def __enter__(self) -> "BisectProgress":
        """Show the live line within the block."""
        self._progress.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Remove it."""
        self._progress.stop()

    def began(self, commit: Commit, role: Role, left: Left) -> None:
        """Print the commit and what is left."""
        self._step = commit.short
        self._last = ""
        self._progress.reset(self._task, total=None, amount="")
        self._print(sys.stderr, step_text(commit, role, left))

    def decided(self, verdict: Verdict) -> None:
        """Print the verdict."""
        self._print(self._verdicts, verdict_text(verdict))

    def said(self, step: str, done: int, total: int) -> None:
        """Show a step of the build."""
        self._show(step, done, total, f"{done} of about {total} objects" if total else "")

    def counted(self, done: int, total: int) -> None:
        """Show the measured seeds."""
        self._show("measuring", done, total, f"{done} of {total} seeds")

    def _show(self, step: str, done: int, total: int, amount: str) -> None:
        if step != self._last and not self._live:
            note(f"{self._step}: {step}")
        self._last = step
        self._progress.update(
            self._task,
            description=f"{self._step}: {step}",
            completed=done,
            total=total or None,
            amount=amount,
        )

    def _print(self, stream: TextIO, line: str) -> None:
        self._progress.stop()
        print(line, file=stream, flush=True)
        self._progress.start()


@dataclass
class BisectView:
    """Renders the result to the width it gets."""

    result: Result

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        result = self.result
        yield Text()
        yield Text(result_text(result), style="bold")
        if result.first_bad is None:
            yield from (Text(f"  {candidate_text(one)}") for one in result.candidates)
        else:
            yield Text(origin_text(result.first_bad.commit))
            yield Text()
            yield fitted(_columns(result.before, result.first_bad), options.max_width)
        yield Text()
        yield Text(LAB_NOTE)
        yield from (Text(f"  {one}") for one in commands_of(result))


def _columns(before: Verdict, first_bad: Verdict) -> list[Column]:
    pairs = [
        (one, other)
        for one in before.figures
        for other in first_bad.figures
        if one.metric == other.metric
    ]
    names, before_cells, bad_cells = ["seeds that fail"], [_failing(before)], [_failing(first_bad)]
    if first_bad.failing is None:
        names, before_cells, bad_cells = [], [], []
    return [
        Column("", 0, [*names, *(one.metric for one, _ in pairs)], left=True),
        Column(before.commit.short, 1, [*before_cells, *(figure_text(one) for one, _ in pairs)]),
        Column(first_bad.commit.short, 2, [*bad_cells, *(figure_text(two) for _, two in pairs)]),
        Column("ratio", 3, [*["" for _ in names], *(_ratio(one, two) for one, two in pairs)]),
    ]


def _failing(verdict: Verdict) -> str:
    return f"{verdict.failing} of {verdict.seeds}"


def _ratio(before: Figure, first_bad: Figure) -> str:
    return f"{first_bad.median / before.median:.3f}" if before.median else ""
