# SPDX-License-Identifier: GPL-2.0-only
"""The verdict of a gate on the terminal, and how much runs differ."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.report.tables.column import Column
from rtscope.report.terminal.run import marked_line
from rtscope.report.terminal.table import fitted
from rtscope.statistics.gate import Calibration, Gate, Outcome, Row
from rtscope.wording.comparison import difference_sentence
from rtscope.wording.gate import confidence_text, gate_sentence, limits_text
from rtscope.wording.plain import plain
from rtscope.wording.values import time_text

_STYLES: Final[dict[Outcome, str]] = {
    "pass": "bold green",
    "fail": "bold red",
    "inconclusive": "bold yellow",
}


@dataclass
class GateView:
    """Renders itself to the width it gets."""

    verdict: Gate

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        verdict = self.verdict
        yield Text(gate_sentence(verdict), style=_STYLES[verdict.outcome])
        for one in verdict.differences:
            yield marked_line("≠ ", plain(difference_sentence(one)), "bold cyan")
        yield Text()
        rows = verdict.rows
        columns = [
            Column("metric", 0, [_name(row) for row in rows], left=True),
            Column("baseline", 2, [_value(row, row.baseline) for row in rows]),
            Column("candidate", 3, [_value(row, row.candidate) for row in rows]),
            Column("ratio", 1, [f"{row.ratio:.3f}" for row in rows]),
            Column("its limits", 4, [limits_text(row) for row in rows]),
            Column("verdict", 0, [Text(row.outcome, style=_STYLES[row.outcome]) for row in rows]),
        ]
        yield fitted(columns, options.max_width)
        yield Text(
            f"runs: baseline {len(verdict.baseline)}, candidate {len(verdict.candidate)}; "
            f"{confidence_text()}"
        )
        if verdict.untested:
            yield Text(f"not tested for lack of samples: {', '.join(verdict.untested)}")


@dataclass
class CalibrationView:
    """Renders itself to the width it gets."""

    told: Calibration

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        told = self.told
        margin = f"{100 * told.margin:g} %"
        yield Text(
            f"{told.runs} runs; the smallest change that a gate with a margin of {margin} finds in "
            "9 of 10 cases, by the number of runs a side:"
        )
        yield Text()
        columns = [
            Column("metric", 0, [row.metric for row in told.rows], left=True),
            Column("median", 9, [time_text(row.median_ns) for row in told.rows]),
            Column("runs differ by", 8, [f"{100 * row.spread:.2g} %" for row in told.rows]),
        ]
        for rank, number in enumerate(told.numbers):
            cells = [f"+{100 * (row.found[rank] - 1):.2g} %" for row in told.rows]
            columns.append(Column(f"{number} runs", rank, [*cells]))
        yield fitted(columns, options.max_width)


def _name(row: Row) -> str:
    return row.metric if row.kind == "level" else f"{row.metric}, spread"


def _value(row: Row, value: float) -> str:
    return time_text(value) if row.kind == "level" else f"±{100 * (value - 1):.2g} %"
