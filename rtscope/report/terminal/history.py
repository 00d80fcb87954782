# SPDX-License-Identifier: GPL-2.0-only
"""Metrics over time on the terminal."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.report.tables.column import Column
from rtscope.report.terminal.run import marked_line
from rtscope.report.terminal.table import fitted
from rtscope.statistics.history import Series
from rtscope.wording.history import change_sentence, key_text, sparkline, summary_text

_MOST_BARS: Final = 40


@dataclass
class HistoryView:
    """Renders itself to the width it gets."""

    series: Sequence[Series]
    differing: Mapping[tuple[str, str], Sequence[str]]
    """what differs between two runs, by their ids"""

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        for number, one in enumerate(self.series):
            if number:
                yield Text()
            yield Text(key_text(one.key), style="bold")
            yield fitted(
                [
                    Column("", 0, [metric.metric for metric in one.metrics], left=True),
                    Column(
                        "lowest to highest, oldest first",
                        1,
                        [sparkline(metric.values_ns, _MOST_BARS) for metric in one.metrics],
                        left=True,
                    ),
                    Column("", 0, [summary_text(metric) for metric in one.metrics], left=True),
                ],
                options.max_width,
            )
            marked = set()
            for metric in one.metrics:
                for change in metric.changes:
                    worse = change.ratio > 1
                    style = "bold red" if worse else "bold green"
                    mark = "▲ " if worse else "▼ "
                    yield marked_line(mark, f"{metric.metric} {change_sentence(change)}", style)
                    marked.add((change.before, change.after))
            for pair in sorted(marked):
                for fact in self.differing.get(pair, ()):
                    yield marked_line("≠ ", f"at run {pair[1][:8]}: {fact}", "bold cyan")
