# SPDX-License-Identifier: GPL-2.0-only
"""An experiment as the terminal shows it: one display while it runs, all its cells in one table."""

import time
from collections.abc import Sequence
from dataclasses import dataclass, field

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.model.run import Run, Thread
from rtscope.report.tables.column import Column
from rtscope.report.tables.response import response_column
from rtscope.report.terminal.live import LiveState, LiveView
from rtscope.report.terminal.table import fitted
from rtscope.statistics.cells import CellResult
from rtscope.statistics.metrics import Metrics, Quantile
from rtscope.wording.groups import groups_of, metrics_of_group
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, quantiles_texts, span_text, times_texts

_HEAD_LINES = 3
_STYLES = {"pass": "green", "measured": "", "not begun": "dim", "fail": "bold red"}


@dataclass
class CellTable:
    """All cells with the metrics of each of their series; renders itself to the width it gets."""

    results: Sequence[CellResult]

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        shown = [part for result in self.results for part in _parts(result)]
        rows = [metrics for _, metrics, *_ in shown]
        results = [result for _, _, result, _ in shown]
        yield fitted(
            [
                Column("cell", 0, [name for name, *_ in shown], left=True),
                Column("samples", 5, [count_text(row.count if row else None) for row in rows]),
                Column("missed", 6, [count_text(row.missed if row else None) for row in rows]),
                Column("min", 7, [*times_texts([row.min_ns if row else None for row in rows])]),
                Column("mean", 3, [*times_texts([row.mean_ns if row else None for row in rows])]),
                Column("p99", 4, [*quantiles_texts([_p99(row) for row in rows])]),
                *response_column(99.0, 5, [measured for *_, measured in shown]),
                Column("max", 1, [*times_texts([row.max_ns if row else None for row in rows])]),
                Column("verdict", 2, [_verdict(result) for result in results], left=True),
                Column("run", 8, [_run_id(result) for result in results], left=True),
            ],
            options.max_width,
        )


def _p99(row: Metrics | None) -> Quantile:
    return row.quantile(99.0) if row else Quantile(99.0, None)


def _parts(
    result: CellResult,
) -> list[tuple[str, Metrics | None, CellResult, tuple[Run, Sequence[Thread]] | None]]:
    """The rows of one cell: one for each of its series, which are not alike."""
    name, run = plain(result.name), result.run
    if run is None:
        return [(name, None, result, None)]
    groups = groups_of(run)
    return [
        (
            name if len(groups) == 1 else f"{name}: {group.label}",
            metrics_of_group(run, group),
            result,
            (run, group.threads),
        )
        for group in groups
    ]


def _verdict(result: CellResult) -> Text:
    return Text(result.verdict, style=_STYLES.get(result.verdict, "bold yellow"))


def _run_id(result: CellResult) -> str:
    return result.run.id[:8] if result.run else ""


@dataclass
class ExperimentState:
    """The state of an experiment while it is measured."""

    title: str
    cells: int
    done: int = 0
    left_ns: list[int | None] = field(default_factory=list)
    """of each cell that has not begun, where it is known"""
    cell: LiveState | None = None
    """the present one"""
    cell_ns: int | None = None
    begun_s: dict[str, float] = field(default_factory=dict)
    """other activities, and since when on the monotonic clock: the lab's cells, side by side"""
    steps: dict[str, tuple[str, int, int]] = field(default_factory=dict)
    """the present measurement of a cell of many, number of those done, and of all"""

    def progress(self) -> str:
        """3 of 49 cells done, about 4 min 10 s left."""
        if self.done == self.cells:
            return f"{self.done} of {self.cells} cells done"
        gone = self.cell.progress.time_ns if self.cell and self.cell.progress else 0
        present = max(0, (self.cell_ns or 0) - gone) if self.cell else 0
        left = present + sum(ns or 0 for ns in self.left_ns)
        unknown = self.left_ns.count(None)
        text = f"{self.done} of {self.cells} cells done, "
        if unknown and not left:
            return f"{text}{unknown} of unknown length left"
        text += f"about {span_text(_rounded(left))} left"
        return f"{text}, and {unknown} of unknown length" if unknown else text


def _rounded(ns: int) -> int:
    return ns // 1_000_000_000 * 1_000_000_000 or 1_000_000_000


@dataclass
class ExperimentView:
    """The whole experiment in three lines, and the present cell's metrics below."""

    state: ExperimentState

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        state, width = self.state, options.max_width
        if state.cells == 1 and state.cell and not state.steps:
            yield from LiveView(state.cell).__rich_console__(console, options)
            return
        for text in (Text(plain(state.title), style="bold"), Text(state.progress())):
            text.no_wrap, text.overflow = True, "ellipsis"
            yield text
        filled = width * state.done // max(1, state.cells)
        yield Text.assemble(("━" * filled, "green"), ("─" * (width - filled), "dim"))
        for doing, begun_s in list(state.begun_s.items()):
            since = span_text(_rounded(round((time.monotonic() - begun_s) * 1e9)))
            yield Text(f"{plain(doing)}: for {since}", no_wrap=True, overflow="ellipsis")
        for name, (doing, done, total) in list(state.steps.items()):
            line = f"{plain(name)}: {done} of {total}, {plain(doing)}"
            yield Text(line, no_wrap=True, overflow="ellipsis")
            filled = width * done // max(1, total)
            yield Text.assemble(("━" * filled, "green"), ("─" * (width - filled), "dim"))
        if state.cell and not state.steps:
            height = max(1, (options.height or console.size.height) - _HEAD_LINES)
            yield from LiveView(state.cell).__rich_console__(console, options.update(height=height))
