# SPDX-License-Identifier: GPL-2.0-only
"""The verdict of a gate on the terminal, and how much runs differ."""

from dataclasses import dataclass
from typing import Final

from rich.console import Console, ConsoleOptions, RenderResult
from rich.text import Text

from rtscope.report.tables.column import Column
from rtscope.report.terminal.run import marked_line
from rtscope.report.terminal.table import fitted
from rtscope.statistics.gate.calibration import Calibration
from rtscope.statistics.gate.verdict import Gate, Outcome, Row
from rtscope.wording.comparison import difference_sentence
from rtscope.wording.gate import (
    advice_sentence,
    confidence_text,
    drift_sentence,
    exact_sentence,
    gate_sentence,
    limits_text,
)
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
        if said := exact_sentence(verdict):
            yield Text(said)
        for one in verdict.differences:
            yield marked_line("≠ ", plain(difference_sentence(one)), "bold cyan")
        for warning in verdict.warnings:
            yield marked_line("! ", plain(warning.text), "bold yellow")
        for cell in dict.fromkeys(row.cell for row in verdict.rows):
            yield Text(f"\n{plain(cell)}" if cell else "", style="bold")
            rows = [row for row in verdict.rows if row.cell == cell]
            columns = [
                Column("metric", 0, [_name(row) for row in rows], left=True),
                Column("baseline", 2, [_value(row, row.baseline) for row in rows]),
                Column("candidate", 3, [_value(row, row.candidate) for row in rows]),
                Column("ratio", 1, [f"{row.ratio:.3f}" for row in rows]),
                Column(
                    "by seed" if verdict.seeds else "its limits",
                    4,
                    [limits_text(row) for row in rows],
                ),
                Column(
                    "verdict", 0, [Text(row.outcome, style=_STYLES[row.outcome]) for row in rows]
                ),
            ]
            yield fitted(columns, options.max_width)
        runs = f"runs: baseline {len(verdict.baseline)}, candidate {len(verdict.candidate)}"
        yield Text(runs if verdict.seeds else f"{runs}; {confidence_text()}")
        if verdict.untested:
            yield Text(f"not tested for lack of samples: {plain(', '.join(verdict.untested))}")


@dataclass
class CalibrationView:
    """Renders itself to the width it gets."""

    calibration: Calibration

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """Rich's protocol."""
        calibration = self.calibration
        margin = f"{100 * calibration.margin:g} %"
        yield Text(
            f"{calibration.runs} runs; the smallest change that a gate with a margin of {margin} "
            "finds in 9 of 10 cases, by the number of runs a side:"
        )
        for warning in calibration.warnings:
            yield marked_line("! ", plain(warning.text), "bold yellow")
        for cell in dict.fromkeys(row.cell for row in calibration.rows):
            yield Text(f"\n{plain(cell)}" if cell else "", style="bold")
            rows = [row for row in calibration.rows if row.cell == cell]
            columns = [
                Column("metric", 0, [row.metric for row in rows], left=True),
                Column("median", 9, [time_text(row.median_ns) for row in rows]),
                Column("runs differ by", 8, [_percent(1 + row.spread) for row in rows]),
            ]
            for rank, number in enumerate(calibration.numbers):
                cells = [_found_text(row.found[rank]) for row in rows]
                columns.append(Column(f"{number} runs", rank, [*cells]))
            needed = [str(row.runs_to_find or "none") for row in rows]
            columns.append(Column(f"for +{100 * calibration.change:g} %", 7, [*needed]))
            yield fitted(columns, options.max_width)
        yield Text(advice_sentence(calibration))
        if said := drift_sentence(calibration):
            yield marked_line("! ", plain(said), "bold yellow")


def _found_text(ratio: float | None) -> str:
    return "none" if ratio is None else f"+{_percent(ratio)}"


def _name(row: Row) -> str:
    return f"{row.metric}, spread" if row.kind == "spread" else row.metric


def _value(row: Row, value: float) -> str:
    return f"±{_percent(value)}" if row.kind == "spread" else time_text(value)


def _percent(ratio: float) -> str:
    part = 100 * (ratio - 1)
    return f"{part:.0f} %" if part >= 100 else f"{part:.2g} %"
