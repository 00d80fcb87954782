# SPDX-License-Identifier: GPL-2.0-only
"""The store's runs as a table, newest first."""

from collections import Counter
from collections.abc import Sequence

from rich.console import Console, ConsoleOptions, RenderResult

from rtscope.model.quantity import quantity_of
from rtscope.report.tables.column import Column
from rtscope.report.terminal.table import fitted
from rtscope.store.summary import Summary
from rtscope.wording.plain import plain
from rtscope.wording.values import count_text, times_texts


class RunTable:
    """Renders itself to the width it gets."""

    def __init__(self, runs: Sequence[Summary]) -> None:
        """A table of these runs, in this order."""
        self._runs = runs

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        runs = self._runs
        yield fitted(
            [
                Column("run", 0, [run.id[:8] for run in runs], left=True),
                Column("started (UTC)", 2, [_moment(run.created) for run in runs], left=True),
                Column("host", 7, [plain(run.host or "")[:20] for run in runs], left=True),
                Column("kernel", 5, [plain(run.kernel or "")[:24] for run in runs], left=True),
                Column("probe", 2, [plain(run.probe)[:20] for run in runs], left=True),
                Column("load", 1, [plain(run.load)[:24] for run in runs], left=True),
                Column("samples", 4, [count_text(run.count) for run in runs]),
                Column("max", 3, [*times_texts([run.max_ns for run in runs])]),
                Column("of", 4, [quantity_of(run.probe) for run in runs], left=True),
                Column("status", 3, [run.status for run in runs], left=True),
                *_experiments(runs),
                Column("source", 8, [plain(run.source) for run in runs], left=True),
            ],
            options.max_width,
        )


def _experiments(runs: Sequence[Summary]) -> list[Column]:
    """Return the column of the experiments that have several of these runs, if there are any."""
    counts = Counter(run.experiment for run in runs)
    shown = [run.experiment if counts[run.experiment] > 1 else "" for run in runs]
    return [Column("experiment", 9, [*shown], left=True)] if any(shown) else []


def _moment(created: str) -> str:
    return plain(created)[:19].replace("T", " ")


def run_table(runs: Sequence[Summary]) -> RunTable:
    """A renderable for a list of runs."""
    return RunTable(runs)
